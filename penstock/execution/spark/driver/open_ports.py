"""Which ports the processes of jobs on this machine listen at."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["OpenPort", "open_ports", "processes_of_jobs"]

_LISTENING = "0A"
_SPARK = b"org.apache.spark."
_WORD = 8


@dataclass(frozen=True, order=True)
class OpenPort:
    """A port that a process listens at."""

    process: int
    port: int
    address: str
    command: str

    @property
    def is_local(self) -> bool:
        """Tell whether only this machine reaches it."""
        return ipaddress.ip_address(self.address).is_loopback


def processes_of_jobs() -> list[int]:
    """Return this user's processes that run Spark, and those that have started them: the programs."""
    found = set()
    for process in _processes():
        if _SPARK in _read(process / "cmdline"):
            found |= {int(process.name), _parent(process)}
    return sorted(found - {0, 1})


def open_ports(processes: Iterable[int]) -> list[OpenPort]:
    """Return the TCP ports that some processes listen at; of those that may be looked at, where the system tells."""
    return sorted({port for process in processes for port in _ports_of(Path(f"/proc/{process}"))})


def _processes() -> Iterator[Path]:
    root = Path("/proc")
    return (entry for entry in root.iterdir() if entry.name.isdigit()) if root.is_dir() else iter(())


def _ports_of(process: Path) -> Iterator[OpenPort]:
    sockets = set(_sockets(process))
    command = _read(process / "comm").decode(errors="replace").strip()
    for table in ("tcp", "tcp6"):
        for line in _read(process / "net" / table).decode().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == _LISTENING and rest[5] in sockets:
                address, _, port = local.partition(":")
                yield OpenPort(int(process.name), int(port, 16), _address(address), command)


def _sockets(process: Path) -> Iterator[str]:
    """Yield the numbers of a process's sockets; a process of somebody else does not show them."""
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return
    for descriptor in descriptors:
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _address(digits: str) -> str:
    """Read an address as the kernel writes it: in words of four bytes, each in this machine's order."""
    words = [bytes.fromhex(digits[start : start + _WORD])[::-1] for start in range(0, len(digits), _WORD)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _parent(process: Path) -> int:
    # The name of the program, in parentheses, may hold blanks and parentheses itself.
    fields = _read(process / "stat").decode(errors="replace").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # the process is gone, or is none of ours

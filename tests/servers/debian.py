"""Programs from Debian packages, unpacked beside the repository's files: nothing of the machine is changed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from tests.servers.server import Server

__all__ = ["Installed", "Unreachable", "installed", "serve"]

S = TypeVar("S", bound=Server)

CACHE = Path(__file__).parents[2] / ".servers"


class Unreachable(Exception):
    """The packages cannot be had here; the message says why."""


@dataclass(frozen=True)
class Installed:
    """A program and, if it was unpacked, the directory that stands for ``/``."""

    program: Path
    root: Path | None = None

    def environment(self) -> dict[str, str]:
        """Return the environment in which the program finds its libraries."""
        if self.root is None:
            return dict(os.environ)
        libraries = sorted({str(file.parent) for file in (self.root / "usr/lib").glob("*/*.so*")})
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}


def installed(package: str, program: str) -> Installed:
    """Return a program that is on the path, or else that of a Debian package.

    Raises:
        Unreachable: There is neither.
    """
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if found:
        return Installed(Path(found).resolve())
    root = CACHE / package
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{package}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of the tests may start side by side
        if not root.exists():
            _unpack(package, root)
    for directory in ("usr/sbin", "usr/bin"):
        if (root / directory / program).exists():
            return Installed(root / directory / program, root)
    message = f"the Debian package {package} has no program {program}"
    raise Unreachable(message)


def serve(make: Callable[[Installed], S], package: str, program: str) -> Iterator[S]:
    """Run the server of a package until the tests are done with it; skips them where there are no Debian packages."""
    try:
        found = installed(package, program)
    except Unreachable as problem:
        if shutil.which("apt-get") is None:
            pytest.skip(str(problem))
        # Where there are such packages, nobody should believe that these tests have passed.
        pytest.fail(str(problem), pytrace=False)
    server = make(found)
    try:
        server.start()
        yield server
    finally:
        server.close()


def _unpack(package: str, root: Path) -> None:
    if not all(shutil.which(tool) for tool in ("apt-get", "dpkg")):
        message = f"{package} is neither installed nor to be had from Debian: there is no apt-get"
        raise Unreachable(message)
    unfinished = root.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    packages = unfinished / "packages"
    packages.mkdir(parents=True)
    try:
        _download(_missing(package), packages)
    except Unreachable:
        _apt("-o", "Acquire::Retries=3", "update", directory=packages)  # the lists are missing or too old
        _download(_missing(package), packages)
    for file in packages.glob("*.deb"):
        subprocess.run(["dpkg", "-x", file, unfinished], check=True, timeout=120)
    shutil.rmtree(packages)
    unfinished.rename(root)


def _missing(package: str) -> list[str]:
    """Return the package and those it depends on that this machine lacks."""
    plan = _apt("--simulate", "install", "--no-install-recommends", package)
    names = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    return names or [package]


def _download(packages: list[str], directory: Path) -> None:
    _apt("-o", "Acquire::Retries=3", "download", *packages, directory=directory)


def _apt(*arguments: str, directory: Path | None = None) -> str:
    command = ["apt-get", "-o", "APT::Sandbox::User=root", *arguments]
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired as error:
        message = f"Debian's packages cannot be reached: apt-get {_action(arguments)} does not answer"
        raise Unreachable(message) from error
    if done.returncode != 0:
        complaint = (done.stderr.strip().splitlines() or ["without saying why"])[-1]
        message = f"Debian's packages cannot be reached: apt-get {_action(arguments)} failed: {complaint}"
        raise Unreachable(message)
    return done.stdout


def _action(arguments: tuple[str, ...]) -> str:
    return next(each for each in arguments if each in ("install", "download", "update"))

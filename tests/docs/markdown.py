"""The fenced blocks of a Markdown file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = "```"


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the number of its first line, its text and the comment right above it."""

    language: str
    line: int
    text: str
    comment: str


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    found: list[Block] = []
    lines = iter(enumerate(text.splitlines(), start=1))
    above = ""
    for number, line in lines:
        if line.lstrip().startswith(FENCE):
            indent = len(line) - len(line.lstrip())
            body: list[str] = []
            for _, inner in lines:
                if inner.strip() == FENCE:
                    break
                body.append(inner[indent:])
            language = line.strip().removeprefix(FENCE).split(" ")[0]
            found.append(Block(language, number + 1, "\n".join(body) + "\n", above))
            above = ""
        elif line.strip():
            above = line.strip()
    return found

"""What the pages point to exists: other pages, headings, files of the repository; and the navigation has every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.markdown import ROOT, pages

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:examples|tests|penstock)/[\w./-]+\.\w+)`")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def _anchors(page: Path) -> set[str]:
    text = _prose(page)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([\w-]+)">', text))


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(_prose(page)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{_name(page)}: {link}"
        if anchor:
            assert anchor in _anchors(target), f"{_name(page)}: {link}"


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_files_that_are_named_exist(page: Path) -> None:
    assert [file for file in FILE.findall(_prose(page)) if not (ROOT / file).exists()] == []


def test_every_feature_that_is_there_names_a_test() -> None:
    rows = [
        line for line in (DOCS / "reference/features.md").read_text(encoding="utf-8").splitlines() if "| yes" in line
    ]
    assert rows
    assert [row for row in rows if "`tests/" not in row] == []


def test_the_navigation_has_every_page_once() -> None:
    def leaves(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        parts = entry.values() if isinstance(entry, dict) else entry
        return [leaf for part in parts for leaf in leaves(part)]

    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert sorted(leaves(navigation)) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))

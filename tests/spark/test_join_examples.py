"""The examples of several streams run on Spark and print what their cases say."""

from __future__ import annotations

import sys

import pytest

from tests.unit.cases.join_examples import EXPECTED
from tests.unit.cases.test_join_examples import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_prints_what_its_case_says(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [name])
    EXAMPLES[name].main()
    printed = [line.partition("> ")[2] for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == sorted(EXPECTED[name])

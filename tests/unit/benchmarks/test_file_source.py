"""The benchmark of the file source: the hand-written program reads every line once, and its results are checked."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benchmarks import file_source


def test_ranges_have_every_line_once(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    file_source.write_input(path, 500)
    size = path.stat().st_size
    bounds = [size * number // 7 for number in range(8)]
    found = [
        line
        for start, end in itertools.pairwise(bounds)
        for lines in file_source._lines(path, start, end)
        for line in lines
    ]
    assert found == path.read_text().splitlines()
    assert len(found) == 500


def test_the_expected_sum_is_that_of_running_counts() -> None:
    lines = file_source.KEYS + 3  # three keys are counted to 2, all others to 1
    assert file_source.expected(lines) == (lines, file_source.KEYS + 3 * 2)


def test_the_hand_written_program_counts_right(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    file_source.write_input(path, 3000)
    assert file_source.measure(path, 3000, 2, "handwritten") > 0


def test_wrong_results_have_no_speed(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    file_source.write_input(path, 3000)
    with pytest.raises(RuntimeError, match="not"):
        file_source.measure(path, 2999, 2, "handwritten")

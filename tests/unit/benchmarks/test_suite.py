"""Repeats, what is kept after each sample, and going on after an interruption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import report, suite
from benchmarks.catalogue import choose_jobs, choose_systems
from benchmarks.suite import Measurement, Plan, measure

PLAN = Plan(
    jobs=choose_jobs("count-1k"),
    systems=choose_systems("handwritten,penstock,pyflink-thread"),
    repeats=2,
    parallelism=2,
    rival_repeats=1,
)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes what would be run, and answers with results that are right."""
    made: list[str] = []

    def run(plan: Plan, job: Any, system: Any, records: int) -> dict[str, Any]:
        made.append(system.name)
        checks = suite._expected(job.name, records, plan.parallelism)
        return {"records": records, "seconds": 1.0, "checks": checks, "versions": {}, "settings": {}}

    monkeypatch.setattr(suite, "run_program", run)
    return made


def test_rivals_are_measured_less_often(runs: list[str]) -> None:
    measure(PLAN, lambda _: None)
    assert runs == ["handwritten", "penstock", "pyflink-thread", "handwritten", "penstock"]


def test_everything_so_far_is_kept_after_each_sample(runs: list[str]) -> None:
    kept: list[int] = []
    measure(PLAN, lambda _: None, lambda so_far: kept.append(sum(len(each.samples) for each in so_far)))
    assert kept == [1, 2, 3, 4, 5]


def test_what_is_known_is_not_run_again(runs: list[str], tmp_path: Path) -> None:
    interrupted: list[Measurement] = []

    def keep(so_far: list[Measurement]) -> None:
        report.write(tmp_path / "run.json", report.document(PLAN, so_far))
        if len(runs) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(PLAN, lambda _: None, keep)
    interrupted = report.read(tmp_path / "run.json")
    runs.clear()
    whole = measure(PLAN, lambda _: None, known=interrupted)
    assert runs == ["penstock"]
    assert [(each.system, len(each.samples)) for each in whole] == [
        ("handwritten", 2),
        ("penstock", 2),
        ("pyflink-thread", 1),
    ]

"""Every transcript that needs no manual clock, on Spark: all of them as pipelines of one job."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing import SparkReplay, Transcript, pytest_transcripts, replay_on_spark

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"

pytestmark = pytest.mark.timeout(300)  # the first test waits for Spark and for all of them

parametrize = pytest_transcripts(TRANSCRIPTS, on_spark=True)


@pytest.fixture(scope="module")
def replays() -> dict[str, SparkReplay]:
    found = replay_on_spark(parametrize.args[1])
    return {replay.transcript.name: replay for replay in found}


@parametrize
def test_transcript(transcript: Transcript, replays: dict[str, SparkReplay]) -> None:
    replays[transcript.name].check()

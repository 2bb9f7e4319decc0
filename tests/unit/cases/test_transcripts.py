"""Every transcript, in this process: with records one by one, and in runs as under load."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing import Transcript, pytest_transcripts, run_transcript

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts"


@pytest.mark.parametrize("in_runs", [False, True], ids=["singly", "in runs"])
@pytest_transcripts(TRANSCRIPTS)
def test_transcript(transcript: Transcript, in_runs: bool) -> None:
    run_transcript(transcript, in_runs=in_runs)

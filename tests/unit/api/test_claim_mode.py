"""Who owns the savepoint that a job starts from: by configuration and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Configuration, ProgramError, StreamExecutionEnvironment
from penstock.command_line import main
from penstock.vocabulary.settings.modes import RecoveryClaimMode


def mode_of(**settings: str) -> RecoveryClaimMode:
    configuration = Configuration.from_dict({key.replace("__", "."): value for key, value in settings.items()})
    env = StreamExecutionEnvironment(configuration)
    env.from_collection([1]).print()
    return env._build_job(None).claim_mode


@pytest.mark.parametrize("key", ["execution.state-recovery.claim-mode", "execution.savepoint-restore-mode"])
@pytest.mark.parametrize("mode", list(RecoveryClaimMode))
def test_the_mode_is_a_setting(key: str, mode: RecoveryClaimMode, caplog: pytest.LogCaptureFixture) -> None:
    assert mode_of() is RecoveryClaimMode.NO_CLAIM
    assert mode_of(**{key: mode.name}) is mode
    assert mode_of(**{key: mode.name.lower()}) is mode
    assert ("LEGACY is deprecated" in caplog.text) is (mode is RecoveryClaimMode.LEGACY)


def test_another_mode_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"claim-mode: The claim mode is one of CLAIM, NO_CLAIM, LEGACY, not 'mine'"):
        mode_of(**{"execution.state-recovery.claim-mode": "mine"})


@pytest.mark.parametrize("flag", ["-cm", "--claim-mode", "--claimMode", "-rm", "--restoreMode"])
def test_the_command_line_has_it_too(flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr("penstock.command_line.run.set_command_line_configuration", given.append)
    monkeypatch.setattr("penstock.command_line.run.install_alias", lambda: None)
    script = tmp_path / "job.py"
    script.write_text("")
    assert main(["run", flag, "claim", str(script)]) == 0
    assert given[0].get_string("execution.state-recovery.claim-mode", None) == "CLAIM"
    with pytest.raises(SystemExit):
        main(["run", flag, "mine", str(script)])

"""The enumerations have the members that PyFlink's have."""

import pickle

import pytest

from penstock.vocabulary.settings.modes import (
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    InputDependencyConstraint,
    RuntimeExecutionMode,
    TimeCharacteristic,
    TimeDomain,
)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (RuntimeExecutionMode, "STREAMING BATCH AUTOMATIC"),
        (CheckpointingMode, "EXACTLY_ONCE AT_LEAST_ONCE"),
        (
            ExternalizedCheckpointRetention,
            "DELETE_ON_CANCELLATION RETAIN_ON_CANCELLATION NO_EXTERNALIZED_CHECKPOINTS",
        ),
        (TimeCharacteristic, "ProcessingTime IngestionTime EventTime"),
        (TimeDomain, "EVENT_TIME PROCESSING_TIME"),
        (InputDependencyConstraint, "ANY ALL"),
    ],
)
def test_members(kind, names):
    assert [member.name for member in kind] == names.split()
    assert all(pickle.loads(pickle.dumps(member)) is member for member in kind)

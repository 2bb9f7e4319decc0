"""Which jobs a driver serves: those that run, and ended ones as long as the program keeps them."""

from __future__ import annotations

import gc
import weakref

import pytest

from penstock.operations.rest.exchange import Question, RestError
from tests.unit.operations.served import Served


def test_an_ended_job_is_served_as_long_as_somebody_keeps_it() -> None:
    served = Served()
    question = Question({"job": served.job.id}, {}, {})
    served.jobs.ended(served.job.id)
    assert served.jobs.find(question).facts is served.facts
    assert [job.facts for job in served.jobs.all()] == [served.facts]


def test_an_ended_job_that_nobody_keeps_takes_no_memory() -> None:
    served = Served()
    jobs, question, gone = served.jobs, Question({"job": served.job.id}, {}, {}), weakref.ref(served.job)
    jobs.ended(served.job.id)
    del served
    gc.collect()
    assert gone() is None
    assert jobs.all() == []
    with pytest.raises(RestError, match="This driver has no job"):
        jobs.find(question)

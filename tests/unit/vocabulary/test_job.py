"""Job identity, status, result and future."""

import pickle
import re
from concurrent.futures import CancelledError, InvalidStateError

import pytest

from penstock.vocabulary.job import CompletableFuture, JobExecutionResult, JobID, JobStatus


def test_a_job_id_is_32_random_hexadecimal_digits():
    first, second = JobID(), JobID.generate()
    assert re.fullmatch("[0-9a-f]{32}", str(first))
    assert first != second
    assert JobID.from_hex_string(str(first)) == first
    assert hash(JobID(str(first).upper())) == hash(first)
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.parametrize("text", ["", "abc", "g" * 32, "0" * 33])
def test_other_texts_are_no_job_ids(text):
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        JobID(text)


def test_three_states_end_a_job_and_a_suspended_job_is_only_over_here():
    ended = {status for status in JobStatus if status.is_globally_terminal_state()}
    over_here = {status for status in JobStatus if status.is_terminal_state()}
    assert ended == {JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED}
    assert over_here == ended | {JobStatus.SUSPENDED}


def test_the_result_of_a_job():
    job_id = JobID()
    result = JobExecutionResult(job_id, 1_234, {"rows": 5})
    assert result.get_job_id() == job_id
    assert result.get_net_runtime() == 1_234
    assert result.get_accumulator_result("rows") == 5
    assert result.get_accumulator_result("other") is None
    assert result.get_all_accumulator_results() == {"rows": 5}
    assert str(job_id) in str(result)
    assert "1234 ms" in str(result)
    assert "- rows: 5" in str(result)
    assert JobExecutionResult(job_id, 0).get_all_accumulator_results() == {}


def test_only_the_first_to_complete_a_future_succeeds():
    future = CompletableFuture()
    assert not future.done()
    assert future.complete(1) is True
    assert future.complete(2) is False
    assert future.complete_exceptionally(ValueError("late")) is False
    assert future.done()
    assert future.result() == 1
    assert future.exception() is None
    with pytest.raises(InvalidStateError):
        future.set_result(3)


def test_a_failed_future_raises_its_failure():
    error = ValueError("broken")
    future = CompletableFuture()
    assert future.complete_exceptionally(error) is True
    assert future.exception() is error
    with pytest.raises(ValueError, match="broken"):
        future.result()
    assert CompletableFuture.failed_future(error).exception() is error


def test_a_cancelled_future_cannot_be_completed():
    future = CompletableFuture()
    assert future.cancel()
    assert future.cancelled()
    assert future.complete(1) is False
    with pytest.raises(CancelledError):
        future.result()


def test_a_future_that_is_complete_from_the_start():
    assert CompletableFuture.completed_future("x").result() == "x"

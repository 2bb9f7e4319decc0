"""Patterns in whole jobs: functions, side outputs, time, failures, snapshots, parallelism."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import (
    DataStream,
    OutputTag,
    ProgramError,
    RuntimeContext,
    StateAccessError,
    StreamExecutionEnvironment,
    UserFunctionError,
    ValueStateDescriptor,
)
from penstock.cep import (
    CEP,
    AfterMatchSkipStrategy,
    EventComparator,
    Pattern,
    PatternFlatSelectFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
)
from penstock.testing import run_locally
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import check_every_crash, timed

Login = tuple[str, str]
LOGINS: list[tuple[Login, int]] = [
    (("ann", "F"), 1),
    (("ann", "F"), 2),
    (("bob", "F"), 2),
    (("ann", "S"), 3),
    (("ann", "F"), 4),
    (("bob", "F"), 5),
    (("ann", "F"), 5),
    (("ann", "F"), 6),
    (("bob", "F"), 8),
    (("bob", "F"), 9),
]


def failures() -> Pattern[Any]:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    return Pattern.begin("fail", skip).where(lambda login: login[1] == "F").times(3).consecutive().within(100)


def alarms(env: StreamExecutionEnvironment) -> DataStream[Any]:
    keyed = timed(env, LOGINS, delay=2).key_by(lambda login: login[0])
    return CEP.pattern(keyed, failures()).select(lambda match: (match["fail"][0][0], len(match["fail"])))


def results_of(build: Any) -> list[Any]:
    env = environment()
    collect(build(env))
    return run_locally(env).collected.get("out", [])


def test_select_on_a_keyed_stream() -> None:
    assert sorted(results_of(alarms)) == [("ann", 3), ("bob", 3)]


@pytest.mark.parametrize("backend", ["heap", "rocksdb"])
def test_half_matches_and_waiting_events_survive_a_crash_at_any_moment(backend: str) -> None:
    check_every_crash(alarms, [("ann", 3), ("bob", 3)], backend=backend, is_ordered=False)


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 3)])
def test_half_matches_go_with_their_keys_to_another_parallelism(before: int, after: int) -> None:
    check_every_crash(alarms, [("ann", 3), ("bob", 3)], parallelism=before, restored_parallelism=after)


ORDERS = [(("o1", "created"), 0), (("o2", "created"), 10), (("o2", "paid"), 909), (("o3", "created"), 950)]
UNPAID = OutputTag("unpaid")


def payments() -> Pattern[Any]:
    return (
        Pattern.begin("created")
        .where(lambda order: order[1] == "created")
        .followed_by("paid")
        .where(lambda order: order[1] == "paid")
        .within(900)
    )


def paid_or_not(env: StreamExecutionEnvironment) -> DataStream[Any]:
    keyed = timed(env, ORDERS).key_by(lambda order: order[0])
    paid = CEP.pattern(keyed, payments()).select(
        UNPAID, lambda match, time: (match["created"][0][0], time), lambda match: (match["paid"][0][0], "paid")
    )
    return paid.union(paid.get_side_output(UNPAID))


def test_timed_out_half_matches_go_to_the_side_output_with_their_time() -> None:
    assert sorted(results_of(paid_or_not)) == [("o1", 900), ("o2", "paid"), ("o3", 1850)]


@pytest.mark.parametrize("backend", ["heap", "rocksdb"])
def test_timers_of_windows_survive_a_crash_at_any_moment(backend: str) -> None:
    check_every_crash(paid_or_not, [("o1", 900), ("o2", "paid"), ("o3", 1850)], backend=backend, is_ordered=False)


def test_flat_select_and_its_timeout_function() -> None:
    class Paid(PatternFlatSelectFunction[Any, str]):
        def flat_select(self, pattern: dict[str, list[Any]]) -> Iterator[str]:
            yield "paid"
            yield pattern["paid"][0][0]

    def build(env: StreamExecutionEnvironment) -> DataStream[Any]:
        keyed = timed(env, ORDERS).key_by(lambda order: order[0])
        found = CEP.pattern(keyed, payments()).flat_select(UNPAID, lambda match, time: ["unpaid", time], Paid())
        return found.union(found.get_side_output(UNPAID))

    assert sorted(map(str, results_of(build))) == ["1850", "900", "o2", "paid", "unpaid", "unpaid"]


class Seen(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler[Any]):
    def process_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterator[Any]:
        ctx.output(UNPAID, ("seen", ctx.timestamp()))
        yield "match", ctx.timestamp()

    def process_timed_out_match(
        self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context
    ) -> Iterator[Any]:
        yield UNPAID, ("over", ctx.timestamp())


def test_process_sees_times_and_side_outputs() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream[Any]:
        found = CEP.pattern(timed(env, ORDERS).key_by(lambda order: order[0]), payments()).process(Seen())
        return found.union(found.get_side_output(UNPAID))

    assert sorted(results_of(build)) == [("match", 909), ("over", 900), ("over", 1850), ("seen", 909)]


def test_a_stream_without_keys_is_matched_in_one_subtask() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream[Any]:
        env.set_parallelism(3)
        numbers = timed(env, [(1, 1), (5, 3), (2, 2)], [(9, 4)], delay=5)
        rising = (
            Pattern.begin("one").next("two").where(lambda value, ctx: value > max(ctx.get_events_for_pattern("one")))
        )
        return CEP.pattern(numbers, rising).select(lambda match: (match["one"][0], match["two"][0]))

    assert results_of(build) == [(1, 2), (2, 5), (5, 9)]


def test_the_parallelism_without_keys_cannot_be_raised() -> None:
    env = environment(4)
    found = CEP.pattern(env.from_collection([1]), Pattern.begin("a")).in_processing_time().select(lambda match: match)
    with pytest.raises(ProgramError):
        found.set_parallelism(2)


def test_late_events_go_to_the_side_output() -> None:
    late = OutputTag("late")

    def build(env: StreamExecutionEnvironment) -> DataStream[Any]:
        numbers = timed(env, [(1, 10), (2, 3), (3, 11)])
        found = CEP.pattern(numbers, Pattern.begin("a")).side_output_late_data(late)
        return found.select(lambda match: match["a"][0]).get_side_output(late)

    assert results_of(build) == [2]


def test_a_comparator_orders_events_of_one_timestamp() -> None:
    class Smaller(EventComparator[int]):
        def compare(self, first: int, second: int) -> int:
            return first - second

    def build(env: StreamExecutionEnvironment) -> DataStream[Any]:
        numbers = timed(env, [(5, 1), (3, 1), (4, 1), (1, 2)])
        return CEP.pattern(numbers, Pattern.begin("a"), Smaller()).select(lambda match: match["a"][0])

    assert results_of(build) == [3, 4, 5, 1]


def test_settings_return_new_streams() -> None:
    stream = CEP.pattern(environment().from_collection([1]), Pattern.begin("a"))
    changed = stream.in_processing_time()
    assert changed is not stream
    assert (stream._settings.is_event_time, changed._settings.is_event_time) == (True, False)


def test_records_without_timestamps_are_refused_in_event_time() -> None:
    env = environment()
    collect(CEP.pattern(env.from_collection([1]), Pattern.begin("a")).select(lambda match: match))
    with pytest.raises(Exception, match="in_processing_time"):
        run_locally(env)


def test_rich_conditions_and_functions_are_opened_and_closed_and_have_no_state() -> None:
    calls: list[str] = []

    class Even(RichIterativeCondition[int]):
        def open(self, runtime_context: RuntimeContext) -> None:
            calls.append(f"open {runtime_context.get_number_of_parallel_subtasks()}")
            with pytest.raises(StateAccessError):
                runtime_context.get_state(ValueStateDescriptor("x", None))

        def filter(self, value: int, ctx: Any) -> bool:
            return value % 2 == 0

        def close(self) -> None:
            calls.append("close")

    class Select(PatternSelectFunction[int, int]):
        def open(self, runtime_context: RuntimeContext) -> None:
            calls.append("open select")

        def select(self, pattern: dict[str, list[int]]) -> int:
            return pattern["a"][0]

    env = environment()
    numbers = timed(env, [(1, 1), (2, 2)])
    collect(CEP.pattern(numbers, Pattern.begin("a").where(Even()).or_(lambda value: value > 7)).select(Select()))
    job = env._build_job(None)
    from penstock.testing import LocalRun

    run = LocalRun(job)
    run.run()
    run.close()
    assert run.collected["out"] == [2]


def test_a_failing_condition_is_named_with_its_event() -> None:
    def broken(event: Any) -> bool:
        return bool(event["missing"])

    env = environment()
    collect(CEP.pattern(timed(env, [({"a": 1}, 1)]), Pattern.begin("a").where(broken)).select(lambda match: match))
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    text = str(caught.value)
    assert "function   test_a_failing_condition_is_named_with_its_event.<locals>.broken" in text
    assert f"{__file__}" in text
    assert "record     {'a': 1}" in text


def test_exceptions_on_a_miss_fail_the_job() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss()
    pattern = Pattern.begin("a", skip).where(lambda value: value == 1).next("b").optional().where(lambda v: v == 2)
    env = environment()
    collect(CEP.pattern(timed(env, [(1, 1), (3, 2)]), pattern.within(100)).select(lambda match: match))
    with pytest.raises(Exception, match="no event for 'b'"):
        run_locally(env)


def test_what_is_no_pattern_or_function_is_refused() -> None:
    stream = environment().from_collection([1])
    with pytest.raises(ProgramError, match="needs a Pattern"):
        CEP.pattern(stream, "a")  # type: ignore[arg-type]
    found = CEP.pattern(stream, Pattern.begin("a"))
    for call in (
        lambda: found.select(),
        lambda: found.select(lambda match: match, lambda match: match, lambda match: match),
        lambda: found.process(lambda match: match),
        lambda: found.max_runs_per_key(0),
        lambda: found.side_output_late_data("late"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ProgramError):
            call()


def test_timeout_functions_as_objects() -> None:
    class Over(PatternTimeoutFunction[Any, Any]):
        def timeout(self, pattern: dict[str, list[Any]], timeout_timestamp: int) -> Any:
            return sorted(pattern), timeout_timestamp

    def build(env: StreamExecutionEnvironment) -> DataStream[Any]:
        keyed = timed(env, ORDERS).key_by(lambda order: order[0])
        return CEP.pattern(keyed, payments()).select(UNPAID, Over(), lambda match: match).get_side_output(UNPAID)

    assert results_of(build) == [(["created"], 900), (["created"], 1850)]


def test_warnings_say_what_holds_output_back_and_what_grows() -> None:
    stream = environment().from_collection([1])
    skip = AfterMatchSkipStrategy.skip_past_last_event()

    def said(pattern: Pattern[Any], limit: int | None = None) -> str:
        found = CEP.pattern(stream, pattern)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (found if limit is None else found.max_runs_per_key(limit)).select(lambda match: match)
        return " ".join(str(one.message) for one in caught)

    assert "holds a match back" in said(Pattern.begin("a", skip).followed_by("b"))
    assert said(Pattern.begin("a", skip).followed_by("b").within(5)) == ""
    assert "'a' repeats without an end" in said(Pattern.begin("a").one_or_more())
    assert said(Pattern.begin("a").one_or_more().until(bool)) == ""
    assert "followed_by_any" in said(Pattern.begin("a").followed_by_any("b"))
    assert said(Pattern.begin("a").followed_by_any("b"), limit=10) == ""
    assert "optional() before" in said(Pattern.begin("a").next("b").optional().one_or_more().consecutive())

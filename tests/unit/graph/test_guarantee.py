"""The end-to-end guarantee: the table of CON-04, the weakest link by name, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import (
    CheckpointedFunction,
    CheckpointingMode,
    Configuration,
    Delivery,
    ProgramError,
    Sink,
    SinkFunction,
    SinkWriter,
    SourceFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
    WriterContext,
)
from penstock.graph.guarantee import Level, end_to_end
from penstock.testing import build_job
from tests.unit.sinks.lives import OneByOne


class _Sink(Sink[Any]):
    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        raise AssertionError


class _Picky(_Sink):
    def check(self, *, checkpoint_interval: int | None, checkpoint_timeout: int) -> None:
        if checkpoint_interval is None or checkpoint_interval + checkpoint_timeout > 60_000:
            message = f"too long: {checkpoint_interval} + {checkpoint_timeout}"
            raise ProgramError(message)


class _Function(SinkFunction[Any]):
    def invoke(self, value: Any, context: Any) -> None:
        raise AssertionError


class _Counter(SourceFunction[int]):
    def run(self, ctx: Any) -> None:
        raise AssertionError

    def cancel(self) -> None:
        raise AssertionError


class _CheckpointedCounter(_Counter, CheckpointedFunction):
    def snapshot_state(self, context: Any) -> None:
        raise AssertionError

    def initialize_state(self, context: Any) -> None:
        raise AssertionError


def env_with(interval: int | None = 1000, **options: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment(Configuration.from_dict(options))
    if interval is not None:
        env.enable_checkpointing(interval)
    return env


def source(env: StreamExecutionEnvironment, *, is_replayable: bool = True) -> Any:
    return env.from_source(OneByOne([1], is_replayable=is_replayable), WatermarkStrategy.no_watermarks(), "Numbers")


@pytest.mark.parametrize(
    ("is_replayable", "delivery", "level"),
    [
        (False, Delivery.AT_LEAST_ONCE, Level.AT_MOST_ONCE),
        (False, Delivery.IDEMPOTENT, Level.AT_MOST_ONCE),
        (False, Delivery.WRITE_AHEAD, Level.AT_MOST_ONCE),
        (False, Delivery.TRANSACTIONAL, Level.AT_MOST_ONCE),
        (True, Delivery.AT_LEAST_ONCE, Level.AT_LEAST_ONCE),
        (True, Delivery.IDEMPOTENT, Level.EXACTLY_ONCE),
        (True, Delivery.WRITE_AHEAD, Level.AT_LEAST_ONCE),
        (True, Delivery.TRANSACTIONAL, Level.EXACTLY_ONCE),
    ],
)
def test_con_04_the_eight_cells(is_replayable: bool, delivery: Delivery, level: Level) -> None:
    env = env_with()
    source(env, is_replayable=is_replayable).sink_to(_Sink(delivery))
    (guarantee,) = end_to_end(env.graph, env.get_checkpoint_config())
    assert guarantee.level is level


def test_con_03_the_weakest_link_is_named() -> None:
    env = env_with()
    source(env, is_replayable=False).map(str).sink_to(_Sink(Delivery.TRANSACTIONAL))
    assert (
        "Guarantee: at-most-once into '_Sink: Writer' (weakest link: the source 'Numbers' cannot read" in env.explain()
    )


def test_the_engine_can_be_the_weakest_link() -> None:
    env = env_with(None)
    source(env).sink_to(_Sink(Delivery.TRANSACTIONAL))
    (without,) = end_to_end(env.graph, env.get_checkpoint_config())
    assert (without.level, "enable_checkpointing() was not called" in without.weakest) == (Level.AT_MOST_ONCE, True)
    env.enable_checkpointing(1000, CheckpointingMode.AT_LEAST_ONCE)
    (unaligned,) = end_to_end(env.graph, env.get_checkpoint_config())
    assert (unaligned.level, "do not align" in unaligned.weakest) == (Level.AT_LEAST_ONCE, True)


def test_each_sink_has_its_own_and_union_takes_the_worst_source() -> None:
    env = env_with()
    good, bad = source(env), source(env, is_replayable=False)
    good.sink_to(_Sink(Delivery.TRANSACTIONAL)).name("good")
    good.union(bad).sink_to(_Sink(Delivery.TRANSACTIONAL)).name("mixed")
    good.add_sink(_Function()).name("function")
    good.print()
    levels = {each.sink: each.level for each in end_to_end(env.graph, env.get_checkpoint_config())}
    assert levels == {"good": Level.EXACTLY_ONCE, "mixed": Level.AT_MOST_ONCE, "function": Level.AT_LEAST_ONCE}


@pytest.mark.parametrize(
    ("function", "level"), [(_Counter, Level.AT_MOST_ONCE), (_CheckpointedCounter, Level.EXACTLY_ONCE)]
)
def test_src_15_a_source_function_is_replayable_if_it_keeps_its_position(function: Any, level: Level) -> None:
    env = env_with()
    env.add_source(function()).sink_to(_Sink(Delivery.TRANSACTIONAL))
    (guarantee,) = end_to_end(env.graph, env.get_checkpoint_config())
    assert guarantee.level is level


def test_asking_for_more_than_the_job_can_give_is_refused() -> None:
    env = env_with(**{"penstock.guarantee": "exactly-once"})
    source(env).add_sink(_Function()).name("writer")
    with pytest.raises(ProgramError, match=r"asked to be exactly-once.*'writer' it is only at-least-once"):
        build_job(env)


def test_asking_for_what_the_job_gives_is_fine_and_the_job_says_it() -> None:
    env = env_with(**{"penstock.guarantee": "exactly-once"})
    source(env).sink_to(_Sink(Delivery.IDEMPOTENT)).name("table")
    (said,) = build_job(env).guarantees
    assert said.startswith("exactly-once into 'table'")


def test_an_unknown_guarantee_is_refused() -> None:
    env = env_with(**{"penstock.guarantee": "twice"})
    source(env).sink_to(_Sink(Delivery.IDEMPOTENT))
    with pytest.raises(ProgramError, match="one of at-most-once, at-least-once, exactly-once, not 'twice'"):
        build_job(env)


def test_a_sink_looks_at_the_checkpoint_settings() -> None:
    env = env_with(10_000)
    env.get_checkpoint_config().set_checkpoint_timeout(50_000)
    source(env).sink_to(_Picky(Delivery.TRANSACTIONAL))
    build_job(env)
    env.get_checkpoint_config().set_checkpoint_timeout(50_001)
    source(env).sink_to(_Picky(Delivery.TRANSACTIONAL))
    with pytest.raises(ProgramError, match=r"too long: 10000 \+ 50001"):
        build_job(env)

"""A script keeps one order over all its channels, also in copies and after a restart."""

from __future__ import annotations

import cloudpickle

from penstock.testing.scripted_source import Event, EventKind, Script, ScriptedSource
from penstock.vocabulary.sources.protocol import ReaderContext, SourceSplit


def record(value: int) -> Event:
    return Event(EventKind.RECORD, value)


def script(*turns: tuple[str, Event], run_length: int = 10) -> Script:
    made = Script(run_length=run_length)
    for channel, event in turns:
        made.add(channel, event)
    return made


def test_a_channel_waits_for_its_turn() -> None:
    found = script(("a", record(1)), ("a", record(2)), ("b", record(3)), ("a", record(4)))
    assert found.read("b") == []
    assert found.read("a") == [record(1), record(2)]
    assert found.read("a") == []
    assert found.read("b") == [record(3)]
    assert found.read("a") == [record(4)]
    assert found.is_read


def test_one_by_one() -> None:
    found = script(("a", record(1)), ("a", record(2)), run_length=1)
    assert found.read("a") == [record(1)]
    assert found.read("a") == [record(2)]


def test_a_channel_ends_where_the_script_says() -> None:
    found = script(("a", record(1)), ("a", Event(EventKind.END)), ("b", record(2)))
    assert found.read("a") == [record(1)]
    assert found.read("b") == []
    assert found.read("a") is None
    assert found.read("b") == [record(2)]
    assert found.read("a") is None


def test_copies_in_one_process_are_one_script() -> None:
    found = script(("a", record(1)))
    first, second = cloudpickle.loads(cloudpickle.dumps((found, found)))
    assert first is second is found


def test_a_copy_elsewhere_holds_what_was_written() -> None:
    data = cloudpickle.dumps(script(("a", record(1)), run_length=7))  # the original is gone, as in another process
    copy = cloudpickle.loads(data)
    assert (copy.run_length, copy.read("a")) == (7, [record(1)])


def test_reading_goes_on_at_a_position() -> None:
    turns = [("a", record(1)), ("b", record(2)), ("a", record(3))]
    source = ScriptedSource(script(*turns), ["a"])
    reader = source.open_split(SourceSplit("a"), None, ReaderContext(0, 1))
    assert reader.read(100) == ([record(1)], None)
    position = reader.position()
    restarted = script(*turns)
    reader = ScriptedSource(restarted, ["a"]).open_split(SourceSplit("a"), position, ReaderContext(0, 1))
    assert restarted.read("b") == [record(2)]
    assert reader.read(100) == ([record(3)], None)
    assert reader.position() == 2

"""Classes of the program change between two runs: fields come and go, types widen, classes get other names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock import (
    CheckpointedFunction,
    Configuration,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    ProgramError,
    StateRestoreError,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.savepoints import Savepoint, rename_classes
from penstock.savepoints.terminal import main
from penstock.testing import LocalCheckpoint, LocalRun, build_job
from tests.unit.local_jobs import collect
from tests.unit.runtime.checkpoint.recovery_bench import BACKENDS, Replay, each_record

FIRST = """
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

@dataclass(frozen=True)
class Customer:
    country: str
    number: int

class Colour(Enum):
    RED = 1

@dataclass
class Total:
    count: int
    weight: int

class Seen(NamedTuple):
    name: str
    times: int
"""
BOTH_BACKENDS = pytest.mark.parametrize("backend", ["heap", "rocksdb"])
BOTH_FORMS = pytest.mark.parametrize("form", ["savepoint", "checkpoint"])


@pytest.fixture
def shop() -> Iterator[Any]:
    """Defines modules with classes; they go with the test."""
    made: list[str] = []

    def define(source: str, name: str = "evolving_shop") -> ModuleType:
        module = ModuleType(name)
        sys.modules[name] = module
        made.append(name)
        exec(source, module.__dict__)
        return module

    define.forget = lambda name="evolving_shop": sys.modules.pop(name)  # type: ignore[attr-defined]
    yield define
    for name in made:
        sys.modules.pop(name, None)


class Counting(KeyedProcessFunction):
    def __init__(self, classes: Any) -> None:
        self.total_class = classes.Total

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        known = self.total.value()
        if known is None:
            known = self.total_class(0, 0)
        assert type(known) is self.total_class
        known.count += 1
        self.total.update(known)
        yield value, dict(vars(known))


class Remembering(MapFunction, CheckpointedFunction):
    def __init__(self, classes: Any) -> None:
        self.seen_class = classes.Seen

    def initialize_state(self, context: Any) -> None:
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))

    def map(self, value: Any) -> Any:
        self.seen.add(self.seen_class(value, 1))
        assert all(type(each) is self.seen_class for each in self.seen.get())
        return value

    def snapshot_state(self, context: Any) -> None:
        return


def run_of(classes: Any, backend: str, restore: str | None = None, **options: str) -> LocalRun:
    """Counts records by a key that is an object of a class of the program, in a tuple with an enumeration."""
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(f"penstock.{key.replace('_', '-')}", value)
    env = StreamExecutionEnvironment(configuration).set_parallelism(1)
    env.set_state_backend(BACKENDS[backend]())
    env.enable_checkpointing(3_600_000)
    names = ["ann", "bob", "ann", "bob", "eve", "ann"]
    customer, red = classes.Customer, classes.Colour.RED
    source = env.from_source(Replay([(name, 1) for name in names]), each_record(), "names").uid("names")
    keyed = source.map(Remembering(classes)).uid("seen").key_by(lambda name: (customer(name, 1), red))
    collect(keyed.process(Counting(classes)).uid("totals"))
    return LocalRun(build_job(env), restore=None if restore is None else LocalCheckpoint.load(restore))


def stored(run: LocalRun, form: str, directory: Path) -> str:
    """Three records later."""
    for _ in range(3):
        run.step()
    if form == "savepoint":
        return run.savepoint(directory)
    checkpoint = run.checkpoint()
    (directory / "_metadata").write_bytes(checkpoint.metadata.encode())
    return str(directory)


def left(run: LocalRun) -> list[Any]:
    run.run()
    return run.collected["out"]


# The first three records are ann, bob and ann again; then come bob, eve and ann.


@BOTH_BACKENDS
@BOTH_FORMS
def test_a_field_with_a_default_is_added(shop: Any, backend: str, form: str, tmp_path: Path) -> None:
    path = stored(run_of(shop(FIRST), backend), form, tmp_path)
    changed = FIRST.replace("    weight: int", "    weight: int\n    colour: str = 'red'")
    changed = changed.replace("    times: int", "    times: int\n    where: str = 'here'")
    assert left(run_of(shop(changed), backend, path)) == [
        ("bob", {"count": 2, "weight": 0, "colour": "red"}),
        ("eve", {"count": 1, "weight": 0, "colour": "red"}),
        ("ann", {"count": 3, "weight": 0, "colour": "red"}),
    ]


@BOTH_BACKENDS
@BOTH_FORMS
def test_a_field_is_removed(shop: Any, backend: str, form: str, tmp_path: Path) -> None:
    path = stored(run_of(shop(FIRST), backend), form, tmp_path)
    changed = FIRST.replace("    weight: int\n", "    total: int = 0\n").replace("    times: int", "    rest: int = 0")
    assert left(run_of(shop(changed), backend, path)) == [
        ("bob", {"count": 2, "total": 0}),
        ("eve", {"count": 1, "total": 0}),
        ("ann", {"count": 3, "total": 0}),
    ]


@BOTH_BACKENDS
def test_a_field_without_a_default_is_refused_by_its_name(shop: Any, backend: str, tmp_path: Path) -> None:
    path = stored(run_of(shop(FIRST), backend), "savepoint", tmp_path)
    changed = FIRST.replace("    weight: int", "    weight: int\n    colour: str")
    with pytest.raises(StateRestoreError, match="the field 'colour' of Total is new and has no default"):
        left(run_of(shop(changed), backend, path))


@BOTH_BACKENDS
@BOTH_FORMS
def test_a_type_is_widened(shop: Any, backend: str, form: str, tmp_path: Path) -> None:
    """A whole number is a number: what was stored stays as it is."""
    path = stored(run_of(shop(FIRST), backend), form, tmp_path)
    changed = FIRST.replace("    weight: int", "    weight: float | None").replace("    count: int", "    count: float")
    assert left(run_of(shop(changed), backend, path))[-1] == ("ann", {"count": 3, "weight": 0})


RENAMED = {
    "class by class": "evolving_shop.Customer:evolving_shop.Buyer, evolving_shop.Total:evolving_shop.Sum,"
    " evolving_shop.Colour:evolving_shop.Paint, evolving_shop.Seen:evolving_shop.Visit",
    "all of a module": "evolving_shop:moved_shop",
}


def renamed_shop(shop: Any, how: str) -> Any:
    if how == "all of a module":
        shop.forget()
        return shop(FIRST, "moved_shop")
    new = FIRST
    for old, name in (("Customer", "Buyer"), ("Total", "Sum"), ("Colour", "Paint"), ("Seen", "Visit")):
        new = new.replace(f"class {old}", f"class {name}")
    found = shop(new)
    namespace = ModuleType("names of now")
    namespace.__dict__.update(Customer=found.Buyer, Total=found.Sum, Colour=found.Paint, Seen=found.Visit)
    return namespace


@BOTH_BACKENDS
@BOTH_FORMS
@pytest.mark.parametrize("how", RENAMED)
def test_classes_get_other_names_also_those_of_keys(
    shop: Any, backend: str, form: str, how: str, tmp_path: Path
) -> None:
    path = stored(run_of(shop(FIRST), backend), form, tmp_path / "first" if form == "savepoint" else tmp_path)
    classes = renamed_shop(shop, how)
    run = run_of(classes, backend, path, renamed_classes=RENAMED[how])
    wanted = [
        ("bob", {"count": 2, "weight": 0}),
        ("eve", {"count": 1, "weight": 0}),
        ("ann", {"count": 3, "weight": 0}),
    ]
    assert left(run) == wanted
    # What is stored from now on has the new names: the table of names is needed once.
    again = run_of(classes, backend, path, renamed_classes=RENAMED[how])
    (tmp_path / "second").mkdir()
    newer = stored_now(again, form, tmp_path / "second")
    assert left(run_of(classes, backend, newer)) == wanted


def stored_now(run: LocalRun, form: str, directory: Path) -> str:
    run.open()
    if form == "savepoint":
        return run.savepoint(directory)
    checkpoint = run.checkpoint()
    (directory / "_metadata").write_bytes(checkpoint.metadata.encode())
    return str(directory)


@BOTH_BACKENDS
def test_a_class_that_is_gone_is_named_with_what_to_do(shop: Any, backend: str, tmp_path: Path) -> None:
    path = stored(run_of(shop(FIRST), backend), "savepoint", tmp_path)
    classes = renamed_shop(shop, "class by class")
    with pytest.raises(StateRestoreError, match=r"evolving_shop\.\w+ cannot be found.*penstock\.renamed-classes"):
        left(run_of(classes, backend, path))


@BOTH_BACKENDS
@pytest.mark.parametrize("how", RENAMED)
def test_a_savepoint_is_given_the_new_names(shop: Any, backend: str, how: str, tmp_path: Path) -> None:
    path = stored(run_of(shop(FIRST), backend), "savepoint", tmp_path)
    renamed = dict(pair.strip().split(":") for pair in RENAMED[how].split(","))
    shop.forget()  # nobody imports the classes for it
    newer = rename_classes(path, tmp_path / "renamed", renamed)
    classes = renamed_shop(lambda *args: shop(*args), how) if how == "class by class" else shop(FIRST, "moved_shop")
    assert left(run_of(classes, backend, newer))[-1] == ("ann", {"count": 3, "weight": 0})
    content = b"".join(file.read_bytes() for file in Path(newer).iterdir())
    for old in renamed:
        assert old.encode() not in content


def test_the_terminal_gives_new_names(shop: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored(run_of(shop(FIRST), "heap"), "savepoint", tmp_path)
    assert main(["rename", path, str(tmp_path / "renamed"), "evolving_shop=moved_shop"]) == 0
    newer = capsys.readouterr().out.strip()
    shop.forget()
    assert left(run_of(shop(FIRST, "moved_shop"), "heap", newer))[-1] == ("ann", {"count": 3, "weight": 0})
    assert {each.operator for each in Savepoint.load(newer).operators()} >= {"names", "seen", "totals"}


def test_names_that_are_no_pairs_are_refused(shop: Any) -> None:
    with pytest.raises(ProgramError, match="write old:new pairs separated by commas"):
        run_of(shop(FIRST), "heap", renamed_classes="evolving_shop")

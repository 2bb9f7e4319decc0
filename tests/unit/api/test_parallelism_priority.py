"""Where the parallelism of a step comes from (PAR-05)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Configuration, ProgramError, StreamExecutionEnvironment
from penstock.api.launch import CONFIGURATION_DIRECTORY, launch_configuration, set_command_line_configuration
from penstock.testing import build_job


@pytest.fixture
def configuration_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CONFIGURATION_DIRECTORY, str(tmp_path))
    return tmp_path / "penstock-conf.yaml"


@pytest.fixture(autouse=True)
def _no_command_line() -> Iterator[None]:
    yield
    set_command_line_configuration(Configuration())


def parallelisms(env: StreamExecutionEnvironment) -> dict[str, int]:
    env.from_sequence(1, 3).name("source").map(str).name("own").set_parallelism(2).map(str).name("other")
    return {vertex.name: vertex.parallelism for vertex in build_job(env).plan.vertices.values()}


def test_w_83_priority(configuration_file: Path) -> None:
    configuration_file.write_text("parallelism.default: 1\n", encoding="utf-8")
    set_command_line_configuration(Configuration.from_dict({"parallelism.default": 16}))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(4)
    assert parallelisms(env) == {"source": 4, "own": 2, "other": 4}


def test_w_83_without_the_environments_own(configuration_file: Path) -> None:
    configuration_file.write_text("parallelism.default: 1\n", encoding="utf-8")
    set_command_line_configuration(Configuration.from_dict({"parallelism.default": 16}))
    assert parallelisms(StreamExecutionEnvironment.get_execution_environment()) == {"source": 16, "own": 2, "other": 16}


def test_the_file_alone(configuration_file: Path) -> None:
    configuration_file.write_text("parallelism:\n  default: 3\n", encoding="utf-8")
    assert parallelisms(StreamExecutionEnvironment.get_execution_environment()) == {"source": 3, "own": 2, "other": 3}


def test_nothing_set_takes_the_number_of_cores(configuration_file: Path) -> None:
    assert not configuration_file.exists()
    assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == os.cpu_count()


def test_a_given_configuration_is_part_of_the_program(configuration_file: Path) -> None:
    configuration_file.write_text("parallelism.default: 1\n", encoding="utf-8")
    set_command_line_configuration(Configuration.from_dict({"parallelism.default": 16}))
    given = Configuration.from_dict({"parallelism.default": 5})
    assert StreamExecutionEnvironment.get_execution_environment(given).get_parallelism() == 5


def test_the_execution_config_and_the_environment_are_one(configuration_file: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_config().set_parallelism(7).set_max_parallelism(99)
    assert env.get_parallelism() == 7
    assert env.get_max_parallelism() == 99
    assert parallelisms(env) == {"source": 7, "own": 2, "other": 7}


def test_max_parallelism_comes_from_the_configuration_too() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"pipeline.max-parallelism": 64}))
    assert env.get_max_parallelism() == 64


def test_the_default_local_parallelism_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.api.environment_settings.EnvironmentSettings._default_local_parallelism", None)
    StreamExecutionEnvironment.set_default_local_parallelism(3)
    assert StreamExecutionEnvironment(Configuration()).get_parallelism() == 3


@pytest.mark.parametrize("content", ["- 1\n- 2\n", "a: [1\n"])
def test_a_file_that_is_no_mapping_is_refused_by_name(configuration_file: Path, content: str) -> None:
    configuration_file.write_text(content, encoding="utf-8")
    with pytest.raises(ProgramError, match=r"penstock-conf\.yaml"):
        launch_configuration()


def test_keys_without_a_value_are_left_out(configuration_file: Path) -> None:
    configuration_file.write_text("parallelism.default:\npipeline.name: hello\n", encoding="utf-8")
    assert launch_configuration().to_dict() == {"pipeline.name": "hello"}


@pytest.mark.parametrize("parallelism", [0, -1, 1.5, "2", True, None])
def test_no_number_of_subtasks_is_refused(parallelism: object) -> None:
    env = StreamExecutionEnvironment(Configuration())
    with pytest.raises(ProgramError, match=r"(?s)at least 1.*test_parallelism_priority\.py:\d+"):
        env.set_parallelism(parallelism)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"(?s)at least 1.*test_parallelism_priority\.py:\d+"):
        env.from_sequence(1, 2).set_parallelism(parallelism)  # type: ignore[arg-type]


def test_a_step_keeps_the_parallelism_the_environment_had_when_it_was_added() -> None:
    env = StreamExecutionEnvironment(Configuration()).set_parallelism(2)
    source = env.from_sequence(1, 3).name("source")
    env.set_parallelism(4)
    source.map(str).name("later").map(str).name("own").set_parallelism(3)
    env.set_parallelism(1)
    vertices = env._build_job(None).plan.vertices.values()
    assert {vertex.name: vertex.parallelism for vertex in vertices} == {"source": 2, "later": 4, "own": 3}

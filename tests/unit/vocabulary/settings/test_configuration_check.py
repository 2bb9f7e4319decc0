"""Keys that do nothing are told, settings that cannot be had are refused, the program's own keys are let alone."""

from __future__ import annotations

import logging

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.configuration_check import check_configuration
from penstock.vocabulary.settings.known_options import KNOWN_OPTIONS
from penstock.vocabulary.settings.refused_options import FOREIGN_PREFIXES, REFUSED_OPTIONS


def told(caplog: pytest.LogCaptureFixture, *keys: str) -> list[str]:
    with caplog.at_level(logging.WARNING, "penstock.configuration"):
        check_configuration(Configuration.from_dict(dict.fromkeys(keys, "1")))
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("state.backend.rocksdb.block.cachesize", "state.backend.rocksdb.block.cache-size"),
        ("paralellism.default", "parallelism.default"),
        ("pipline.name", "pipeline.name"),
        ("penstock.guarantees", "penstock.guarantee"),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_one(caplog, key, nearest):
    (message,) = told(caplog, key)
    assert repr(key) in message
    assert repr(nearest) in message


def test_an_unknown_key_that_is_nearly_one_that_cannot_be_had_is_told_with_the_reason(caplog):
    (message,) = told(caplog, "state.backend.rocksdb.memory.manged")
    assert "Is 'state.backend.rocksdb.memory.managed' meant? It cannot be had: Spark gives" in message


def test_an_unknown_key_of_flinks_family_without_a_near_one_is_told(caplog):
    (message,) = told(caplog, "state.zzz")
    assert "'state.zzz', which does nothing" in message


@pytest.mark.parametrize("key", ["fetch.retries", "mycompany.kafka.topic", "threshold", "spark.executor.memory"])
def test_keys_of_the_program_and_of_spark_are_let_alone(caplog, key):
    assert told(caplog, key) == []


def test_known_keys_and_their_older_names_are_let_alone(caplog):
    keys = [key for option in KNOWN_OPTIONS.values() for key in (option.key, *option.older)]
    assert told(caplog, *keys, "pipeline.global-job-parameters.mine") == []


def test_keys_for_flinks_processes_are_told_once_per_reason(caplog):
    (message,) = told(caplog, "jobmanager.rpc.address", "taskmanager.numberOfTaskSlots")
    assert message.startswith("No effect: jobmanager.rpc.address, taskmanager.numberOfTaskSlots (it sets up")


@pytest.mark.parametrize("key", REFUSED_OPTIONS)
def test_what_cannot_be_had_is_refused_with_the_reason(key):
    option = REFUSED_OPTIONS[key]
    with pytest.raises(ProgramError) as refused:
        check_configuration(Configuration.from_dict({key: "something"}))
    assert key in str(refused.value)
    assert option.reason in str(refused.value)
    for value in option.fine:
        check_configuration(Configuration.from_dict({key: value.upper()}))


def test_the_tables_do_not_overlap():
    known = {key for option in KNOWN_OPTIONS.values() for key in (option.key, *option.older)}
    assert known & REFUSED_OPTIONS.keys() == set()


def test_known_keys_have_an_effect_also_where_most_of_their_family_has_none(caplog):
    in_foreign_families = [key for key in KNOWN_OPTIONS if key.startswith(tuple(FOREIGN_PREFIXES))]
    assert "rest.port" in in_foreign_families
    assert told(caplog, *in_foreign_families) == []
    (message,) = told(caplog, "rest.client.max-content-length")
    assert message.startswith("No effect: rest.client.max-content-length")

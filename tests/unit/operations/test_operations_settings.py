"""The settings that say where jobs are registered and served; all of them are read."""

from __future__ import annotations

import pytest

from penstock.errors import ProgramError
from penstock.operations.settings import OPTIONS, OperationsSettings
from penstock.vocabulary.settings.known_options import KNOWN_OPTIONS

EXAMPLES = {
    "penstock.registry.dir": "/r",
    "penstock.registry.retention": "7 s",
    "penstock.rest.certificate": "/c.pem",
    "penstock.rest.enabled": "false",
    "penstock.rest.key": "/k.pem",
    "penstock.rest.savepoint-directories": "/a;/b",
    "rest.address": "driver.example",
    "rest.bind-address": "0.0.0.0",
    "rest.bind-port": "50100-50200",
    "rest.port": "9000",
    "web.checkpoints.history": "7",
    "web.exception-history-size": "7",
    "web.refresh-interval": "7 s",
}


def test_every_option_is_known_and_changes_the_settings() -> None:
    assert set(OPTIONS) == set(EXAMPLES)
    assert set(OPTIONS) <= KNOWN_OPTIONS.keys()
    tls = {"penstock.rest.certificate": "/x", "penstock.rest.key": "/x"}
    for key, value in EXAMPLES.items():
        others = tls if key in tls else {}
        assert OperationsSettings.of({**others, key: value}) != OperationsSettings.of(others), key


def test_by_default_only_this_machine_is_served_at_8081_or_the_next_free_port() -> None:
    settings = OperationsSettings.of({})
    assert (settings.bind_address, settings.address) == ("localhost", "localhost")
    assert list(settings.all_ports)[:3] == [8081, 8082, 8083]


def test_ports_are_a_list_of_ports_and_ranges() -> None:
    assert list(OperationsSettings.of({"rest.bind-port": "5, 7-9"}).all_ports) == [5, 7, 8, 9]


@pytest.mark.parametrize(
    "options",
    [{"rest.bind-port": "x"}, {"rest.bind-port": "9-7"}, {"rest.bind-port": "70000"}, {"penstock.rest.key": "/k"}],
)
def test_what_cannot_be_used_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ProgramError):
        OperationsSettings.of(options)

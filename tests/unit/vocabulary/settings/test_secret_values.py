"""Secrets are not shown by what describes settings."""

from __future__ import annotations

import re

import pytest

from penstock.common import Configuration
from penstock.execution.spark.internals.gateway import on_command_line
from penstock.graph.settings import JobSettings
from penstock.vocabulary.settings.secret_values import SECRET_NAMES, hide_password, is_secret


@pytest.mark.parametrize(
    "key",
    [
        "security.ssl.internal.keystore-password",
        "s3.secret-key",
        "s3.access-key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.authenticate.secret",
        "fs.azure.account.key.store.blob.core.windows.net",
        "some.api-key",
        "Some.PASSWORD",
        "sasl.jaas.config",
    ],
)
def test_secrets_are_known_by_their_names(key: str) -> None:
    assert is_secret(key)
    assert re.search(SECRET_NAMES, key), "Spark hides on its page what this matches"


def test_other_settings_are_shown() -> None:
    assert not any(map(is_secret, ("parallelism.default", "spark.master", "state.backend.type")))


def test_a_configuration_does_not_show_its_secrets() -> None:
    configuration = Configuration.from_dict(
        {"db.password": "hunter2", "parallelism.default": 4, "db.url": "a://u:hunter2@h"}
    )
    for shown in (repr(configuration), str(configuration)):
        assert "hunter2" not in shown
        assert "'parallelism.default': '4'" in shown
    assert configuration.to_dict()["db.password"] == "hunter2"


def test_a_secret_that_cannot_be_read_is_not_quoted() -> None:
    configuration = Configuration.from_dict({"db.password": "hunter2"})
    with pytest.raises(ValueError, match=r"'db.password'") as raised:
        configuration.get_integer("db.password", 0)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_the_settings_of_a_job_do_not_show_its_options() -> None:
    assert "hunter2" not in repr(JobSettings(options={"db.password": "hunter2"}))


def test_secrets_are_not_passed_on_the_command_line_of_the_jvm() -> None:
    settings = {"spark.master": "local[2]", "spark.hadoop.fs.s3a.secret.key": "hunter2"}
    assert on_command_line(settings) == [("spark.master", "local[2]")]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mysql://u:p@h/d", "mysql://u:******@h/d"),
        ("jdbc:mysql://u:p@h/d", "jdbc:mysql://u:******@h/d"),
        ("mysql://u:a#b@h/d", "mysql://u:******@h/d"),
        ("mysql://u:a/b@h/d", "mysql://u:******@h/d"),
        ("mysql://u:a?b@h/d", "mysql://u:******@h/d"),
        ("mysql://u:a@b@h/d", "mysql://u:******@h/d"),
        ("redis://:p@h:1/0", "redis://:******@h:1/0"),
        ("mysql://h/d?user=u&password=p&retries=3", "mysql://h/d?user=u&password=******&retries=3"),
        ("mysql://h:3306/d?retries=3", "mysql://h:3306/d?retries=3"),
        ("no address", "no address"),
    ],
)
def test_the_password_of_an_address_is_hidden(address: str, shown: str) -> None:
    assert hide_password(address) == shown

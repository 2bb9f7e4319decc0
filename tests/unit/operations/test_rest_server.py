"""The driver's web server over HTTP: the token, pages of other sites, sizes, and whatever fuzzers send."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.operations.access_token import AccessToken, read_token
from penstock.operations.rest.routes import ROUTES
from penstock.operations.rest.server import RestServer, is_web_installed
from penstock.operations.rest_client import RefusedError, RestClient, UnreachableError
from penstock.operations.settings import OperationsSettings
from tests.unit.operations.served import Served

pytestmark = pytest.mark.skipif(not is_web_installed(), reason="needs penstock[web]")


class Serving:
    def __init__(self, served: Served, server: RestServer, token: str) -> None:
        self.served = served
        self.server = server
        self.token = token
        self.port = int(server.address.rpartition(":")[2])

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("localhost", self.port, timeout=20)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body)
            connection.request(method, path, data, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        token = AccessToken()
        file = token.store()
    served = Served()
    server = RestServer(served.jobs, token, OperationsSettings.of({"rest.port": "0"}), "1")
    yield Serving(served, server, read_token(str(file)))
    server.close()
    token.remove()
    assert not file.exists()


def test_flinks_paths_answer_with_and_without_their_version(serving: Serving) -> None:
    for prefix in ("", "/v1"):
        status, found = serving.send("GET", f"{prefix}/jobs")
        assert (status, found["jobs"][0]["id"]) == (200, serving.served.job.id)
    assert serving.send("GET", "/openapi.json")[1]["openapi"] == "3.1.0"


def test_the_token_file_is_for_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = AccessToken().store()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_nothing_changes_without_the_token(serving: Serving) -> None:
    path = f"/jobs/{serving.served.job.id}"
    before = list(serving.served.control.calls)
    for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": serving.token}, {"Authorization": "Bearer"}):
        assert serving.send("PATCH", f"{path}?mode=cancel", **header)[0] == 401
        assert serving.send("POST", f"{path}/savepoints", {}, **header)[0] == 401
    assert serving.served.control.calls == before
    assert serving.send("POST", f"{path}/savepoints", {}, Authorization=f"Bearer {serving.token}")[0] == 202
    assert serving.served.control.calls == [*before, ("savepoint", None)]


def test_pages_of_other_sites_get_nothing(serving: Serving) -> None:
    own = f"localhost:{serving.port}"
    assert serving.send("GET", "/jobs", Origin=f"http://{own}")[0] == 200
    assert serving.send("GET", "/jobs", Origin="http://evil.example")[0] == 403
    assert serving.send("GET", "/jobs", Host="evil.example")[0] == 421
    assert serving.send("GET", "/jobs", Host=f"127.0.0.1:{serving.port}")[0] == 200


def test_answers_cannot_be_framed_kept_or_taken_for_something_else(serving: Serving) -> None:
    connection = http.client.HTTPConnection("localhost", serving.port, timeout=20)
    connection.request("GET", "/config")
    response = connection.getresponse()
    response.read()
    connection.close()
    found = {name.lower(): value for name, value in response.getheaders()}
    assert (found["x-content-type-options"], found["x-frame-options"], found["cache-control"]) == (
        "nosniff", "DENY", "no-store"
    )  # fmt: skip


def test_too_much_is_refused(serving: Serving) -> None:
    path = f"/jobs/{serving.served.job.id}/savepoints"
    token = {"Authorization": f"Bearer {serving.token}"}
    assert serving.send("POST", path, b"x" * 70_000, **token)[0] == 413
    assert serving.send("POST", path, b"[" * 60_000, **token)[0] == 400


def test_whatever_is_sent_is_refused_and_never_fails(serving: Serving) -> None:
    chance = random.Random(7)
    parts = [
        "..",
        "%2e%2e",
        "\u00e4".encode().hex(),
        "0" * 32,
        "-1",
        "9" * 30,
        "%00",
        "a;b",
        "*",
        serving.served.job.id,
    ]
    bodies = [b"", b"{", b"null", b"[]", b'"x"', b'{"triggerId": {}}', b'{"target-directory": "\\u0000"}', b"\xff"]
    for route in ROUTES:
        for _ in range(50):
            path = "/".join(chance.choice(parts) if part.startswith("{") else part for part in route.path.split("/"))
            query = chance.choice(["", "?maxExceptions=x", "?mode=stop", "?a=%ff&b", "?get="])
            header = chance.choice([{}, {"Authorization": f"Bearer {serving.token}"}])
            body = None if route.method == "GET" else chance.choice(bodies)
            status, _answer = serving.send(route.method, path + query, body, **header)
            assert status < 500, (route.method, path, query, body)


def test_the_client_says_what_was_refused_and_that_nobody_is_there(serving: Serving) -> None:
    client = RestClient(serving.server.address, serving.token)
    assert client.get("/jobs")["jobs"]
    with pytest.raises(RefusedError, match="no job"):
        client.get("/jobs/x")
    with pytest.raises(UnreachableError, match="does not answer"):
        RestClient("http://localhost:1").get("/jobs")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_with_a_certificate_it_is_tls_and_clients_trust_that_certificate_only(serving: Serving, tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*make, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    options = {"rest.port": "0", "penstock.rest.certificate": str(certificate), "penstock.rest.key": str(key)}
    server = RestServer(serving.served.jobs, AccessToken(), OperationsSettings.of(options), "1")
    try:
        assert server.address.startswith("https://")
        assert RestClient(server.address, certificate=str(certificate)).get("/jobs")["jobs"]
        with pytest.raises(UnreachableError, match="certificate"):
            RestClient(server.address).get("/jobs")
    finally:
        server.close()


def test_the_next_free_port_is_taken(serving: Serving) -> None:
    settings = OperationsSettings.of({"rest.bind-port": f"{serving.port},0"})
    other = RestServer(serving.served.jobs, AccessToken(), settings, "1")
    assert other.address != serving.server.address
    other.close()
    with pytest.raises(OSError, match=r"rest\.bind-port"):
        RestServer(
            serving.served.jobs, AccessToken(), OperationsSettings.of({"rest.bind-port": str(serving.port)}), "1"
        )

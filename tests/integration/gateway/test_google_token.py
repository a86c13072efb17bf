"""Google's own pushes: taken with the token that Google signs for the subscription, and with no other."""

from __future__ import annotations

import base64
import hmac
import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from colleague.gateway.limits import Limits
from tests.integration.gateway.harness import HOOK_BEARER, House, Running
from tests.integration.gateway.test_resolve import push

AUDIENCE, ACCOUNT = "https://colleague.example.com/hooks/gmail", "push@project.iam.gserviceaccount.com"
PATIENT = Limits(failed_tries=1000, drain_seconds=2)
OURS, THEIRS = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


class Keys(BaseHTTPRequestHandler):
    """The public half of `OURS`, as Google publishes its own."""

    def do_GET(self) -> None:
        published: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OURS.public_key()))
        known = json.dumps({"keys": [published | {"kid": "one", "use": "sig", "alg": "RS256"}]}).encode()
        body = {"/certs": known, "/none": b'{"keys": []}'}.get(self.path, b"<html>Log in first</html>")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def keys_url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Keys)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/certs"
    server.shutdown()
    thread.join()
    server.server_close()


def subscribed(root: Path, keys_url: str) -> House:
    house = House(root).furnish()
    pubsub = {"audience": AUDIENCE, "serviceAccount": ACCOUNT, "keysUrl": keys_url}
    house.configure(hooks={"token": "${HOOK_TOKEN}", "pubsub": pubsub})
    return house


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, keys_url: str) -> Iterator[Running]:
    with subscribed(tmp_path_factory.mktemp("google") / "home", keys_url).open(PATIENT) as running:
        yield running


def token(key: Any = OURS, algorithm: str = "RS256", **claims: Any) -> str:
    now = int(time.time())
    usual = {"iss": "https://accounts.google.com", "aud": AUDIENCE, "email": ACCOUNT, "email_verified": True}
    body = usual | {"iat": now, "exp": now + 3600} | claims
    given = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(given, key, algorithm=algorithm, headers={"kid": "one"})


def send(gateway: Running, bearer: str, number: int = 1) -> Any:
    headers = {"Authorization": f"Bearer {bearer}"}
    return gateway.client.post("/hooks/gmail", json=push(number), headers=headers)


def test_googles_word_is_taken_and_a_repeat_known(gateway: Running) -> None:
    first = send(gateway, token(), 7)
    assert first.status_code == 202, first.text
    again = send(gateway, token(), 7)
    assert (again.status_code, again.json()["events"][0]["duplicate"]) == (200, True)


def test_the_secret_of_all_hooks_still_opens(gateway: Running) -> None:
    assert gateway.client.post("/hooks/gmail", json=push(8), headers=HOOK_BEARER).status_code == 202


def confused() -> str:
    """Signed with what everybody knows, for a reader who lets the token say how it was signed."""
    how = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').decode().rstrip("=")
    signed = f"{head}.{token().split('.')[1]}"
    made = hmac.digest(OURS.public_key().public_bytes(*how), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(made).decode().rstrip('=')}"


NOW = int(time.time())
FORGED = {
    "for another audience": token(aud="https://elsewhere.example.com"),
    "for several, not us": token(aud=["a", "b"]),
    "of another account": token(email="somebody@else.iam.gserviceaccount.com"),
    "of nobody": token(email=None),
    "not verified": token(email_verified=False),
    "verified in words": token(email_verified="true"),
    "of another issuer": token(iss="https://accounts.example.com"),
    "expired": token(exp=NOW - 3600, iat=NOW - 7200),
    "without an end": token(exp=None),
    "without a beginning": token(iat=None),
    "from tomorrow": token(iat=NOW + 86_400, exp=NOW + 90_000),
    "an end in words": token(exp="9999999999999"),
    "by another key": token(THEIRS),
    "by our public key": confused(),
    "by nobody": token(None, "none"),
    "a byte changed": token()[:-10] + ("A" if token()[-10] != "A" else "B") + token()[-9:],
    "no token at all": "a.b.c",
}


@pytest.mark.parametrize("why", FORGED)
def test_no_other_word_is_taken(gateway: Running, why: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = send(gateway, FORGED[why])
    assert answer.status_code == 401, answer.text
    assert FORGED[why] not in answer.text + caplog.text


@pytest.mark.parametrize("page", ["http://127.0.0.1:9/certs", "/none", "/login"])
def test_without_the_keys_nobody_can_tell_and_it_is_sent_again(
    tmp_path: Path, keys_url: str, page: str
) -> None:
    with subscribed(tmp_path / "home", urljoin(keys_url, page)).open() as gateway:
        answer = send(gateway, token())
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "keys-unreachable")


def test_where_nothing_is_said_of_google_its_word_counts_nothing(house: House) -> None:
    with house.open() as gateway:
        assert send(gateway, token()).status_code == 401

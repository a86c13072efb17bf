"""Tokens: how they are sent, and how one that has run out is replaced."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from colleague.agent.models.connections import Connections
from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.oauth import TokenKeeper
from colleague.agent.models.resolved import Api, Key, TokenRefresh
from colleague.agent.models.think import think
from tests.integration.models.asking import HELLO, at, with_server
from tests.integration.models.server import Page, WireServer
from tests.integration.models.test_failover import SAID

ACCESS, FRESH = "-".join(("access", "old", "0123456789")), "-".join(("access", "new", "0123456789"))


@pytest.mark.parametrize("api", SAID)
def test_a_token_is_sent_as_a_bearer(api: Api) -> None:
    async def run(server: WireServer) -> dict[str, str]:
        await think(at(server, api, key=Key(ACCESS, "x", "p", bearer=True)), HELLO)
        return server.requests[0].headers

    headers = with_server(run, SAID[api])
    assert headers["authorization"] == f"Bearer {ACCESS}"
    assert "x-api-key" not in headers


def expired(refresh: TokenRefresh | None) -> Key:
    return Key(ACCESS, "the file", "lab:me", bearer=True, expires_at=1000, refresh=refresh)


def test_one_that_has_run_out_is_replaced_once_and_kept(tmp_path: Path) -> None:
    answer = Page(200, {"access_token": FRESH, "refresh_token": "r-2", "expires_in": 3600})
    folder = tmp_path / "oauth"

    async def run(server: WireServer) -> None:
        model = at(server, key=expired(TokenRefresh(f"{server.url}/token", "r-1", "client")))
        for _ in range(2):
            async with Connections(TokenKeeper(folder)) as connections:
                await think(model, HELLO, connections=connections)
        paths = [each.path for each in server.requests]
        assert paths == ["/token", "/v1/chat/completions", "/v1/chat/completions"]
        assert {each.headers["authorization"] for each in server.requests[1:]} == {f"Bearer {FRESH}"}

    with_server(run, answer, SAID["openai-completions"])
    [file] = folder.glob("*.json")
    kept = json.loads(file.read_text())
    assert (kept["refresh"], file.stat().st_mode & 0o777) == ("r-2", 0o600)
    assert kept["expires_at"] > time.time() * 1000


@pytest.mark.parametrize("renews", [True, False])
def test_one_that_cannot_be_replaced_is_a_failure_of_the_key(tmp_path: Path, renews: bool) -> None:
    async def run(server: WireServer) -> ModelFailure:
        refresh = TokenRefresh(f"{server.url}/token", "refresh-secret", "client") if renews else None
        async with Connections(TokenKeeper(tmp_path)) as connections:
            with pytest.raises(ModelFailure) as caught:
                await think(at(server, key=expired(refresh)), HELLO, connections=connections)
        return caught.value

    failure = with_server(run, Page(400, {"error": "invalid_grant"}))
    assert failure.reason == "auth"
    assert "lab:me" in failure.message
    assert "refresh-secret" not in failure.message + failure.hint

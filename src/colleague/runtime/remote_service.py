"""Asking a running gateway to do something, from another process on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from colleague.agent.main_agent import SESSION as MAIN_SESSION
from colleague.config import Settings, resolve
from colleague.errors import ColleagueError, NotFound
from colleague.home import Home
from colleague.runtime.gateway_file import read_gateway_file
from colleague.runtime.own_token import read_own_token
from colleague.runtime.service import Source, Verdict
from colleague.store.accept import Accepted
from colleague.store.run import DryRun

SECONDS = 30.0


class GatewayUnreachable(ColleagueError):
    """The gateway holds this home and does not answer."""

    exit_code = 3


@dataclass(frozen=True)
class RemoteService:
    """Does what Operator does, through the gateway that holds the home."""

    url: str
    token: str = field(default="", repr=False)

    @classmethod
    def of(cls, home: Home, settings: Settings, environ: Mapping[str, str] = os.environ) -> RemoteService:
        found = read_gateway_file(home)
        if found is None:
            raise GatewayUnreachable(
                f"another process works on {home.root}, and no gateway says where it listens",
                hint="wait until it is done, or end it",
            )
        auth = settings.gateway.auth
        given = resolve(auth.token, environ, key="gateway.auth.token") if auth.token is not None else ""
        return cls(found.url, given or read_own_token(home))

    async def decide(self, verdicts: Sequence[Verdict]) -> list[str]:
        """The runs that were decided about. Raises on the first that does not count."""
        body = {"decisions": [_decision(verdict) for verdict in verdicts]}
        answers = (await self._ask("POST", "/api/approvals", body))["decisions"]
        for answer in answers:
            if not answer["ok"]:
                raise ColleagueError(answer["error"]["message"], hint=answer["error"].get("hint", ""))
        return [answer["approval"]["run_id"] for answer in answers]

    async def start(
        self,
        expert: str,
        *,
        task: str = "",
        process: str = "",
        inputs: dict[str, Any] | None = None,
        model: str = "",
        dry_run: DryRun = False,
        source: Source = "command",  # noqa: ARG002 - the gateway says where it comes from
    ) -> Accepted:
        body = {"task": task, "process": process, "inputs": inputs or {}, "model": model, "dry_run": dry_run}
        given = {key: value for key, value in body.items() if value}
        return _accepted(await self._ask("POST", f"/api/experts/{quote(expert)}/runs", given))

    async def say(self, message: str, *, model: str = "") -> Accepted:
        body = {"text": message} | ({"model": model} if model else {})
        return _accepted(await self._ask("POST", f"/api/sessions/{quote(MAIN_SESSION)}/messages", body))

    async def restore(self, expert: str, file: str, version: int) -> dict[str, Any]:
        body = {"file": file, "version": version}
        answer: dict[str, Any] = await self._ask("POST", f"/api/experts/{quote(expert)}/state", body)
        return answer

    async def fire(self, expert: str, trigger: str, payload: Any) -> Accepted:
        return _accepted(await self._ask("POST", f"{_trigger(expert, trigger)}/fire", {"payload": payload}))

    async def pause(self, expert: str, trigger: str, by: str) -> bool:  # noqa: ARG002 - the API says who
        return bool((await self._ask("POST", f"{_trigger(expert, trigger)}/pause"))["changed"])

    async def resume(self, expert: str, trigger: str) -> int | None:
        answer = await self._ask("POST", f"{_trigger(expert, trigger)}/resume")
        return int(answer["released"]) if answer["changed"] else None

    async def cancel(self, run: str, reason: str) -> bool:
        answer = await self._ask("POST", f"/api/runs/{quote(run)}/cancel", {"note": reason})
        return bool(answer["cancelled"])

    async def retry(self, run: str, changes: dict[str, Any] | None = None) -> str:
        answer = await self._ask("POST", f"/api/runs/{quote(run)}/retry", {"inputs": changes or {}})
        return str(answer["run_id"])

    async def drop(self, run: str, by: str) -> None:  # noqa: ARG002 - the API says who
        await self._ask("POST", f"/api/deadletters/{quote(run)}/drop")

    async def read(self, delivery: str, by: str) -> bool:
        answer = await self._ask("POST", f"/api/deliveries/{quote(delivery)}/read", {"by": by})
        return bool(answer["changed"])

    async def accept_server(self, name: str, digest: str, by: str) -> None:
        await self._ask("POST", f"/api/servers/{quote(name)}/accept", {"digest": digest, "by": by})

    async def revoke(self, grant: str) -> None:
        await self._ask("DELETE", f"/api/grants/{quote(grant)}")

    async def problems(self) -> list[str]:
        """What a person should look at, in sentences."""
        return [str(each) for each in (await self._ask("GET", "/api/status"))["problems"]]

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return await asyncio.to_thread(self._send, method, path, body)

    def _send(self, method: str, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        # The address comes from our own file in the home, which only this user can write.
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=SECONDS) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise _refused(error) from None
        except (OSError, urllib.error.URLError) as error:
            raise GatewayUnreachable(
                f"the gateway at {self.url} does not answer: {getattr(error, 'reason', error)}",
                hint="look at its log, or start it again with: colleague serve",
            ) from None
        return json.loads(text) if text else {}


def _trigger(expert: str, trigger: str) -> str:
    return f"/api/triggers/{quote(expert)}/{quote(trigger)}"


def _accepted(answer: dict[str, Any]) -> Accepted:
    return Accepted(str(answer["event_id"]), answer.get("run_id"), bool(answer.get("duplicate")))


def _decision(verdict: Verdict) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": verdict.approval,
        "decision": verdict.decision,
        "digest": verdict.digest,
        "note": verdict.note,
        "by": verdict.by,
    }
    if verdict.answer is not None:
        name = "arguments" if verdict.decision == "approve" else "result"
        body[name] = json.loads(verdict.answer)
    if verdict.grant_ms is not None:
        body["grant_ms"] = verdict.grant_ms
    if verdict.grant_only:
        body["grant_only"] = list(verdict.grant_only)
    return body


def _refused(error: urllib.error.HTTPError) -> ColleagueError:
    try:
        told = json.loads(error.read())["error"]
        message, hint = str(told["message"]), str(told.get("hint", ""))
    except (ValueError, KeyError, TypeError, OSError):
        message, hint = f"the gateway answered {error.code}", ""
    if error.code in (401, 403):
        return GatewayUnreachable(
            f"the gateway refuses this command: {message}",
            hint="the token is gateway.auth.token; set its variable in this shell, too",
        )
    return NotFound(message, hint=hint) if error.code == 404 else ColleagueError(message, hint=hint)

"""The service of a gateway that holds the home, asked from another process on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

from colleague.errors import (
    UNSET_CURE,
    ColleagueError,
    ConfigError,
    DatabaseUnavailable,
    GatewayUnreachable,
    HomeBusy,
    NotFound,
    PackageError,
    UsageError,
)
from colleague.home import Home
from colleague.main_names import MAIN_SESSION
from colleague.person_document import ApprovalLink
from colleague.run_document import ApprovalDocument, RunDocument, RunHeading
from colleague.run_event import RunEvent
from colleague.runtime.gateway_file import GatewayFile, running_gateway
from colleague.runtime.http_connection import ConnectionLost, HttpAddress, HttpRefused
from colleague.runtime.own_token import read_own_token
from colleague.runtime.remote_admin import RemoteAdmin
from colleague.runtime.remote_experts import RemoteExperts
from colleague.runtime.requests import (
    MOST_PENDING,
    AcceptedEvent,
    DecisionAnswer,
    DecisionRequest,
    ForkRequest,
    GivenGrant,
    MessageRequest,
    Refusal,
    RunRequest,
    SentMessage,
    require_message,
    require_work,
)
from colleague.session_document import (
    ArchiveDocument,
    HitDocument,
    ItemDocument,
    PromptDocument,
    PromptMode,
    SessionDocument,
    StoppedDocument,
)
from colleague.session_event import STORED, SessionEvent
from colleague.tool_document import ToolDocument
from colleague.user_name import user_name

if TYPE_CHECKING:
    from colleague.agent.models.profile_report import ProfileDocument

SECONDS = 30.0
SILENCE_SECONDS = 60.0
"""A stream says something more often than that, even if only that it is still there."""
BACK_SECONDS = 10.0
"""How long a gateway that went away is waited for."""
MOST_AT_ONCE = 200
WHOLE_ID = 36

_ERRORS = {kind.code: kind for kind in (NotFound, UsageError, PackageError, ConfigError, HomeBusy)}


@dataclass
class RemoteService(RemoteAdmin, RemoteExperts):
    """Asks over HTTP. The gateway may be another one, on another port, from one request to the next."""

    home: Home
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _address: HttpAddress | None = None

    async def decide(self, requests: Sequence[DecisionRequest]) -> list[DecisionAnswer]:
        answers: list[DecisionAnswer] = []
        for start in range(0, len(requests), MOST_AT_ONCE):
            answers += await self._decide(requests[start : start + MOST_AT_ONCE])
        return answers

    async def _decide(self, requests: Sequence[DecisionRequest]) -> list[DecisionAnswer]:
        found = [await self._seen(request) for request in requests]
        sent = [each for each in found if isinstance(each, dict)]
        told = (await self._ask("POST", "/api/approvals", {"decisions": sent}))["decisions"] if sent else []
        answered = iter(told)
        return [
            _decision_answer(request.approval, next(answered)) if isinstance(each, dict) else each
            for request, each in zip(requests, found, strict=True)
        ]

    async def _seen(self, request: DecisionRequest) -> dict[str, Any] | DecisionAnswer:
        """The decision as it is sent, with the digest that is stored now if none is given."""
        try:
            digest = request.digest or (await self.approval(request.approval))["digest"]
        except (NotFound, UsageError) as error:
            return DecisionAnswer(request.approval, refusal=Refusal(error.code, error.message, error.hint))
        return _decision(request, digest)

    async def start(self, asked: RunRequest) -> AcceptedEvent:
        require_work(asked)
        wanted = {
            "task": asked.task,
            "process": asked.process,
            "inputs": asked.inputs,
            "model": asked.model,
            "dry_run": asked.dry_run,
        }
        given = {key: value for key, value in wanted.items() if value}
        return _accepted(await self._ask("POST", f"/api/experts/{_path(asked.expert)}/runs", given))

    async def say(self, message: str, *, model: str = "") -> AcceptedEvent:
        sent = await self.send(MAIN_SESSION, MessageRequest(message, model=model))
        return AcceptedEvent(sent.event_id, sent.run_id, sent.duplicate)

    async def send(self, session: str, message: MessageRequest) -> SentMessage:
        require_message(message.text)
        given = {name: value for name, value in asdict(message).items() if value}
        said = await self._ask("POST", f"{_session(session)}/messages", given)
        return SentMessage(**{**said, "problems": tuple(said["problems"])})

    async def sessions(self, *, limit: int = 200, after: str | None = None) -> list[SessionDocument]:
        found: list[SessionDocument] = await self._ask(
            "GET", "/api/sessions" + _query(limit=limit, after=after)
        )
        return found

    async def session(self, session: str) -> SessionDocument:
        document: SessionDocument = await self._ask("GET", _session(session))
        return document

    async def prompt(self, session: str, mode: PromptMode | None = None) -> PromptDocument:
        document: PromptDocument = await self._ask("GET", f"{_session(session)}/prompt{_query(mode=mode)}")
        return document

    async def tools(self, session: str) -> list[ToolDocument]:
        found: list[ToolDocument] = await self._ask("GET", f"{_session(session)}/tools")
        return found

    async def tool(self, session: str, name: str) -> ToolDocument:
        document: ToolDocument = await self._ask("GET", f"{_session(session)}/tools/{_path(name)}")
        return document

    async def change_session(self, session: str, changes: dict[str, Any]) -> SessionDocument:
        document: SessionDocument = await self._ask("PATCH", _session(session), changes)
        return document

    async def stop_session(self, session: str, by: str) -> StoppedDocument:
        stopped: StoppedDocument = await self._ask("POST", f"{_session(session)}/stop", {"by": by})
        return stopped

    async def reset_session(self, session: str, by: str) -> SessionDocument:
        document: SessionDocument = await self._ask("POST", f"{_session(session)}/reset", {"by": by})
        return document

    async def compact_session(self, session: str, instructions: str) -> SentMessage:
        given = {"instructions": instructions}
        said = await self._ask("POST", f"{_session(session)}/compact", given)
        return SentMessage(**{**said, "problems": tuple(said["problems"])})

    async def items(
        self, session: str, *, after: int = 0, limit: int = 200, archive: str | None = None
    ) -> list[ItemDocument]:
        asked = _query(after=after, limit=limit, archive=archive)
        found: list[ItemDocument] = await self._ask("GET", f"{_session(session)}/messages{asked}")
        return found

    async def archives(self, session: str) -> list[ArchiveDocument]:
        found: list[ArchiveDocument] = await self._ask("GET", f"{_session(session)}/archive")
        return found

    async def search(self, text: str, *, session: str | None = None, limit: int = 20) -> list[HitDocument]:
        asked = _query(q=text, session=session, limit=limit)
        found: list[HitDocument] = await self._ask("GET", f"/api/search{asked}")
        return found

    async def watch_session(self, session: str, after: int | None = None) -> AsyncGenerator[SessionEvent]:
        """A gateway that is started again goes on telling, from the last item that came."""
        while True:
            try:
                async with contextlib.aclosing(self._session_events(session, after)) as events:
                    async for event in events:
                        after = _place(event, after)
                        yield event
            except ConnectionLost:
                pass
            yield SessionEvent("gateway_lost", {"seconds": BACK_SECONDS})
            await self._wait_until_back()
            yield SessionEvent("gateway_back")

    async def _session_events(self, session: str, after: int | None) -> AsyncGenerator[SessionEvent]:
        path = f"{_session(session)}/events{_query(after=after)}"
        async with contextlib.aclosing(self._stream(path)) as told:
            async for number, found in told:
                kind, run_id = found.pop("type"), found.get("run_id")
                position = int(number) if number else None
                run = found.pop("run_id", None) if kind not in STORED else run_id
                yield SessionEvent(kind, found, run, position)

    async def event(self, event: str) -> dict[str, Any]:
        document: dict[str, Any] = await self._ask("GET", f"/api/events/{_path(event)}")
        return document

    async def restore(self, expert: str, file: str, version: int) -> dict[str, Any]:
        body = {"file": file, "version": version}
        answer: dict[str, Any] = await self._ask("POST", f"/api/experts/{_path(expert)}/state", body)
        return answer

    async def fire(self, expert: str, trigger: str, payload: Any) -> AcceptedEvent:
        return _accepted(await self._ask("POST", f"{_trigger(expert, trigger)}/fire", {"payload": payload}))

    async def pause(self, expert: str, trigger: str, by: str) -> bool:
        return bool((await self._ask("POST", f"{_trigger(expert, trigger)}/pause", {"by": by}))["changed"])

    async def resume(self, expert: str, trigger: str) -> int | None:
        answer = await self._ask("POST", f"{_trigger(expert, trigger)}/resume")
        return int(answer["released"]) if answer["changed"] else None

    async def cancel(self, run: str, reason: str) -> bool:
        answer = await self._ask("POST", f"/api/runs/{_path(run)}/cancel", {"note": reason})
        return bool(answer["cancelled"])

    async def retry(self, run: str, changes: dict[str, Any] | None = None) -> str:
        answer = await self._ask("POST", f"/api/runs/{_path(run)}/retry", {"inputs": changes or {}})
        return str(answer["run_id"])

    async def fork(self, asked: ForkRequest) -> AcceptedEvent:
        body = {"from_step": asked.from_step, "model": asked.model, "dry_run": asked.dry_run}
        return _accepted(await self._ask("POST", f"/api/runs/{_path(asked.run)}/fork", body))

    async def resume_run(self, run: str) -> bool:
        return bool((await self._ask("POST", f"/api/runs/{_path(run)}/resume"))["resumed"])

    async def drop(self, run: str, by: str) -> None:
        await self._ask("POST", f"/api/deadletters/{_path(run)}/drop", {"by": by})

    async def read(self, delivery: str, by: str) -> bool:
        answer = await self._ask("POST", f"/api/deliveries/{_path(delivery)}/read", {"by": by})
        return bool(answer["changed"])

    async def accept_server(self, name: str, digest: str, by: str) -> None:
        await self._ask("POST", f"/api/servers/{_path(name)}/accept", {"digest": digest, "by": by})

    async def revoke(self, grant: str) -> None:
        await self._ask("DELETE", f"/api/grants/{_path(grant)}")

    async def remove_canvas(self, canvas: str) -> None:
        await self._ask("DELETE", f"/api/canvases/{_path(canvas)}")

    async def auth_profiles(self, agent: str) -> list[ProfileDocument]:
        found: list[ProfileDocument] = await self._ask("GET", "/api/auth-profiles" + _query(agent=agent))
        return found

    async def order_auth_profiles(
        self, agent: str, provider: str, profiles: Sequence[str]
    ) -> list[ProfileDocument]:
        asked = {"agent": agent, "provider": provider, "profiles": list(profiles)}
        found: list[ProfileDocument] = await self._ask("PUT", "/api/auth-profiles/order", asked)
        return found

    async def clear_cooldowns(self, profiles: Sequence[str]) -> list[str]:
        asked = {"profiles": list(profiles)}
        return list((await self._ask("POST", "/api/auth-profiles/clear-cooldown", asked))["cleared"])

    async def forget_auth_profile(self, profile: str) -> None:
        await self._ask("DELETE", f"/api/auth-profiles/{_path(profile)}/statistics")

    async def approval_link(self, approval: str, person: str, lasts_ms: int) -> ApprovalLink:
        asked = {"person": person, "lasts_ms": lasts_ms}
        made: ApprovalLink = await self._ask("POST", f"/api/approvals/{_path(approval)}/link", asked)
        return made

    async def problems(self) -> list[str]:
        return [str(each) for each in (await self._ask("GET", "/api/status"))["problems"]]

    async def run(self, run: str) -> RunDocument:
        document: RunDocument = await self._ask("GET", f"/api/runs/{_path(run)}")
        return document

    async def heading(self, run: str) -> RunHeading:
        return await self.run(run)

    def whole(self) -> Self:
        return self

    async def lets_in(self) -> bool:
        """Whether this process has the token."""
        try:
            await self._ask("GET", "/api/runs?limit=1")
        except ColleagueError:
            return False
        return True

    async def approval(self, approval: str) -> ApprovalDocument:
        document: ApprovalDocument = await self._ask("GET", f"/api/approvals/{_path(approval)}")
        return document

    async def pending(self) -> list[ApprovalDocument]:
        documents: list[ApprovalDocument] = await self._ask("GET", f"/api/approvals?limit={MOST_PENDING}")
        return documents

    async def follow(self, runs: Sequence[str]) -> AsyncGenerator[RunEvent]:
        for run in runs:
            run_id = run if len(run) == WHOLE_ID else (await self.run(run))["id"]
            async for event in self._follow(run_id):
                yield event

    async def _follow(self, run_id: str) -> AsyncIterator[RunEvent]:
        """One stream after another, until the run rests: a gateway that is started again goes on telling."""
        while True:
            try:
                async for event in self._events(run_id):
                    yield event
                    if event.is_rest:
                        return
            except ConnectionLost:
                pass
            yield RunEvent("gateway_lost", run_id, {"seconds": BACK_SECONDS})
            await self._wait_until_back()
            yield RunEvent("gateway_back", run_id)

    async def _events(self, run_id: str) -> AsyncIterator[RunEvent]:
        async with contextlib.aclosing(self._stream(f"/api/runs/{run_id}/events")) as told:
            async for _, found in told:
                yield RunEvent(found.pop("type"), str(found.pop("run_id", run_id)), found)

    async def _stream(self, path: str) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """Id and data of server-sent events, without comments."""
        text = b""
        try:
            async for piece in self._where().stream(path, connect=SECONDS, silence=SILENCE_SECONDS):
                *whole, text = (text + piece).split(b"\n\n")
                for each in whole:
                    if data := _fields(each, b"data:"):
                        yield b"".join(_fields(each, b"id:")).decode().strip(), json.loads(b"\n".join(data))
        except HttpRefused as refused:
            raise _refused(refused.status, refused.body) from None

    async def _wait_until_back(self) -> None:
        """Raises GatewayUnreachable when it stays away."""
        try:
            async with asyncio.timeout(BACK_SECONDS):
                while not await self._is_back():
                    await asyncio.sleep(0.25)
        except TimeoutError:
            raise GatewayUnreachable(
                f"the gateway of {self.home.root} went away", hint="start it again with: colleague serve"
            ) from None

    async def _is_back(self) -> bool:
        self._address = None
        try:
            status, _ = await self._where().send("GET", "/readyz", None, seconds=5)
        except (ConnectionLost, GatewayUnreachable):
            return False
        return status == 200

    async def _ask(self, method: str, path: str, body: Any = None, seconds: float = SECONDS) -> Any:
        try:
            status, answer = await self._where().send(method, path, body, seconds=seconds)
            if status == 401 and self._use_settings_token():
                status, answer = await self._where().send(method, path, body, seconds=seconds)
        except ConnectionLost as error:
            raise GatewayUnreachable(
                f"the gateway of {self.home.root} does not answer: {error}",
                hint="look at its log, or start it again with: colleague serve",
            ) from None
        if status >= 400:
            raise _refused(status, answer)
        try:
            return json.loads(answer) if answer else {}
        except ValueError:
            raise GatewayUnreachable(f"what answers at port {self._where().port} is no gateway") from None

    def _where(self) -> HttpAddress:
        if self._address is None:
            found = running_gateway(self.home)
            if found is None:
                raise GatewayUnreachable(
                    f"another process works on {self.home.root}, and no gateway says where it listens",
                    hint="wait until it is done, or end it",
                )
            self._address = self._address_of(found)
        return self._address

    def _address_of(self, found: GatewayFile) -> HttpAddress:
        token = read_own_token(self.home) if found.own_token else ""
        return HttpAddress(found.address, found.port, token or self._settings_token(), user_name())

    def _use_settings_token(self) -> bool:
        """The settings may have changed while the gateway runs. False when they name the same token."""
        used, token = self._where(), self._settings_token()
        if not token or token == used.token:
            return False
        self._address = HttpAddress(used.host, used.port, token, used.by)
        return True

    def _settings_token(self) -> str:
        """Reading the settings takes a while, so it is done only for a home that names its own token."""
        from colleague.config import load_settings, resolve

        token = load_settings(self.home).gateway.auth.token
        given = resolve(token, self.environ, key="gateway.auth.token") if token is not None else ""
        return given or read_own_token(self.home)


def _path(name: str) -> str:
    return quote(name, safe="")


def _session(name: str) -> str:
    return f"/api/sessions/{_path(name)}"


def _place(event: SessionEvent, after: int | None) -> int | None:
    """Where to go on after a cut: behind the last item that came, or where the watching began."""
    if event.position is not None:
        return event.position
    begins = after is None and event.kind == "session_status"
    return int(event.data["positions"]) if begins else after


def _query(**given: str | int | None) -> str:
    """What is given, as the query of a URL."""
    return "?" + urlencode({name: value for name, value in given.items() if value is not None})


def _trigger(expert: str, trigger: str) -> str:
    return f"/api/triggers/{_path(expert)}/{_path(trigger)}"


def _accepted(answer: dict[str, Any]) -> AcceptedEvent:
    return AcceptedEvent(str(answer["event_id"]), answer.get("run_id"), bool(answer.get("duplicate")))


def _decision(request: DecisionRequest, digest: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": request.approval,
        "decision": request.decision,
        "digest": digest,
        "note": request.note,
        "by": request.by,
    }
    if request.answer is not None:
        name = "arguments" if request.decision == "approve" else "result"
        body[name] = json.loads(request.answer)
    if request.changes is not None:
        body["changes"] = request.changes
    if request.grant_ms is not None:
        body["grant_ms"] = request.grant_ms
    if request.grant_only:
        body["grant_only"] = list(request.grant_only)
    return body


def _decision_answer(asked: str, item: dict[str, Any]) -> DecisionAnswer:
    error, grant = item["error"], item["grant"]
    refusal = Refusal(error["code"], error["message"], error.get("hint") or "") if error else None
    return DecisionAnswer(asked, item["approval"], GivenGrant(**grant) if grant else None, refusal)


def _fields(event: bytes, name: bytes) -> list[bytes]:
    """The values of one field of a server-sent event."""
    return [line[len(name) :] for line in event.split(b"\n") if line.startswith(name)]


def _refused(status: int, body: bytes) -> ColleagueError | DatabaseUnavailable:
    try:
        told = json.loads(body)["error"]
        code, message, hint = str(told["code"]), str(told["message"]), str(told.get("hint") or "")
    except (ValueError, KeyError, TypeError):
        code, message, hint = "", f"the gateway answered {status}", ""
    if status in (401, 403):
        return GatewayUnreachable(
            f"the gateway refuses this command: {message}",
            hint="the token is gateway.auth.token; set its variable in this shell, too",
        )
    if code == "database-unavailable":
        return DatabaseUnavailable(message)
    if hint.endswith(UNSET_CURE):  # the variables of its process count, not those of this shell
        message = f"the gateway says: {message}"
        hint = hint.replace(UNSET_CURE, " where colleague serve is started, and start it again")
    error = _ERRORS.get(code, ColleagueError)(message, hint=hint)
    error.code = code or error.code
    return error

"""Webhooks: from a request that may be anybody's to a committed event."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from colleague import activity
from colleague.config import resolve
from colleague.errors import ColleagueError, ConfigError, NotFound
from colleague.gateway.client_address import client_address
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.middleware import slow_down
from colleague.gateway.openapi import JSON_BODY, errors
from colleague.gateway.payload import read_payload
from colleague.gateway.schemas import EventAccepted, EventsAccepted, HookAnswer
from colleague.gateway.throttle import network_of
from colleague.store.accept import Accepted, Arrival, QueueFull
from colleague.store.tx import Tx
from colleague.triggers.errors import BadPayload, BadSignature
from colleague.triggers.gmail.google_token import Subscription, looks_like_one
from colleague.triggers.gmail.messages import gmail_payloads
from colleague.triggers.gmail.pubsub import is_push, read_push
from colleague.triggers.gmail.resolve import SOURCE as PUBSUB
from colleague.triggers.gmail.resolve import accept_pushes, gmail_triggers, push_arrival
from colleague.triggers.intake import arrival_of, fire_all
from colleague.triggers.registry import BoundTrigger, Inactive
from colleague.triggers.scheme import OPENCLAW_TOKEN
from colleague.triggers.signature import RepeatKeys, Verified, verify

log = logging.getLogger(__name__)
router = APIRouter(tags=["hooks"])

GMAIL = "gmail"
WEBHOOK = "webhook"


@router.post(
    "/hooks/gmail",
    status_code=202,
    response_model=EventsAccepted,
    response_model_exclude_none=False,
    responses={
        200: {"model": EventsAccepted, "description": "Nothing new"},
        **errors(400, 401, 409, 429, 503),
    },
    openapi_extra=JSON_BODY,
)
async def gmail(request: Request, response: Response, gateway: GatewayDep) -> EventsAccepted:
    """The gmail preset, for every enabled expert that has it: messages, or a Pub/Sub push.

    The secret is hooks.token, as a bearer or in x-openclaw-token; with hooks.pubsub set, also the token that
    Google signs."""
    incoming = WebhookRequest(gateway, request, await request.body())
    await incoming.verified_by_google_or_token(GMAIL)
    payload = incoming.payload()
    known = gmail_triggers(gateway.registry)
    triggers = [bound_trigger for bound_trigger in known if not bound_trigger.problem]
    arrivals = await asyncio.to_thread(incoming.gmail_arrivals, triggers, payload)
    if not triggers:
        raise incoming.refused(_nobody_takes(known, gateway.registry.problems), "inactive")
    found = await incoming.accept(arrivals)
    if unread := gateway.registry.never_read:
        raise incoming.refused(_not_for_all(triggers, unread), "inactive")
    response.status_code = _code(found)
    return EventsAccepted(events=found)


@router.post(
    "/hooks/{expert}/{trigger}",
    status_code=202,
    response_model=HookAnswer,
    responses={200: {"model": HookAnswer, "description": "A repeat"}, **errors(400, 401, 404, 409, 429)},
    openapi_extra=JSON_BODY,
)
async def hook(
    expert: str, trigger: str, request: Request, response: Response, gateway: GatewayDep
) -> HookAnswer:
    """One webhook trigger, signed as its binding says; without a secret there, hooks.token as a bearer."""
    incoming = WebhookRequest(gateway, request, await request.body())
    bound_trigger = incoming.find(expert, trigger)
    verified = await incoming.verified(bound_trigger)
    payload = incoming.payload()
    if bound_trigger.trigger.preset == GMAIL:
        arrivals = await asyncio.to_thread(incoming.gmail_arrivals, [bound_trigger], payload)
        if not arrivals:
            raise incoming.refused(BadPayload("there is no message in this payload"), "payload")
    else:
        arrivals = [
            await asyncio.to_thread(
                incoming.arrival, bound_trigger, payload, incoming.repeat_keys(bound_trigger, verified)
            )
        ]
    found = await incoming.accept(arrivals)
    response.status_code = _code(found)
    return HookAnswer(**found[0].model_dump(), events=found if len(found) > 1 else None)


def _nobody_takes(known: Sequence[BoundTrigger], unreadable: Mapping[str, str]) -> Inactive:
    """A sender that hears yes never sends the mail again, so a mail that nobody takes is refused."""
    problems = [*(each.problem for each in known), *(f"{name} cannot be read" for name in unreadable)]
    why = "; ".join(dict.fromkeys(problems)) or "none has the gmail preset"
    return Inactive(f"no expert takes mail: {why}", hint="see them with: colleague trigger list")


def _not_for_all(triggers: Sequence[BoundTrigger], unread: Sequence[str]) -> Inactive:
    """Who cannot be read may take mail: it is to be sent again, and is a repeat for who has it."""
    took = ", ".join(dict.fromkeys(each.expert.name for each in triggers))
    return Inactive(
        f"{took} took this mail; {', '.join(unread)} cannot be read, and may take mail, too",
        hint="send it again later, who has it takes it once; see why with: colleague trigger list",
    )


def _code(found: Sequence[EventAccepted]) -> int:
    return 200 if all(each.duplicate for each in found) else 202


@dataclass(frozen=True)
class WebhookRequest:
    """One webhook request. Refused requests are counted by reason."""

    gateway: Gateway
    request: Request
    body: bytes

    def find(self, expert: str, trigger: str) -> BoundTrigger:
        try:
            bound_trigger = self.gateway.registry.find(expert, trigger)
            if bound_trigger.trigger.type != WEBHOOK:
                raise NotFound(
                    f"{trigger} of {expert} is no webhook: it is of type {bound_trigger.trigger.type}"
                )
            bound_trigger.require_active()
        except NotFound as error:
            # nobody has said yet who sends this, so what else there is stays untold
            raise self.refused(NotFound(error.message), "unknown") from None
        except Inactive as error:
            raise self.refused(error, "inactive") from None
        return bound_trigger

    async def verified(self, bound_trigger: BoundTrigger) -> Verified:
        """By the trigger's own secrets, any of them; without one by the secret of all hooks."""
        binding = bound_trigger.binding
        if binding is None or not binding.secrets:
            return await self.verified_by_token("/".join(bound_trigger.key))
        secrets = self._secrets(bound_trigger, binding.secrets)
        return await self._verify(
            "/".join(bound_trigger.key),
            scheme=binding.signature or "bearer",
            secrets=secrets,
            tolerance_ms=binding.tolerance.milliseconds,
            names=binding.headers,
        )

    async def verified_by_token(self, hook: str) -> Verified:
        secrets = [self.gateway.live.keys.hooks]
        return await self._verify(hook, scheme="bearer", secrets=secrets, tolerance_ms=300_000)

    async def verified_by_google_or_token(self, hook: str) -> None:
        pubsub = self.gateway.live.settings.hooks.pubsub
        given = self.request.headers.getlist("authorization")
        word, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        told_alone = OPENCLAW_TOKEN in self.request.headers
        by_token = told_alone or word.lower() != "bearer" or self.gateway.live.keys.is_hooks(token)
        if pubsub is None or by_token or not looks_like_one(token):
            await self.verified_by_token(hook)
            return
        subscription = Subscription(pubsub.audience, pubsub.service_account)
        now = self.gateway.clock.wall()
        with self._watched(hook):
            await self.gateway.checks.in_thread(
                lambda: self.gateway.google.check(token, subscription, pubsub.keys_url, now),
                failing=self._is_failing(hook),
            )

    async def _verify(self, hook: str, **how: Any) -> Verified:
        headers: Mapping[str, str] = self.request.headers
        now = self.gateway.clock.wall()
        with self._watched(hook):
            return await self.gateway.checks.run(
                lambda: verify(headers=headers, body=self.body, now=now, **how),
                size=len(self.body),
                failing=self._is_failing(hook),
            )

    @property
    def _network(self) -> str:
        proxies = self.gateway.live.settings.gateway.trusted_proxies
        return network_of(client_address(self.request.scope, proxies))

    def _is_failing(self, hook: str) -> bool:
        return self.gateway.throttle.seconds_left((self._network, hook)) > 0

    @contextlib.contextmanager
    def _watched(self, hook: str) -> Iterator[None]:
        """Failed tries are counted and noted; too many, and whoever fails again is told to wait."""
        try:
            yield
        except BadSignature as error:
            log.info("a request to the hook %s was refused: %s", hook, error.message)
            refused = self.refused(error, "signature")
            if error.code != "no-secret":
                slow_down(self.gateway.throttle, (self._network, hook))
            raise refused from None

    def _secrets(self, bound_trigger: BoundTrigger, written: Sequence[str]) -> list[str]:
        name = "/".join(bound_trigger.key)
        try:
            found = [resolve(each, self.gateway.environ, key=f"the secret of {name}") for each in written]
        except ConfigError as error:
            log.warning("%s", error.message)
            found = []
        if any(self.gateway.live.keys.is_gateways(each) for each in found):
            log.warning("the secret of %s is the gateway's token: give it one of its own", name)
            found = []
        if not found:
            error_ = BadSignature(
                "secret-unusable", "the secret of this hook cannot be used as it is configured"
            )
            raise self.refused(error_, "signature")
        return found

    def payload(self) -> Any:
        try:
            return read_payload(self.body, self.request.headers.get("content-type", ""))
        except BadPayload as error:
            raise self.refused(error, "payload") from None

    def repeat_keys(self, bound_trigger: BoundTrigger, verified: Verified) -> RepeatKeys:
        equal_bodies = bound_trigger.binding.equal_bodies if bound_trigger.binding else "repeat"
        return verified.repeat_keys(equal_bodies=equal_bodies)

    def arrival(self, bound_trigger: BoundTrigger, payload: Any, repeat: RepeatKeys) -> Arrival:
        window = self.gateway.live.settings.experts.dedupe_window
        return arrival_of(
            self.gateway.home, bound_trigger, payload, source=WEBHOOK, dedupe_window=window, repeat=repeat
        )

    def gmail_arrivals(self, triggers: Sequence[BoundTrigger], payload: Any) -> list[Arrival]:
        """One for each message and trigger; a push is one for each expert, and looked up later."""
        try:
            if is_push(payload):
                push = read_push(payload)
                window = self.gateway.live.settings.experts.dedupe_window.milliseconds
                experts = dict.fromkeys(bound_trigger.expert.name for bound_trigger in triggers)
                return [push_arrival(expert, payload, push, window) for expert in experts]
            payloads = gmail_payloads(payload)
        except BadPayload as error:
            raise self.refused(error, "payload") from None
        return [
            self.arrival(bound_trigger, each, RepeatKeys(delivery=f"gmail:{each['message_id']}"))
            for bound_trigger in triggers
            for each in payloads
        ]

    async def accept(self, arrivals: Sequence[Arrival]) -> list[EventAccepted]:
        """All of it in one commit; only then anything is answered."""
        try:
            found = await self.gateway.database.write(lambda tx: _accept(tx, arrivals))
        except QueueFull as error:
            raise self.refused(error, "queue") from None
        if any(arrival.source == PUBSUB for arrival in arrivals):
            self.gateway.services.resolver.wake()
        return [self._accepted_document(arrival, each) for arrival, each in zip(arrivals, found, strict=True)]

    def _accepted_document(self, arrival: Arrival, accepted: Accepted) -> EventAccepted:
        held = accepted.run_id is None and not accepted.duplicate and arrival.source != PUBSUB
        self.gateway.metrics.event("duplicate" if accepted.duplicate else "held" if held else "accepted")
        return EventAccepted(
            event_id=accepted.event_id,
            run_id=accepted.run_id,
            expert=arrival.expert,
            trigger=arrival.trigger,
            duplicate=accepted.duplicate,
            held=held,
            warning=arrival.warning,
        )

    def refused(self, error: ColleagueError, reason: str) -> ColleagueError:
        """Counted, and said to whoever runs the gateway: the sender may be a mistake of theirs."""
        self.gateway.metrics.event("refused", reason)
        path = self.request.url.path
        text = f"a request to {path} was refused: {error.message}"
        activity.tell("hook refused", text, level=logging.WARNING, path=path, reason=reason)
        return error


def _accept(tx: Tx, arrivals: Sequence[Arrival]) -> list[Accepted]:
    """A request brings messages or pushes, never both."""
    pushes = any(arrival.source == PUBSUB for arrival in arrivals)
    return accept_pushes(tx, arrivals) if pushes else fire_all(tx, arrivals)

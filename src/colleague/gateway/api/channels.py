"""Messages of channels, from whatever brings them here."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import TypeAdapter, ValidationError

from colleague.channels.channel import ChannelError
from colleague.config.channel_access import refusal
from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import EventAccepted, EventsAccepted, JsonObject
from colleague.hooks.events import MessageReceived
from colleague.runtime.requests import MessageRequest
from colleague.sessions.routing import session_for
from colleague.sessions.threads import session_of_thread
from colleague.store.accept import Arrival
from colleague.triggers.channel import ChannelMessage, matches, read_message
from colleague.triggers.intake import arrival_of, fire_all
from colleague.triggers.registry import BoundTrigger
from colleague.triggers.signature import RepeatKeys

router = APIRouter(prefix="/api", tags=["channels"])


@router.post(
    "/channels/{channel}/messages", status_code=202, response_model=EventsAccepted, responses=with_token(409)
)
async def message(
    channel: str,
    gateway: GatewayDep,
    raw: Annotated[JsonObject, Body(description="sender_id, message_text, ...")],
) -> EventsAccepted:
    """One message: an event for each trigger that it wakes. One that wakes none is said to the main agent, in
    the session that `session.scope` and `session.dmScope` give it."""
    return await _take(gateway, channel, raw)


async def take_from_plugin(gateway: Gateway, channel: str, raw: dict[str, Any]) -> dict[str, Any]:
    """The same for a plugin in this process. Raises ColleagueError."""
    try:
        return (await _take(gateway, channel, TypeAdapter(JsonObject).validate_python(raw))).model_dump()
    except ApiError as error:
        raise ChannelError(error.message) from None
    except ValidationError as error:
        raise ChannelError(f"the message cannot be stored: {error.errors()[0]['msg']}") from None


async def _take(gateway: Gateway, channel: str, raw: JsonObject) -> EventsAccepted:
    told = read_message({**raw, "channel_name": raw.get("channel_name") or channel})
    _require_allowed(gateway, told)
    woken = [
        bound_trigger
        for bound_trigger in gateway.registry.of_type("channel")
        if not bound_trigger.problem and matches(bound_trigger.binding, told)
    ]
    if not woken:
        return EventsAccepted(events=[await _say(gateway, told)])
    _tell_received(gateway, told)
    arrivals = await asyncio.to_thread(
        lambda: [_arrival(gateway, bound_trigger, told) for bound_trigger in woken]
    )
    found = await gateway.database.write(lambda tx: fire_all(tx, arrivals))
    for each in found:
        gateway.metrics.event("duplicate" if each.duplicate else "accepted")
    return EventsAccepted(
        events=[
            EventAccepted(
                event_id=each.event_id,
                run_id=each.run_id,
                expert=arrival.expert,
                trigger=arrival.trigger,
                duplicate=each.duplicate,
                held=each.run_id is None and not each.duplicate,
                warning=arrival.warning,
            )
            for arrival, each in zip(arrivals, found, strict=True)
        ]
    )


def _require_allowed(gateway: Gateway, told: ChannelMessage) -> None:
    """Raises ApiError for a message that the settings of the channel do not let in."""
    group = told.conversation_id if told.place.chat_type != "dm" else ""
    why = refusal(gateway.live.settings.channels, told.channel_name, told.sender_id, group)
    if why:
        raise ApiError(403, "not-allowed", f"the message is not taken: {why}")


def _tell_received(gateway: Gateway, told: ChannelMessage) -> None:
    """A message that wakes triggers belongs to no session."""
    place = {"channel": told.channel_name, "conversation": told.conversation_id, "thread": told.thread_id}
    sender = {"id": told.sender_id, "name": told.sender_name}
    gateway.host.hooks.tell(MessageReceived("", told.message_text, "channel", sender, place))


async def _say(gateway: Gateway, told: ChannelMessage) -> EventAccepted:
    """To a session of the main agent. Raises UsageError when there is no text."""
    place = {"channel": told.channel_name, "account": told.account_id, "thread": told.thread_id}
    place |= {"group": told.conversation_id if told.place.chat_type != "dm" else ""}
    place |= {"to": told.conversation_id or told.sender_id, "message": told.message_id}
    sender = {"id": told.sender_id, "name": told.sender_name}
    request = MessageRequest(
        told.message_text,
        sender={name: value for name, value in sender.items() if value},
        place={name: value for name, value in place.items() if value},
        dedupe_key=f"message:{told.channel_name}:{told.message_id}" if told.message_id else None,
    )
    bound = await gateway.database.read(lambda tx: session_of_thread(tx, told.place))
    key = bound or session_for(gateway.live.settings.session, told.place)
    sent = await gateway.service.send(str(key), request)
    gateway.metrics.event("duplicate" if sent.duplicate else "accepted")
    return EventAccepted(
        event_id=sent.event_id,
        run_id=sent.run_id,
        duplicate=sent.duplicate,
        session_key=sent.session_key,
        queued=sent.queued,
    )


def _arrival(gateway: Gateway, bound_trigger: BoundTrigger, told: ChannelMessage) -> Arrival:
    """The channel's own id tells a repeat, where there is one."""
    payload: dict[str, Any] = told.payload()
    key = f"message:{told.channel_name}:{told.message_id}" if told.message_id else None
    window = gateway.live.settings.experts.dedupe_window
    return arrival_of(
        gateway.home,
        bound_trigger,
        payload,
        source="channel",
        dedupe_window=window,
        repeat=RepeatKeys(delivery=key),
    )

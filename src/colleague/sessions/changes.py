"""What a person does with a session beside talking: settings of its own, stop, reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from colleague.config.agents import AnyLevel
from colleague.errors import UsageError
from colleague.session_document import CHANGEABLE, StoppedDocument
from colleague.session_key import SessionKey
from colleague.session_label import parse_label
from colleague.store.cancel import cancel
from colleague.store.cascade import count_children, stop_children_of_session
from colleague.store.inbox import TURNS, drop_waiting
from colleague.store.lanes import head_of, lock_lane
from colleague.store.run import get_run
from colleague.store.session_entry import (
    QueueMode,
    SessionEntry,
    begin_transcript,
    change_session,
    get_session,
    open_session,
)
from colleague.store.session_items import NewItem, add_item
from colleague.store.tx import Tx

_COLUMNS = {"thinking": "thinking_level", "reasoning": "reasoning_level", "verbose": "verbose_level"}
_WORDS: dict[str, tuple[str, ...]] = {
    "thinking": get_args(AnyLevel),
    "reasoning": ("off", "on", "stream"),
    "verbose": ("off", "on", "full"),
    "send_policy": ("allow", "deny"),
    "queue_mode": get_args(QueueMode),
}


def change(tx: Tx, key: SessionKey, changes: Mapping[str, Any]) -> SessionEntry:
    """Sets what is given, clears what is None; makes the session when there is none. Raises UsageError."""
    values: dict[str, Any] = {}
    for name, value in changes.items():
        values |= _value(name, value)
    lock_lane(tx, str(key))
    open_session(tx, str(key), key.agent_id)
    return change_session(tx, str(key), **values)


def _value(name: str, value: Any) -> dict[str, Any]:
    if name not in CHANGEABLE:
        raise UsageError(f"a session has no {name!r} to set", hint=f"there are: {', '.join(CHANGEABLE)}")
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} takes a text", hint="null clears it")
    if name == "model":
        return model_columns(value)
    if name == "label":
        return {"label": parse_label(value) if value else None}
    words = _WORDS[name]
    if value is not None and value not in words:
        raise UsageError(f"{name} is one of: {', '.join(words)}", hint="null clears it")
    return {_COLUMNS.get(name, name): value}


def model_columns(value: str | None) -> dict[str, str | None]:
    """`provider/model`, or an alias, which has no provider."""
    provider, slash, model = (value or "").partition("/")
    if not value:
        return {"provider_override": None, "model_override": None}
    return {"provider_override": provider if slash else None, "model_override": model if slash else provider}


def stop(tx: Tx, key: SessionKey, by: str) -> StoppedDocument:
    """Ends the turn at work, what waits behind it and what the session handed over; each event says so."""
    name = str(key)
    lock_lane(tx, name)
    get_session(tx, name)
    dropped = drop_waiting(tx, name, f"{by} stopped the session")
    head = head_of(tx, name)
    stopped = head if head and get_run(tx, head).kind in TURNS else None
    children = count_children(tx, name)
    if stopped is not None:
        cancel(tx, stopped, f"stopped by {by}")
    stop_children_of_session(tx, name, f"{by} stopped {name}")
    if stopped is not None:
        add_item(tx, name, NewItem("event", f"Stopped by {by}.", source="turn", run_id=stopped))
    return {"run_id": stopped, "dropped": dropped, "children": children}


def reset(tx: Tx, key: SessionKey, by: str, *, ends_work: bool = True) -> SessionEntry:
    """Ends what is at work and begins another transcript; the one before stays as an archive."""
    if ends_work:
        stop(tx, key, by)
    begin_transcript(tx, str(key), by)
    return get_session(tx, str(key))

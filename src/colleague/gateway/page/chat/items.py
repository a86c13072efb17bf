"""What was said in a session, as a person reads it on the page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from colleague.agent.pictures.media import MediaRef
from colleague.agent.turn_end import FAILED
from colleague.gateway.page.chat.delivered import ShownDelivery
from colleague.gateway.page.fields import ReadableField, readable_fields
from colleague.gateway.page.markdown import markdown_html
from colleague.session_document import ItemCall, ItemDocument, is_stopped
from colleague.session_text import NOT_WHOLE
from colleague.silent_answer import shown_answer

LONGEST_RESULT = 20_000
STATES = {
    "allowed": "at work",
    "started": "at work",
    "finished": "done",
    "asked": "waits for you",
    "parked": "waits for you",
    "drafted": "left as a draft",
    "answered": "answered by a person",
    "unknown": "nobody knows whether it happened",
    "not_run": "not run",
}
"""How a call stands, for people; every other word is plain enough."""
LONGEST_LINE = 120
OWN_EVENTS = ("turn", "compaction", "approval", "inbox")
_FILE = re.compile(
    r'\n\n<data source="file:([^"]*)">\n(.*?)\n</data>(?=\n\n<data source="file:|\Z)', re.DOTALL
)
"""A file that came along with a message as text."""


@dataclass(frozen=True)
class AttachedFile:
    """A file whose text stands in a message."""

    name: str
    text: str


@dataclass(frozen=True)
class ShownPicture:
    """A picture that came with a message. `url` is a place of the page."""

    name: str
    url: str


@dataclass(frozen=True)
class ShownCanvas:
    """Something that a call of `canvas` showed."""

    id: str
    version: int
    title: str

    @property
    def url(self) -> str:
        return f"/chat/canvas/{self.id}?version={self.version}"


@dataclass(frozen=True)
class ShownCall:
    """One call: a line, and what stands below it when a person opens it."""

    id: str
    operation: str
    line: str
    status: str
    fields: Sequence[ReadableField]
    result: str | None
    canvas: ShownCanvas | None = None
    decided: str = ""
    """How a person decided on it, when it was parked: what came of it is told further down."""

    @property
    def state(self) -> str:
        return self.decided or STATES.get(self.status, self.status.replace("_", " "))

    @property
    def look(self) -> str:
        """The class of its state."""
        return "decided" if self.decided else self.status.replace("_", "-")


@dataclass(frozen=True)
class ShownItem:
    """One thing that was said. `html` is Markdown that was rendered, `text` is shown as it is."""

    position: int
    role: str
    who: str
    at: str | None
    run_id: str | None
    text: str = ""
    html: Markup | None = None
    reasoning: str = ""
    files: Sequence[AttachedFile] = ()
    pictures: Sequence[ShownPicture] = ()
    media: Sequence[ShownPicture] = ()
    problems: Sequence[str] = ()
    calls: Sequence[ShownCall] = ()
    delivery: ShownDelivery | None = None
    note: str = ""
    """What is to be known of its words."""
    failed: bool = False
    """Whether it tells that a turn has failed."""

    @property
    def is_silent(self) -> bool:
        """Whether the agent chose to say nothing."""
        return self.role == "assistant" and not self.html and not self.calls and not self.media


def shown_item(
    item: ItemDocument, decided: Mapping[str, str], delivery: ShownDelivery | None = None
) -> ShownItem:
    """`decided` says how people decided on calls, by their ids; `delivery` is what an event tells of."""
    attached = item["attachments"] if isinstance(item["attachments"], dict) else {}
    common: dict[str, Any] = {
        "position": item["position"],
        "role": item["role"],
        "at": item["at"],
        "run_id": item["run_id"],
    }
    if item["role"] == "user":
        text, files = parted(item["text"])
        return ShownItem(
            **common,
            who=item["source"] or "you",
            text=text,
            files=files,
            pictures=[_picture(each) for each in attached.get("pictures", ())],
            problems=[str(each) for each in attached.get("problems", ())],
        )
    if delivery is not None:
        return ShownItem(**common, who=delivery.heading, delivery=delivery)
    words = shown_answer(item["text"]).text if item["role"] == "assistant" else item["text"]
    return ShownItem(
        **common,
        who=_who(item),
        note=NOT_WHOLE if is_stopped(item) else "",
        failed=item["source"] == "turn" and words.startswith(FAILED),
        html=markdown_html(words) if words.strip() else None,
        reasoning=item["reasoning"],
        media=[_media(str(each)) for each in attached.get("media", ())],
        calls=[_call(each, decided.get(each["id"], "")) for each in item["calls"]],
    )


def _who(item: ItemDocument) -> str:
    """What the framework tells of itself needs no name before it, and no id."""
    if item["role"] == "assistant":
        return "agent" if is_stopped(item) else item["source"] or "agent"
    return "" if item["source"].partition(":")[0] in OWN_EVENTS else item["source"] or "event"


def parted(text: str) -> tuple[str, list[AttachedFile]]:
    """The words of a message, and the files behind them."""
    files = [AttachedFile(name, inside) for name, inside in _FILE.findall(text)]
    return _FILE.sub("", text), files


def _picture(kept: dict[str, Any]) -> ShownPicture:
    return ShownPicture(str(kept.get("name", "")), f"/chat/media/{kept.get('sha256', '')}")


def _media(address: str) -> ShownPicture:
    """What came with an answer; an address elsewhere is only ever named."""
    kept = MediaRef.of(address, "")
    return ShownPicture("media" if kept else address, f"/chat/media/{kept.sha256}" if kept else "")


def _call(call: ItemCall, decided: str) -> ShownCall:
    return ShownCall(
        call["id"],
        call["operation"],
        summary_line(call["arguments"]),
        call["status"],
        readable_fields(call["arguments"]),
        shortened(call["result"], LONGEST_RESULT) if call["result"] is not None else None,
        _canvas(call),
        decided,
    )


def _canvas(call: ItemCall) -> ShownCanvas | None:
    """What a call has shown, by its result; None for any other call."""
    if call["operation"] != "canvas" or call["status"] != "finished":
        return None
    try:
        shown = json.loads(call["result"] or "")
        return ShownCanvas(str(shown["canvas"]), int(shown["version"]), str(shown["title"]))
    except (ValueError, KeyError, TypeError):
        return None


def summary_line(arguments: Any) -> str:
    """The arguments on one line; the first ones tell the most."""
    if isinstance(arguments, dict):
        texts = (each if isinstance(each, str) else json.dumps(each) for each in arguments.values())
        return shortened(" · ".join(" ".join(each.split()) for each in texts if each), LONGEST_LINE)
    return shortened(json.dumps(arguments), LONGEST_LINE) if arguments is not None else ""


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."

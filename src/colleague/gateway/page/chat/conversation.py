"""One session as the page shows it, read at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.errors import NotFound
from colleague.gateway.gateway import Gateway
from colleague.gateway.page.chat.delivered import DeliveryReader
from colleague.gateway.page.chat.items import ShownItem, shown_item
from colleague.gateway.page.chat.tree import SessionNode, session_name, session_path, session_tree
from colleague.gateway.page.inbox_list import Question, question_of
from colleague.gateway.page.render import decided
from colleague.gateway.page.visitor import Visitor
from colleague.home import Home
from colleague.session_document import ArchiveDocument, ItemDocument, SessionDocument
from colleague.session_key import SessionKey
from colleague.sessions.messages import require_session
from colleague.sessions.report import archive_document, item_documents, session_document
from colleague.store.approvals import approvals_about
from colleague.store.inbox import waiting_for
from colleague.store.main_news import SOURCE as DELIVERED
from colleague.store.main_news import news_in, unread_among
from colleague.store.outbox import mark_read
from colleague.store.session_entry import archives_of
from colleague.store.session_items import latest_items
from colleague.store.session_work import questions_of
from colleague.store.tx import Tx

ON_A_PAGE = 60
MODE_WORDS = {
    "steer": "A message now is read before its next step.",
    "steer-backlog": "A message now is read before its next step.",
    "followup": "A message now gets a turn of its own afterwards.",
    "collect": "Messages now are answered together afterwards.",
    "queue": "Messages now are answered one by one afterwards.",
    "interrupt": "A message now ends this turn and begins a new one.",
}


@dataclass(frozen=True)
class ShownConversation:
    """A session with the last things said in it. `older` is the position to go on before; `mode` says what a
    message does that comes while a turn is at work."""

    session: SessionDocument
    items: Sequence[ShownItem]
    questions: Sequence[Question]
    tree: Sequence[SessionNode]
    archives: Sequence[ArchiveDocument]
    older: int | None
    archive: str | None
    mode: str
    waiting: Sequence[str] = ()
    """Messages that nobody has read yet, in their order."""
    unread: Sequence[str] = ()

    @property
    def name(self) -> str:
        return session_name(self.session["key"], self.session["label"])

    @property
    def path(self) -> str:
        return session_path(self.session["key"])

    @property
    def is_main(self) -> bool:
        return SessionKey.parse(self.session["key"]).is_main

    @property
    def last(self) -> int:
        """The position from which on a stream tells."""
        return self.items[-1].position if self.items else self.session["positions"]


@dataclass(frozen=True)
class ConversationReader:
    """Reads one session, by its key or label."""

    home: Home
    workspace: Path
    session: str
    default_mode: str

    def read(
        self, tx: Tx, *, before: int | None = None, archive: str | None = None, changing: bool = False
    ) -> ShownConversation:
        """`changing`: of its items only those that may look different by now. Raises NotFound."""
        entry = require_session(tx, self.session)
        archives = [archive_document(each) for each in archives_of(tx, entry.key)]
        if archive is not None and archive not in [each["id"] for each in archives]:
            raise NotFound(f"there is no such archive of {entry.key}", hint="see the list below its name")
        items = latest_items(tx, entry.key, archive or entry.id, limit=ON_A_PAGE, before=before)
        mode = _mode(entry.key, entry.queue_mode or self.default_mode)
        asked = questions_of(tx, entry.key)
        told = [each for each in item_documents(tx, items) if not changing or _may_change(each)]
        return ShownConversation(
            session=session_document(tx, entry),
            items=self._shown_items(tx, told, [each.id for each in asked]),
            questions=[question_of(tx, self.home, self.workspace, each) for each in asked],
            tree=session_tree(tx),
            archives=archives,
            older=items[0].position if len(items) == ON_A_PAGE else None,
            archive=archive,
            mode=MODE_WORDS.get(mode, ""),
            waiting=[each.message.item.text for each in waiting_for(tx, entry.key)],
            unread=unread_among(tx, news_in(items)),
        )

    def arrived(self, tx: Tx, item: ItemDocument) -> ShownItem:
        """An item that has just come."""
        asked = questions_of(tx, str(self.session)) if item["role"] == "event" else []
        return self._shown_items(tx, [item], [each.id for each in asked])[0]

    def _shown_items(self, tx: Tx, items: Sequence[ItemDocument], below: Sequence[str]) -> list[ShownItem]:
        by_call = _decisions(tx, items)
        delivered = DeliveryReader(self.home, self.workspace, below).read(tx, items)
        return [shown_item(each, by_call, delivered.get(each["source"])) for each in items]


def _mode(key: str, mode: str) -> str:
    """What holds for this session: the run of an expert can neither be steered nor interrupted."""
    mode = mode.replace("+", "-")
    if SessionKey.parse(key).is_of_expert:
        return {"steer": "followup", "steer-backlog": "followup", "interrupt": "queue"}.get(mode, mode)
    return mode


def _may_change(item: ItemDocument) -> bool:
    """Calls come out, and questions are decided."""
    return bool(item["calls"]) or item["source"].startswith(DELIVERED)


def _decisions(tx: Tx, items: Sequence[ItemDocument]) -> dict[str, str]:
    """How people decided on calls that were parked, by the ids of the calls."""
    parked = [call["id"] for item in items for call in item["calls"] if call["status"] == "parked"]
    return {
        str(each.call_id): f"{decided(each.decision)} by {each.decided_by}"
        for each in approvals_about(tx, parked)
        if each.decision
    }


def reader_of(gateway: Gateway, session: str) -> ConversationReader:
    settings = gateway.live.settings
    return ConversationReader(gateway.home, settings.workspace, session, settings.messages.queue.mode)


async def read_conversation(
    gateway: Gateway, session: str, visitor: Visitor, *, before: int | None = None, archive: str | None = None
) -> ShownConversation:
    """What whoever talks here has seen counts as read; nobody else changes anything by looking."""
    await gateway.service.session(session)  # the main session is made when there is none
    reader = reader_of(gateway, session)
    found = await gateway.database.read(lambda tx: reader.read(tx, before=before, archive=archive))
    if found.unread and visitor.is_admin:
        await gateway.database.write(lambda tx: mark_read(tx, list(found.unread), visitor.name))
    return found

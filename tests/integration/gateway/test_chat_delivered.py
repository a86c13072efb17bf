"""What experts told in the main session, as the chat shows it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.gateway.page.chat.conversation import ConversationReader
from colleague.gateway.page.render import fragment
from colleague.gateway.page.visitor import Visitor
from colleague.home import Home
from colleague.main_names import MAIN_CHANNEL, MAIN_SESSION
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Answer, Ask, decide, pending_approvals, wait
from colleague.store.claims import take
from colleague.store.main_news import arrive_in_main
from colleague.store.open_database import open_database
from colleague.store.outbox import put_in_outbox, waiting_outbox
from colleague.store.tx import Tx
from tests.waiting_inbox import EXPERT, LEARNING, asks

EVIL = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
PROPOSED = Ask(None, "learning", "learning.append", json.dumps(LEARNING), "d5", "She said so.")


def tell(tx: Tx, ask: Ask | None, body: dict[str, Any] | None = None) -> None:
    """A run asks, or tells; it arrives in the main session."""
    accepted = accept(
        tx, Arrival(EXPERT, "order", "hook", "{}", "agent:main:expert:clerk", None, "work", "{}")
    )
    taken = take(tx, "filler", 0)
    assert taken is not None
    wait(tx, taken.hold, [replace(ask or asks()[3], channel=MAIN_CHANNEL if ask else None)])
    if body is not None:
        put_in_outbox(tx, str(accepted.run_id), "delivery", "1", MAIN_CHANNEL, json.dumps(body))
    arrive_in_main(tx, waiting_outbox(tx), relay=False)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.root.mkdir()
    return made


def shown(home: Home, *acts: Any) -> str:
    """The items of the main session after all this, as HTML."""

    async def look() -> str:
        database = open_database(home, load_settings(home), {}, SystemClock())
        reader = ConversationReader(home, home.root / "workspace", MAIN_SESSION, "steer")
        try:
            for act in acts:
                await database.write(act)
            found = await database.read(reader.read)
        finally:
            await database.close()
        visitor = Visitor("operator", "admin", "key")
        return "".join(
            fragment("chat_item.html", visitor, item=each, path=found.path) for each in found.items
        )

    return asyncio.run(look())


def decided(decision: str, **more: Any) -> Any:
    def act(tx: Tx) -> None:
        [asked] = pending_approvals(tx)
        decide(tx, Answer(asked.id, asked.digest, decision, "anna", **more))  # type: ignore[arg-type]

    return act


def test_a_proposed_learning_is_what_was_learnt_and_the_difference_it_makes(home: Home) -> None:
    html = shown(home, lambda tx: tell(tx, PROPOSED))
    assert "wants to remember Acme wants yearly prices" in " ".join(html.split())
    assert 'class="added">+### Acme wants yearly prices' in html
    assert "Quote Acme by the year." in html
    assert "&#34;observation&#34;:" not in html.partition("Raw")[0]
    assert 'value="approve"' in html


def test_a_learning_that_was_decided_says_by_whom_and_has_no_fields_for_programs(home: Home) -> None:
    html = shown(home, lambda tx: tell(tx, PROPOSED), decided("reject", note="not so"))
    assert "wants to remember: Acme wants yearly prices" in html
    assert "rejected by anna" in html
    assert "not so" in html
    assert "<form" not in html
    assert ">most<" not in html


@pytest.mark.parametrize(
    ("number", "decision", "words"), [(3, "done", "done by anna"), (0, "approve", "approved by anna")]
)
def test_a_question_is_a_card_until_it_is_decided(home: Home, number: int, decision: str, words: str) -> None:
    ask = asks()[number]
    assert f'value="{decision}"' in shown(home, lambda tx: tell(tx, ask))
    html = shown(home, decided(decision))
    assert words in html
    assert "<form" not in html


def test_a_result_is_words_and_what_it_returned_is_folded(home: Home) -> None:
    outputs = {"verdict": {"intent": "buying", "to": EVIL}, "count": 3}
    body = {"expert": EXPERT, "process": "work", "narrative": f"All is **done**. {EVIL}", "outputs": outputs}
    html = shown(home, lambda tx: tell(tx, None, body))
    assert "clerk has finished work" in html
    assert "<strong>done</strong>" in html
    assert "<h4>verdict</h4>" in html
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_what_comes_from_outside_is_never_markup(home: Home) -> None:
    for ask in (*asks(EVIL), replace(PROPOSED, arguments=json.dumps(LEARNING | {"title": EVIL}))):
        html = shown(home, lambda tx, ask=ask: tell(tx, ask))
        assert "<script>alert" not in html
        assert "<img src=x" not in html

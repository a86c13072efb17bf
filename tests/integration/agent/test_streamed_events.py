"""The events of a turn: every kind has the data that its type says, and nothing hidden is in them."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter
from typing_extensions import get_type_hints

from colleague.run_event import PAYLOADS, RunEvent
from tests.integration.agent.stage import Stage
from tests.integration.agent.test_loop import play
from tests.integration.store.databases import Opener

TAGGED = """
replies:
  - thinking: Hm.
    text: "<think>first</think> I write."
    calls: [{operation: ledger.append, arguments: {line: one}}]
  - text: "[[reply_to:m-1]] Done. [[audio_as_voice]]\\n\\nNO_REPLY"
"""


def check(event: RunEvent) -> None:
    kind = PAYLOADS.get(event.kind)
    if kind is None:
        assert event.kind == "run_status"
        return
    TypeAdapter(kind).validate_python(event.data, strict=True)
    assert event.data.keys() <= get_type_hints(kind).keys(), event


def test_each_event_has_its_type(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        run = await stage.begin()
        assert run.outcome == "completed"
        for event in stage.events:
            check(event)
        updates = [event.data for event in stage.events if event.kind == "message_update"]
        assert "".join(each.get("thinking", "") for each in updates) == "Hm.first"
        assert "".join(each.get("text", "") for each in updates) == "I write.Done."
        first, last = (event.data for event in stage.events if event.kind == "message_end")
        assert (first["text"], first["reasoning"]) == ("I write.", "Hm.\n\nfirst")
        assert (last["text"], last["reply_to"], last["as_voice"]) == ("Done.", "m-1", True)
        told = json.dumps([event.data for event in stage.events])
        assert "NO_REPLY" not in told
        assert "<think>" not in told

    play(opener, tmp_path, acts, TAGGED)

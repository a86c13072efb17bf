"""Properties of what a model is shown, over random transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from colleague.agent.context.cut import cut_place, units_before, units_from
from colleague.agent.context.literals import Literals, SaidText, literals_of, values_in
from colleague.agent.context.record import fitted_record, record_of, record_tokens
from colleague.agent.context.unit import MessageUnit, total_tokens
from colleague.agent.context.view import repaired, view_of
from colleague.store.compactions import Compaction

TEXTS = st.text(max_size=400) | st.sampled_from(["x" * 3000, "order INV-2024-0017 of 48,200 EUR", "ok"])


@st.composite
def turns(draw: Any) -> list[list[MessageUnit]]:
    """A session: turns of questions, answers with calls, their results, and words at the end."""
    made: list[list[MessageUnit]] = []
    for seq in range(1, draw(st.integers(1, 8)) + 1):
        units = [MessageUnit.of((seq, 0), [ModelRequest(parts=[UserPromptPart(draw(TEXTS))])], opens=True)]
        for position in range(1, draw(st.integers(1, 5))):
            ids = [f"{seq}-{position}-{index}" for index in range(draw(st.integers(1, 3)))]
            calls = [ToolCallPart("read", {"path": draw(TEXTS)}, tool_call_id=each) for each in ids]
            results = [ToolReturnPart("read", draw(TEXTS), tool_call_id=each) for each in ids]
            messages = [ModelResponse(parts=calls), ModelRequest(parts=results)]
            units.append(MessageUnit.of((seq, position), messages))
        units.append(MessageUnit.of((seq, 90), [ModelResponse(parts=[TextPart(draw(TEXTS))])]))
        made.append(units)
    return made


def flat(made: Sequence[Sequence[MessageUnit]]) -> list[MessageUnit]:
    return [unit for turn in made for unit in turn]


def compaction(place: tuple[int, int], summary: str = "So far so good.") -> Compaction:
    return Compaction("s", 1, "r", place[0], place[1], summary, "", "auto", 1, 1, 1)


def assert_paired(messages: Sequence[Any]) -> None:
    """Each call has its result in the next message, and no result stands alone."""
    for index, message in enumerate(messages):
        following = messages[index + 1].parts if index + 1 < len(messages) else []
        returned = [part.tool_call_id for part in following if part.part_kind == "tool-return"]
        asked = [part.tool_call_id for part in message.parts if part.part_kind == "tool-call"]
        if message.kind == "response":
            assert sorted(returned) == sorted(asked)


@given(turns(), st.integers(0, 4000))
@settings(max_examples=60)
def test_a_cut_parts_no_call_from_its_result_and_keeps_recent_turns_whole(
    made: list[list[MessageUnit]], keep: int
) -> None:
    units = flat(made)
    place = cut_place(units, keep)
    if place is None:
        return
    old, kept = units_before(units, place), units_from(units, place)
    assert old
    assert kept
    assert [*old, *kept] == units
    assert units[-1] in kept
    shown = view_of(units, compaction(place), longest_opening=500)
    assert_paired(shown.messages)
    assert shown.messages[0].kind == "request"
    whole_last = total_tokens(made[-1]) <= keep
    if whole_last:
        assert kept[0].opens, "a turn that fits is not cut in two"
        assert all(unit in kept for unit in made[-1])
    assert total_tokens(kept) <= max(keep, kept[-1].tokens)


@given(turns(), st.data())
@settings(max_examples=60)
def test_whatever_is_missing_each_call_has_a_result(made: list[list[MessageUnit]], data: Any) -> None:
    messages = [message for unit in flat(made) for message in unit.messages]
    kept = [message for message in messages if data.draw(st.booleans())]
    assert_paired(repaired(kept))
    assert repaired(repaired(kept)) == repaired(kept) or any(each.kind == "response" for each in kept)


def test_a_transcript_that_ends_with_a_call_is_shown_with_a_sentence() -> None:
    call = ModelResponse(parts=[ToolCallPart("read", {"path": "a"}, tool_call_id="c")])
    said = ModelRequest(parts=[UserPromptPart("go")])
    *_, last = repaired([said, call])
    assert last.parts[0].part_kind == "tool-return"
    assert "no result" in str(last.parts[0].content)


@given(turns(), st.integers(50, 3000))
@settings(max_examples=60)
def test_a_record_is_made_short_enough_and_always_in_the_same_way(
    made: list[list[MessageUnit]], most: int
) -> None:
    entries = record_of(flat(made))
    fitted = fitted_record(entries, most)
    assert record_tokens(fitted) <= most
    assert fitted == fitted_record(entries, most)
    people = [entry for entry in entries if entry.origin != "result"]
    if record_tokens(people) + 20 * len(entries) <= most:
        assert [entry for entry in fitted if entry.origin != "result"] == people, "outputs go first"


VALUES = st.sampled_from(
    [
        "INV-2024-0017",
        "/srv/data/report.csv",
        "48,200 EUR",
        "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        "ann@example.com",
        "https://example.com/a?b=1",
        "$1,250.50",
        "2026-11-17",
        "#4711",
        "src/app/main.py",
        "deadbeef99",
    ]
)


@given(st.lists(VALUES, min_size=1, max_size=8), st.sampled_from(["person", "agent", "call", "result"]))
def test_values_are_kept_letter_by_letter(values: list[str], origin: Any) -> None:
    said = [SaidText(origin, f"about {value}, please") for value in values]
    kept = str(literals_of(said, "A summary.", Literals(), 1000))
    again = literals_of([], "Another.", Literals.after(f"A summary.\n\n{kept}")[1], 1000)
    for value in values:
        assert value in values_in(f"about {value}, please")
        assert value in kept
        assert value in str(again), "also over the next summary"


@given(st.lists(VALUES, max_size=200), st.integers(0, 60))
def test_values_never_grow_past_their_limit(values: list[str], most: int) -> None:
    from colleague.agent.context.tokens import text_tokens

    said = [SaidText("person", f"{value} {index}") for index, value in enumerate(values)]
    kept = literals_of(said, "", Literals(), most)
    assert sum(text_tokens(line) for line in (*kept.people, *kept.others)) <= most

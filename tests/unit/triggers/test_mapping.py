"""Triggers as a package declares them, and payloads as they come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.experts.runs.mapping import Lane, dedupe_value, inputs_of, lane_of
from colleague.packages.concurrency import Concurrency
from colleague.packages.delivery import Delivery
from colleague.packages.execution import Execution
from colleague.packages.mark import Mark
from colleague.packages.parameter import Parameter
from colleague.packages.payload_path import parse_payload_path
from colleague.packages.process import Process
from colleague.packages.trigger import Trigger

HERE = Mark("expert.yaml")


def trigger(name: str = "new_email", mapping: dict[str, str] | None = None, **fields: Any) -> Trigger:
    paths = {key: parse_payload_path(path) for key, path in (mapping or {}).items()}
    return Trigger(at=HERE, name=name, type="webhook", process="triage", payload_mapping=paths, **fields)


def per_key(path: str, name: str = "new_email") -> Trigger:
    return trigger(name, concurrency=Concurrency("serial_per_key", parse_payload_path(path)))


def process(*required: str, optional: tuple[str, ...] = ()) -> Process:
    inputs = [Parameter(at=HERE, name=name, schema={}) for name in required]
    inputs += [Parameter(at=HERE, name=name, schema={}, required=False) for name in optional]
    return Process(
        at=HERE,
        path="processes/triage.md",
        name="triage",
        description="",
        body="",
        execution=Execution(),
        delivery=Delivery(),
        inputs=tuple(inputs),
    )


class TestInputs:
    def test_by_the_mapping(self) -> None:
        wired = trigger(mapping={"message_id": "messages[0].id", "subject": "messages[0].subject"})
        payload = {"messages": [{"id": "m-1", "subject": "Hi"}], "message_id": "other"}
        assert inputs_of(wired, process("message_id"), payload) == (
            {"message_id": "m-1", "subject": "Hi"},
            [],
        )

    def test_what_the_mapping_does_not_find_is_missing(self) -> None:
        wired = trigger(mapping={"message_id": "messages[0].id", "note": "note", "extra": "extra"})
        values, missing = inputs_of(
            wired, process("message_id", "deal", optional=("note",)), {"messages": []}
        )
        assert values == {}
        assert missing == ["message_id", "extra", "deal"]

    def test_false_and_nought_are_values(self) -> None:
        wired = trigger(mapping={"a": "a", "b": "b", "c": "c", "d": "d"})
        payload: dict[str, Any] = {"a": 0, "b": False, "c": "", "d": []}
        assert inputs_of(wired, process("a", "b", "c", "d"), payload) == (payload, [])

    def test_without_a_mapping_by_name(self) -> None:
        payload = {"contact_id": "c-1", "amount": 3, "unasked": True, "gone": None}
        found = inputs_of(trigger(), process("contact_id", "gone", optional=("amount", "note")), payload)
        assert found == ({"contact_id": "c-1", "amount": 3}, ["gone"])

    @pytest.mark.parametrize("payload", [{"other": 1}, ["a"], "text", 3, True])
    def test_without_a_common_name_the_payload_itself(self, payload: Any) -> None:
        assert inputs_of(trigger(), process(), payload) == ({"payload": payload}, [])
        assert inputs_of(trigger(), process("contact_id"), payload) == ({"payload": payload}, ["contact_id"])
        assert inputs_of(trigger(), process("payload"), payload) == ({"payload": payload}, [])


class TestDedupe:
    def test_the_value(self) -> None:
        wired = trigger(dedupe_key=parse_payload_path("messages[0].id"))
        assert dedupe_value(wired, {"messages": [{"id": "m/1"}]}) == "m%2F1"
        assert dedupe_value(wired, {"messages": [{"id": 17}]}) == "17"

    @pytest.mark.parametrize(
        "payload", [{}, {"id": None}, {"id": ""}, {"id": []}, {"id": {"a": 1}}, [], None]
    )
    def test_nothing_that_could_tell_events_apart(self, payload: Any) -> None:
        assert dedupe_value(trigger(dedupe_key=parse_payload_path("id")), payload) is None

    def test_without_a_key(self) -> None:
        assert dedupe_value(trigger(), {"id": "m-1"}) is None


class TestLane:
    def test_parallel_has_none(self) -> None:
        assert lane_of("sales", trigger(), {}) == Lane(None)

    def test_serial_is_the_triggers(self) -> None:
        assert lane_of("sales", trigger(concurrency=Concurrency("serial")), {}) == Lane("sales/new_email")

    def test_a_key_is_shared_by_all_triggers_of_the_expert(self) -> None:
        payload = {"contact_id": "sarah@acme.com"}
        lane = lane_of("sales", per_key("contact_id"), payload)
        assert lane == Lane("sales/contact_id/sarah@acme.com")
        assert lane_of("sales", per_key("contact_id", "call_ended"), payload) == lane
        assert lane_of("support", per_key("contact_id"), payload) != lane

    def test_a_number_and_its_text_are_one_contact(self) -> None:
        lanes = {lane_of("s", per_key("id"), {"id": value}).name for value in (7, 7.0, "7")}
        assert lanes == {"s/id/7"}

    @pytest.mark.parametrize("value", [None, "", {}, [], ["a"], {"a": 1}])
    def test_an_unresolved_key_falls_back_with_a_warning(self, value: Any) -> None:
        lane = lane_of("sales", per_key("contact_id"), {"contact_id": value})
        assert lane.name == "sales/new_email"
        assert lane.warning == (
            "'contact_id' is no single value in this payload, so this event waits for earlier ones of "
            "new_email without it"
        )

    def test_a_mode_without_a_key_falls_back_too(self) -> None:
        lane = lane_of("sales", trigger(concurrency=Concurrency("serial_per_key")), {"a": 1})
        assert lane.name == "sales/new_email"
        assert lane.warning is not None
        assert lane.warning.startswith("its trigger has no concurrency_key")

    @pytest.mark.parametrize("mode", ["parallel", "serial"])
    def test_the_main_session_is_one_lane(self, mode: Any) -> None:
        wired = trigger(session="main", concurrency=Concurrency(mode))
        assert lane_of("sales", wired, {}) == Lane("agent:main:main")

    def test_a_slash_makes_no_other_lane(self) -> None:
        by_key = lane_of("sales", per_key("a"), {"a": "b/c"}).name
        by_path = lane_of("sales", per_key('"a/b"'), {"a/b": "c"}).name
        by_name = lane_of("sales", trigger("a/b/c", concurrency=Concurrency("serial")), {}).name
        assert (by_key, by_path, by_name) == ("sales/a/b%2Fc", 'sales/"a%2Fb"/c', "sales/a%2Fb%2Fc")


NAMES = st.sampled_from(["a", "b", "a_b", "aa"])
TEXTS = st.text('ab/%"_ \x00', min_size=1, max_size=6)


@given(NAMES, TEXTS, NAMES, TEXTS)
@settings(max_examples=300)
def test_no_two_keys_share_a_lane(path: str, value: str, other_path: str, other: str) -> None:
    one = lane_of("s", per_key(path), {path: value}).name
    two = lane_of("s", per_key(other_path), {other_path: other}).name
    assert (one == two) == ((path, value) == (other_path, other))

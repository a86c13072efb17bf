"""The official OpenAI client against the gateway: with a session and without, streaming and not."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import BEARER, TOKEN, House, Running
from tests.unit.pictures.samples import png

ASKS = {"operation": "write", "arguments": {"path": "AGENTS.md", "text": "Be kind."}}
HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def house(house: House) -> House:
    house.configure(
        agents={
            "defaults": {"model": {"primary": "script/talk.yaml"}},
            "list": [{"id": "main"}, {"id": "helper"}],
        }
    )
    say(house, {"text": "First words."}, {"text": "Second words."})
    return house


def say(house: House, *replies: dict[str, Any]) -> None:
    house.play({"text": "It is done."})
    (house.root / "talk.yaml").write_text(json.dumps({"replies": list(replies)}))


def client(gateway: Running, token: str = TOKEN) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=token, timeout=240)


def streamed(gateway: Running, **asked: Any) -> tuple[str, list[Any]]:
    """The whole text, and the chunks."""
    given = {"model": "main", "messages": HELLO} | asked
    chunks = list(client(gateway).chat.completions.create(**given, stream=True))
    return "".join(each.choices[0].delta.content or "" for each in chunks if each.choices), chunks


def keys(gateway: Running) -> list[str]:
    return [each["key"] for each in gateway.get("/api/sessions").json()]


class TestWithASession:
    def test_it_goes_on_and_is_listed(self, house: House) -> None:
        with house.open() as gateway:
            chat = client(gateway).chat.completions
            first = chat.create(model="main", messages=HELLO, user="ann@example.org")
            long = [*HELLO, {"role": "assistant", "content": "x"}, {"role": "user", "content": "And now?"}]
            second = chat.create(model="main", messages=long, user="ann@example.org")
            assert [first.choices[0].message.content, second.choices[0].message.content] == [
                "First words.",
                "Second words.",
            ]
            assert first.choices[0].finish_reason == "stop"
            assert first.usage is not None
            key = "agent:main:openai:dm:ann@example.org"
            assert keys(gateway) == [key]
            said = gateway.get(f"/api/sessions/{key}/messages").json()
            assert [each["text"] for each in said] == ["Hello", "First words.", "And now?", "Second words."]

    def test_the_header_names_it(self, house: House) -> None:
        with house.open() as gateway:
            header = {"x-openclaw-session-key": "agent:helper:telegram:dm:5"}
            text, _ = streamed(gateway, model="agent:helper", extra_headers=header)
            assert text == "First words."
            assert keys(gateway) == ["agent:helper:telegram:dm:5"]

    def test_the_same_request_twice_is_one_turn(self, house: House) -> None:
        with house.open() as gateway:
            header = {"Idempotency-Key": "abc"}
            chat = client(gateway).chat.completions
            found = [
                chat.create(model="main", messages=HELLO, user="ann", extra_headers=header) for _ in range(2)
            ]
            assert found[0].id == found[1].id
            assert len(gateway.get("/api/runs").json()) == 1


class TestWithoutASession:
    def test_the_messages_are_all_there_is(self, house: House) -> None:
        with house.open() as gateway:
            chat = client(gateway).chat.completions
            for _ in range(2):
                assert chat.create(model="main", messages=HELLO).choices[0].message.content == "First words."
            messages: list[ChatCompletionMessageParam] = [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "First words."},
                {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
            ]
            assert chat.create(model="main", messages=messages).choices[0].message.content == "Second words."
            assert keys(gateway) == []
            assert gateway.get("/api/search?q=hello").json() == []

    def test_streaming(self, house: House) -> None:
        with house.open() as gateway:
            text, chunks = streamed(gateway, stream_options={"include_usage": True})
            assert text == "First words."
            assert chunks[0].choices[0].delta.role == "assistant"
            assert chunks[-2].choices[0].finish_reason == "stop"
            assert (chunks[-1].choices, chunks[-1].usage.total_tokens >= 0) == ([], True)
            assert len({each.id for each in chunks}) == 1

    def test_silence_and_several_messages(self, house: House) -> None:
        look = {"text": "Let me look.", "calls": [{"operation": "ls", "arguments": {"path": "."}}]}
        say(house, look, {"text": "Nothing there."})
        with house.open() as gateway:
            assert streamed(gateway)[0] == "Let me look.\n\nNothing there."
        say(house, {"text": "NO_REPLY"})
        with house.open() as gateway:
            assert streamed(gateway)[0] == ""


class TestPictures:
    def picture(self, url: str) -> list[ChatCompletionMessageParam]:
        parts = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": url}}]
        return cast("list[ChatCompletionMessageParam]", [{"role": "user", "content": parts}])

    def test_a_data_url_is_kept_with_the_message(self, house: House) -> None:
        url = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
        with house.open() as gateway:
            chat = client(gateway).chat.completions
            done = chat.create(model="main", messages=self.picture(url), user="ann")
            assert done.choices[0].message.content == "First words."
            [asked, _] = gateway.get("/api/sessions/agent:main:openai:dm:ann/messages").json()
            assert [each["media_type"] for each in asked["attachments"]["pictures"]] == ["image/png"]

    def test_nothing_is_fetched(self, house: House) -> None:
        messages = self.picture("https://example.org/a.png")
        with house.open() as gateway, pytest.raises(openai.BadRequestError, match="none is fetched"):
            client(gateway).chat.completions.create(model="main", messages=messages)


class TestApprovals:
    @pytest.mark.parametrize("stream", [True, False])
    def test_they_are_said_and_listed(self, house: House, stream: bool) -> None:
        say(house, {"calls": [ASKS]}, {"text": "I asked for it."})
        with house.open() as gateway:
            if stream:
                text, chunks = streamed(gateway, user="ann")
                colleague = next(each.colleague for each in chunks if getattr(each, "colleague", None))
            else:
                whole: Any = client(gateway).chat.completions.create(model="main", messages=HELLO, user="ann")
                text, colleague = whole.choices[0].message.content, whole.colleague
            [approval] = colleague["approvals"]
            waiting = f"Waiting for a person: write (approval {approval['id'][-8:]})."
            assert text == f"I asked for it.\n\n{waiting}"
            assert colleague["session_key"] == "agent:main:openai:dm:ann"


class TestExperts:
    @pytest.mark.parametrize("stream", [True, False])
    def test_a_task(self, house: House, stream: bool) -> None:
        with house.open() as gateway:
            model = f"expert:{CLERK}"
            if stream:
                assert streamed(gateway, model=model)[0] == "It is done."
            else:
                done = client(gateway).chat.completions.create(model=model, messages=HELLO)
                assert done.choices[0].message.content == "It is done."
            assert [each["expert"] for each in gateway.get("/api/runs").json()] == [CLERK]

    @pytest.mark.parametrize("stream", [True, False])
    def test_with_a_user_the_conversation_goes_on(self, house: House, stream: bool) -> None:
        with house.open() as gateway:
            house.play({"text": "Noted."}, {"text": "It is blue."}, {"text": "Who are you?"})
            model = f"expert:{CLERK}"

            def ask(text: str, user: str) -> str:
                messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": text}]
                if stream:
                    return streamed(gateway, model=model, messages=messages, user=user)[0]
                done = client(gateway).chat.completions.create(model=model, messages=messages, user=user)
                return str(done.choices[0].message.content)

            said = [ask("My colour is blue.", "ann@example.org"), ask("Which is it?", "ann@example.org")]
            assert said == ["Noted.", "It is blue."]  # the script counts the answers before it
            assert ask("And mine?", "a b:c") == "Noted."
            key = f"agent:main:expert:{CLERK}:openai:"
            assert set(keys(gateway)) == {f"{key}ann@example.org", f"{key}a%20b%3Ac"}
            items = gateway.get(f"/api/sessions/{key}ann@example.org/messages").json()
            assert [each["text"] for each in items] == [
                "My colour is blue.",
                "Noted.",
                "Which is it?",
                "It is blue.",
            ]

    def test_a_session_of_somebody_else_is_refused(self, house: House) -> None:
        with house.open() as gateway:
            headers = {"x-openclaw-session-key": "agent:main:main"}
            with pytest.raises(openai.BadRequestError, match="no session of the expert"):
                client(gateway).chat.completions.create(
                    model=f"expert:{CLERK}", messages=HELLO, extra_headers=headers
                )

    @pytest.mark.parametrize("stream", [True, False])
    def test_the_main_agent_hands_over_and_relays(self, house: House, stream: bool) -> None:
        asks = {"label": f"expert:{CLERK}", "message": "Summarise the pipeline."}
        say(house, {"calls": [{"operation": "sessions_send", "arguments": asks}]}, {"text": "Five deals."})
        house.play({"text": "Five open deals, worth $212k."})
        with house.open() as gateway:
            question: list[ChatCompletionMessageParam] = [
                {"role": "user", "content": "What's my pipeline looking like?"}
            ]
            if stream:
                assert streamed(gateway, messages=question, user="ann")[0] == "Five deals."
            else:
                chat = client(gateway).chat.completions
                done = chat.create(model="main", messages=question, user="ann")
                assert done.choices[0].message.content == "Five deals."
            task, turn = gateway.get("/api/runs").json()
            child, parent = gateway.ended(task["id"]), gateway.ended(turn["id"])
            assert (child["expert"], child["parent_run"]) == (CLERK, parent["id"])
            assert "worth $212k" in parent["calls"][0]["result"]["text"]


class TestModels:
    def test_agents_and_experts(self, house: House) -> None:
        with house.open() as gateway:
            found = [each.id for each in client(gateway).models.list()]
            assert found == ["main", "agent:main", "agent:helper", f"expert:{CLERK}"]
            assert client(gateway).models.retrieve("agent:helper").id == "agent:helper"


class TestErrors:
    @pytest.mark.parametrize(
        ("asked", "error", "message"),
        [
            ({"model": "gpt-9"}, openai.NotFoundError, "there is no model 'gpt-9'"),
            ({"model": "agent:ghost"}, openai.NotFoundError, "there is no agent 'ghost'"),
            ({"model": "expert:ghost"}, openai.NotFoundError, "there is no expert 'ghost'"),
            ({"messages": []}, openai.UnprocessableEntityError, "messages"),
            ({"messages": [{"role": "user", "content": ""}]}, openai.BadRequestError, "no message"),
            ({"n": 2}, openai.BadRequestError, "n is 1"),
            ({"tools": [{"type": "function"}]}, openai.BadRequestError, "has its own"),
            ({"user": "a" * 201}, openai.UnprocessableEntityError, "user"),
        ],
    )
    def test_what_is_asked(
        self, house: House, asked: dict[str, Any], error: type[openai.APIStatusError], message: str
    ) -> None:
        with house.open() as gateway:
            given: dict[str, Any] = {"model": "main", "messages": HELLO} | asked
            with pytest.raises(error) as raised:
                client(gateway).chat.completions.create(**given)
            assert message in raised.value.message
            body: Any = raised.value.body
            assert {"message", "type", "code", "param"} <= set(body)

    def test_a_wrong_token_and_a_turn_that_fails(self, house: House) -> None:
        say(house, {"when": "never", "text": "x"})
        with house.open() as gateway:
            with pytest.raises(openai.AuthenticationError) as refused:
                client(gateway, "wrong").models.list()
            assert refused.value.type == "authentication_error"
            with pytest.raises(openai.UnprocessableEntityError, match="no reply number 1"):
                client(gateway).chat.completions.create(model="main", messages=HELLO)
            with pytest.raises(openai.APIError, match="no reply number 1"):
                streamed(gateway)
            assert len(gateway.get("/api/runs").json()) == 2

    @pytest.mark.parametrize("stream", [True, False])
    def test_a_stream_that_broke_is_told_once(self, house: House, stream: bool) -> None:
        text = "All of this is said a second time, and read once."
        broken = {"text": text, "error": {"reason": "cut", "after": 4, "times": 1}}
        (house.root / "talk.yaml").write_text(json.dumps({"log": "talk.log", "replies": [broken]}))
        with house.open() as gateway:
            if stream:
                said, chunks = streamed(gateway)
                assert chunks[-1].choices[0].finish_reason == "stop"
            else:
                done = client(gateway).chat.completions.create(model="main", messages=HELLO)
                said = str(done.choices[0].message.content)
            assert said == text
            assert len((house.root / "talk.log").read_text().splitlines()) == 2

    def test_a_denied_message(self, house: House) -> None:
        with house.open() as gateway:
            path = "/api/sessions/agent:main:openai:dm:ann"
            gateway.client.patch(path, json={"send_policy": "deny"}, headers=BEARER)
            with pytest.raises(openai.PermissionDeniedError, match="the send policy denies it"):
                client(gateway).chat.completions.create(model="main", messages=HELLO, user="ann")

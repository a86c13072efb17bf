from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.session_key import BadSessionKey, SessionKey, is_key

WORDS = st.text("abcdefghijklmnopqrstuvwxyzXYZ0123456789-_", min_size=1, max_size=12)
IDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
RESERVED = {"agent", "main", "subagent", "acp", "expert", "thread", "topic"} | {
    *("dm", "direct", "group", "channel")
}
NAMES = WORDS.filter(lambda word: word not in RESERVED)

FORMS = [
    ("agent:main:main", SessionKey("main", "main")),
    ("agent:atlas:main", SessionKey("atlas", "main")),
    (
        "agent:main:telegram:dm:123456789",
        SessionKey("main", "chat", channel="telegram", chat_type="dm", peer_id="123456789"),
    ),
    (
        "agent:main:slack:channel:C12345:thread:1699.5",
        SessionKey(
            "main",
            "chat",
            channel="slack",
            chat_type="channel",
            peer_id="C12345",
            thread_kind="thread",
            thread_id="1699.5",
        ),
    ),
    (
        "agent:main:telegram:group:-100:topic:7",
        SessionKey(
            "main",
            "chat",
            channel="telegram",
            chat_type="group",
            peer_id="-100",
            thread_kind="topic",
            thread_id="7",
        ),
    ),
    (
        "agent:main:discord:group:guild-id:channel:chan-id",
        SessionKey(
            "main", "chat", channel="discord", chat_type="group", peer_id="guild-id", room_id="chan-id"
        ),
    ),
    (
        "agent:main:telegram:work:dm:5",
        SessionKey("main", "chat", channel="telegram", account_id="work", chat_type="dm", peer_id="5"),
    ),
    ("agent:main:dm:alice", SessionKey("main", "chat", chat_type="dm", peer_id="alice")),
    (
        "agent:main:openai:dm:user-1",
        SessionKey("main", "chat", channel="openai", chat_type="dm", peer_id="user-1"),
    ),
    ("agent:atlas:subagent:research-task", SessionKey("atlas", "subagent", child_id="research-task")),
    ("agent:main:acp:9f", SessionKey("main", "acp", child_id="9f")),
    ("agent:main:expert:sales", SessionKey("main", "expert", expert="sales")),
    (
        "agent:main:expert:sales:daily-report:0198aa",
        SessionKey("main", "expert_process", expert="sales", process="daily-report", run_id="0198aa"),
    ),
]


@pytest.mark.parametrize(("text", "key"), FORMS)
def test_every_form_is_read_and_written(text: str, key: SessionKey) -> None:
    assert SessionKey.parse(text) == key
    assert str(key) == text


@pytest.mark.parametrize(("text", "key"), FORMS)
def test_a_key_without_its_agent_belongs_to_main(text: str, key: SessionKey) -> None:
    unscoped = SessionKey.parse(key.unscoped)
    assert str(unscoped) == f"agent:main:{key.unscoped}"
    assert SessionKey.parse(key.unscoped, agent=key.agent_id) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("main", "agent:main:main"),
        ("telegram:dm:123456789", "agent:main:telegram:dm:123456789"),
        ("discord:group:g:channel:c", "agent:main:discord:group:g:channel:c"),
        ("discord:group:g:channel:c:thread:t", "agent:main:discord:group:g:channel:c:thread:t"),
        ("slack:channel:C12345:thread:ts123", "agent:main:slack:channel:C12345:thread:ts123"),
        ("subagent:task-abc123", "agent:main:subagent:task-abc123"),
        ("expert:sales", "agent:main:expert:sales"),
        ("expert:sales:report:0198aa", "agent:main:expert:sales:report:0198aa"),
        ("agent:Atlas:main", "agent:atlas:main"),
        ("agent:MAIN:slack:channel:C12:thread:Ts", "agent:main:slack:channel:C12:thread:Ts"),
        ("agent:main:whatsapp:direct:+49", "agent:main:whatsapp:dm:+49"),
        ("agent:main:matrix:channel:!r%3Ahost", "agent:main:matrix:channel:!r%3Ahost"),
        ("agent:main:x:dm:%41%zz", "agent:main:x:dm:A%25zz"),
    ],
)
def test_what_is_read_has_one_spelling(text: str, key: str) -> None:
    assert str(SessionKey.parse(text)) == key
    assert is_key(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("agent", "is no session key"),
        ("agent:main", "is no session key"),
        ("agent:main:", "has an empty part"),
        ("agent::main", "has an empty part"),
        (":main", "has an empty part"),
        ("agent:main:telegram:dm:", "has an empty part"),
        ("agent:main:telegram", "is no session key"),
        ("agent:main:telegram:dm", "is no session key"),
        ("agent:main:telegram:private:5", "is no session key"),
        ("agent:main:telegram:DM:5", "is no session key"),
        ("agent:main:telegram:dm:5:thread", "is no session key"),
        ("agent:main:telegram:dm:5:reply:6", "is no session key"),
        ("agent:main:telegram:dm:5:channel:6", "is no session key"),
        ("agent:main:telegram:dm:5:thread:6:thread:7", "is no session key"),
        ("agent:main:expert", "is no session key"),
        ("agent:main:expert:sales:report", "is no session key"),
        ("agent:main:subagent:a:b", "is no session key"),
        ("agent:main:main:main", "is no session key"),
        ("agent:main:agent:main:main", "is no session key"),
        ("agent:main:group:5", "is no session key"),
        ("agent:main:telegram:dm:a b", "has a space"),
        ("agent:main:telegram:dm:a\nb", "has control characters"),
        ("agent:main:telegram:dm:a\x1b[2J", "has control characters"),
        ("agent:main:telegram:dm:\u202eab", "has control characters"),
        ("agent:main:telegram:dm:\ud800", "has control characters"),
        ("agent:main:telegram:dm:..", "has a path in it"),
        ("../../etc/passwd", "has a path in it"),
        ("agent:main:telegram:dm:a/b", "has a path in it"),
        ("agent:main:telegram:dm:%ff", "is not escaped as UTF-8"),
        ("agent:a%2Fb:main", "cannot stand in a session key"),
        ("expert:..%2F..", "has a path in it"),
        ("expert:%2E%2E%2Fx", "cannot stand in a session key"),
        ("agent:main:telegram:dm:" + "5" * 500, "longer than 512"),
        ("telegram:dm:" + "5" * 500, "longer than 512"),
    ],
)
def test_what_is_no_key_is_said_in_one_printable_line(text: str, said: str) -> None:
    with pytest.raises(BadSessionKey) as caught:
        SessionKey.parse(text)
    assert said in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 160
    assert not is_key(text)


@given(st.text(max_size=80) | st.text("agent:maindmexprtthd.%/ ", max_size=40))
def test_any_text_is_a_key_with_one_spelling_or_refused(text: str) -> None:
    try:
        key = SessionKey.parse(text)
    except BadSessionKey:
        return
    assert SessionKey.parse(str(key)) == key
    assert all(SessionKey.parse(each) == key for each in key.spellings)


@given(
    agent=WORDS,
    channel=NAMES,
    chat_type=st.sampled_from(["dm", "group", "channel"]),
    peer=IDS,
    thread=st.none() | IDS,
    thread_kind=st.sampled_from(["thread", "topic"]),
    account=st.none() | NAMES,
)
def test_chats_round_trip_whatever_their_ids_are(
    agent: str,
    channel: str,
    chat_type: str,
    peer: str,
    thread: str | None,
    thread_kind: str,
    account: str | None,
) -> None:
    key = SessionKey.for_chat(
        channel,
        chat_type,  # type: ignore[arg-type]
        peer,
        thread,
        agent=agent,
        account=account,
        thread_kind=thread_kind,  # type: ignore[arg-type]
    )
    text = str(key)
    assert SessionKey.parse(text) == key
    assert (key.peer_id, key.thread_id) == (peer, thread)
    assert text.isprintable()
    assert " " not in text
    assert "/" not in text
    assert ".." not in text
    assert (key.thread_parent() is None) == (thread is None)


@given(expert=WORDS, process=IDS, run=WORDS)
def test_processes_round_trip_whatever_their_names_are(expert: str, process: str, run: str) -> None:
    key = SessionKey.for_process(expert, process, run)
    assert SessionKey.parse(str(key)) == key
    assert (key.expert, key.process, key.run_id) == (expert, process, run)


def test_a_thread_has_the_chat_as_its_parent() -> None:
    thread = SessionKey.parse("slack:channel:C1:thread:ts1")
    assert str(thread.thread_parent()) == "agent:main:slack:channel:C1"
    topic = SessionKey.parse("agent:a:discord:group:g:channel:c:topic:9")
    assert str(topic.thread_parent()) == "agent:a:discord:group:g:channel:c"
    assert SessionKey.parse("slack:channel:C1").thread_parent() is None
    assert SessionKey.for_main().thread_parent() is None


def test_kinds_can_be_asked_for() -> None:
    assert SessionKey.for_subagent("1", agent="atlas").is_subagent
    assert SessionKey.parse("acp:1").is_acp
    assert SessionKey.for_main().is_main
    assert not SessionKey.for_expert("sales").is_subagent


def test_rows_of_earlier_versions_are_found() -> None:
    assert SessionKey.for_expert("sales").spellings == ("agent:main:expert:sales", "expert:sales")
    assert SessionKey.for_expert("sales", agent="b").spellings == ("agent:b:expert:sales",)


@pytest.mark.parametrize("channel", ["dm", "agent", "expert", "a:b", "", "a b", "thread"])
def test_a_channel_that_would_be_read_as_something_else_is_refused(channel: str) -> None:
    with pytest.raises(BadSessionKey):
        SessionKey.for_chat(channel, "dm", "1")


def test_ids_that_cannot_be_in_a_key_are_refused() -> None:
    for make in (
        lambda: SessionKey.for_chat("x", "dm", ""),
        lambda: SessionKey.for_chat("x", "dm", "\ud800"),
        lambda: SessionKey.for_chat("x", "dm", ":" * 200),
        lambda: SessionKey.for_chat(None, "group", "1"),
        lambda: SessionKey.for_subagent("a:b"),
        lambda: SessionKey.for_main(""),
    ):
        with pytest.raises(BadSessionKey):
            make()

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.errors import UsageError
from colleague.sessions.slash_command import (
    COMMANDS,
    Command,
    Compact,
    Decide,
    Help,
    LeaveChat,
    ListExperts,
    ListSessions,
    NewSession,
    PlainMessage,
    SetOption,
    SetQueue,
    ShowContext,
    ShowOption,
    ShowStatus,
    StopTurn,
    completions,
    find_command,
    help_text,
    parse_line,
)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/model anthropic/x", SetOption("model", "anthropic/x")),
        ("/model", ShowOption("model")),
        ("/model default", SetOption("model", None)),
        ("/think high", SetOption("thinking", "high")),
        ("/THINK High", SetOption("thinking", "high")),
        ("/reasoning stream", SetOption("reasoning", "stream")),
        ("/verbose on", SetOption("verbose", "on")),
        ("/send on", SetOption("send_policy", "allow")),
        ("/send off", SetOption("send_policy", "deny")),
        ("/send inherit", SetOption("send_policy", None)),
        ("/send", ShowOption("send_policy")),
        ("/queue", ShowOption("queue_mode")),
        ("/queue default", SetOption("queue_mode", None)),
        ("/queue steer+backlog", SetQueue("steer-backlog")),
        ("/queue collect debounce:2s cap:10 drop:summarize", SetQueue("collect", 2000, 10, "summarize")),
        ("/queue debounce:500ms", SetQueue(debounce_ms=500)),
        ("/queue drop:old", SetQueue(drop="old")),
        ("/new", NewSession()),
        ("/reset", NewSession()),
        ("/new Plan\nmy week", NewSession("Plan\nmy week")),
        ("  /stop ", StopTurn()),
        ("/status", ShowStatus()),
        ("/context", ShowContext()),
        ("/experts", ListExperts()),
        ("/sessions", ListSessions()),
        ("/compact", Compact()),
        ("/compact keep the numbers", Compact("keep the numbers")),
        ("/approve 1f2e3d4c", Decide("approve", "1f2e3d4c")),
        ("/approve 1f2e3d4c looks  good", Decide("approve", "1f2e3d4c", "looks  good")),
        ("/reject 1f2e3d4c", Decide("reject", "1f2e3d4c")),
        ("/help", Help()),
        ("/help /think", Help("think")),
        ("/exit", LeaveChat()),
    ],
)
def test_commands(line: str, command: Command) -> None:
    assert parse_line(line) == command


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "",
        "/",
        "/ model",
        "/etc/hosts is broken",
        "/usr/bin/python",
        "/var is full",
        "/home is where",
        "// a comment",
        "///",
        "what does /model do?",
        "1/2",
        "/1 of 2",
        "/ünïcode x",
    ],
)
def test_ordinary_messages_are_sent_as_they_are(line: str) -> None:
    assert parse_line(line) == PlainMessage(line)


def test_two_slashes_send_one() -> None:
    assert parse_line("//model is a command") == PlainMessage("/model is a command")
    assert parse_line("//new") == PlainMessage("/new")


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("/modle x", "there is no command /modle", "did you mean /model? to send the text, write //modle"),
        ("/stats", "there is no command /stats", "did you mean /status?"),
        ("/frobnicate", "there is no command /frobnicate", "type /help"),
        ("/think hihg", "'hihg' is no value for thinking", "did you mean 'high'?"),
        ("/think 5000", "'5000' is no value for thinking", "it is one of off, low, medium, high"),
        ("/verbose maybe", "'maybe' is no value for verbose", "it is one of off, on, full"),
        ("/send never", "'never' is no value for send policy", "it is one of on, off, inherit"),
        ("/model a b", "'a b' is no model", "write one word"),
        ("/queue colect", "'colect' is no value for queue mode", "did you mean 'collect'?"),
        ("/queue collect soon", "'soon' is not understood", "debounce:2s"),
        ("/queue collect debounce:soon", "'soon' is no time to wait", "2s"),
        ("/queue collect debounce:-1s", "'-1s' is no time to wait", "2s"),
        ("/queue collect cap:0", "'0' is no number of messages", "at least 1"),
        ("/queue collect cap:", "'' is no number of messages", "at least 1"),
        ("/queue cap:1 cap:2", "cap is given twice", "keep one"),
        ("/queue collect drop:all", "'all' is no value for drop", "old, new, summarize"),
        ("/queue collect bedounce:2s", "'bedounce' is no value for /queue", "did you mean 'debounce'?"),
        ("/approve", "/approve needs the id of an approval", "/status shows what waits"),
        ("/reject", "/reject needs the id of an approval", "/status shows what waits"),
        ("/stop that", "/stop takes nothing after it", "write //stop and the rest"),
        ("/help modle", "there is no command /modle", "did you mean /model?"),
    ],
)
def test_what_is_wrong_is_said_with_a_cure(line: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_line(line)
    assert caught.value.message == message
    assert hint in caught.value.hint


def said(line: str) -> str:
    try:
        parse_line(line)
    except UsageError as error:
        return error.message + error.hint
    return ""


@given(st.text(max_size=60) | st.text("/modelqueuthnk :\n12s", max_size=30).map("/".__add__))
def test_any_line_is_a_command_a_message_or_one_sentence(line: str) -> None:
    assert said(line).isprintable()


def test_help_names_every_command_once() -> None:
    lines = help_text().splitlines()
    assert [line.split()[0] for line in lines if line[0] == "/"] == [f"/{each.name}" for each in COMMANDS]
    assert all(each.help.endswith(".") for each in COMMANDS)
    assert "Also /reset." in lines[0]
    assert help_text("think").startswith("/think [off|low|medium|high|default]\n")
    assert "One of: steer, followup, collect," in help_text("queue")
    with pytest.raises(UsageError, match="there is no command /thnk"):
        help_text("thnk")


@pytest.mark.parametrize("width", [20, 40, 59])
def test_help_fits_into_a_narrow_terminal(width: int) -> None:
    lines = help_text(width=width).splitlines()
    assert [line.split()[0] for line in lines if line[0] == "/"] == [f"/{each.name}" for each in COMMANDS]
    assert max(map(len, lines)) <= width
    words = [word for each in COMMANDS for word in f"{each.usage} {each.description}".split()]
    assert "".join(help_text(width=width).split()) == "".join(words)


def test_names_and_aliases_are_unique_and_values_can_be_typed() -> None:
    names = [name for each in COMMANDS for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))
    for spec in COMMANDS:
        for value in spec.values:
            assert not isinstance(parse_line(f"/{spec.name} {value}"), PlainMessage)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/st", ["/stop", "/status"]),
        ("/think ", ["off", "low", "medium", "high", "default"]),
        ("/think h", ["high"]),
        ("/model anth", ["anthropic/x"]),
        ("/queue collect d", ["debounce:", "drop:old", "drop:new", "drop:summarize"]),
        ("/queue collect cap:3 drop:s", ["drop:summarize"]),
        ("/nothing ", []),
        ("hello", []),
        ("/new hello wor", []),
    ],
)
def test_completion(line: str, words: list[str]) -> None:
    assert completions(line, {"model": ["anthropic/x", "openai/y"]}) == words


def test_an_alias_finds_its_command() -> None:
    assert find_command("reset") == find_command("new")
    assert find_command("nothing") is None

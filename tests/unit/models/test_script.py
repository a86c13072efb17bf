"""Reading scripts, and saying where they are wrong."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from colleague.agent.models.script import Script, ScriptedCall, ScriptedError, ScriptError, read_script

WHOLE = """\
log: logs/asked.jsonl
context_window: 9000
cost: {input: 3, output: 0.25}
replies:
  - thinking: Who is this?
    calls:
      - operation: crm.get_contact
        arguments: {email: ada@example.com, fields: [name], limit: 1}
      - operation: crm.list
    delay: 0.5
  - when: not found
    text: Nobody.
  - when: /found \\d+/
    text: Some.
  - error: {reason: rate_limit, retry_after: 3s, times: 2}
    text: Ada.
  - error: overloaded
  - error: {reason: cut, after: 2}
    text: one two three
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "script.yaml"
    file.write_text(text)
    return file


def test_a_whole_script(tmp_path: Path) -> None:
    script = read_script(write(tmp_path, WHOLE))
    first, *_ = script.replies
    arguments = {"email": "ada@example.com", "fields": ["name"], "limit": 1}
    assert first.calls == (ScriptedCall("crm.get_contact", arguments), ScriptedCall("crm.list"))
    assert (first.thinking, first.delay) == ("Who is this?", 0.5)
    assert script.replies[3].error == ScriptedError("rate_limit", 3.0, 0, 2)
    assert script.replies[4].error == ScriptedError("overloaded")
    assert script.replies[5].error == ScriptedError("cut", after=2)
    assert script.log == tmp_path / "logs" / "asked.jsonl"
    assert script.context_window == 9000
    assert script.prices is not None
    assert (script.prices.input, script.prices.output) == (Decimal(3), Decimal("0.25"))


def test_a_bare_list_will_do(tmp_path: Path) -> None:
    script = read_script(write(tmp_path, "- text: Hello\n- text: 42\n"))
    assert [reply.text for reply in script.replies] == ["Hello", "42"]


@pytest.mark.parametrize(
    ("answers", "last", "number"),
    [
        (0, "hello", 1),
        (1, "hello", 4),
        (0, "it was not found", 2),
        (5, "it was not found", 2),
        (0, "found 12 of them", 3),
        (3, "hello", 4),
        (5, "hello", 6),
        (6, "hello", None),
    ],
)
def test_which_reply_is_played(tmp_path: Path, answers: int, last: str, number: int | None) -> None:
    script: Script = read_script(write(tmp_path, WHOLE))
    reply = script.choose(answers, last)
    assert (reply.number if reply else None) == number


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("replies:\n  - txt: Hello\n", 2, "'txt' is no field of reply 1"),
        ("replies:\n  - delay: 1\n", 2, "reply 1 says nothing"),
        ("replies: []\n", 1, "the script has no replies"),
        ("", 1, "the script has no replies"),
        ("replies: 5\n", 1, "replies must be a list, found '5'"),
        ("- hello\n", 1, "reply 1 must be a mapping of fields, found 'hello'"),
        ("replies:\n  - text: [1]\n", 2, "text must be text, found a list"),
        ("replies:\n  - text: a\n    delay: soon\n", 3, "'soon' is no number of seconds"),
        ("replies:\n  - text: a\n    delay: -1\n", 3, "'-1' is no number of seconds"),
        ("replies:\n  - text: a\n    when: /(/\n", 3, "is no regular expression"),
        ("replies:\n  - error: ratelimit\n", 2, "found 'ratelimit'"),
        ("replies:\n  - error: {after: 3}\n", 2, "error has no reason"),
        ("replies:\n  - error: {reason: cut, after: -1}\n", 2, "after must be a number from 0"),
        ("replies:\n  - error: {reason: server, times: 2}\n", 2, "times needs a log"),
        ("replies:\n  - calls:\n      - arguments: {}\n", 3, "a call has no operation"),
        (
            "replies:\n  - calls:\n      - operation: a\n        arguments: 5\n",
            4,
            "arguments must be a mapping",
        ),
        ("replies:\n  - text: a\n    text: b\n", 3, "'text' stands twice"),
        ("replies:\n\t- text: a\n", 2, "invalid YAML"),
        ("cost: {input: dear}\nreplies:\n  - text: a\n", 1, "'dear' is no price"),
    ],
)
def test_a_bad_script_says_where(tmp_path: Path, text: str, line: int, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ScriptError) as caught:
        read_script(file)
    assert f"{file}:{line}: " in caught.value.message
    assert message in caught.value.message


def test_the_nearest_word_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        read_script(write(tmp_path, "replies:\n  - error: ratelimit\n"))
    assert caught.value.hint == "did you mean 'rate_limit'?"


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"nothing.yaml: No such file"):
        read_script(tmp_path / "nothing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"- text: caf\xe9\n")
    with pytest.raises(ScriptError, match="UTF-8"):
        read_script(tmp_path / "latin.yaml")

"""A model that fails or does not answer: it is said at once and at each try, in every command that looks."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TextIO

import pytest

from tests.acceptance.provider import HELLO, KEY, NEVER, OVERLOADED, Provider, providing, use
from tests.conftest import Colleague
from tests.forked import forked_command
from tests.integration.models import openai_wire as wire
from tests.integration.models.server import Page, Stream

AT_ONCE = 25.0
"""Seconds within which a command ends after Ctrl-C, on a busy machine."""
TRY = re.compile(
    r"local/m1 answers 500 \(Overloaded, come back later\); next try in \d+ s; "
    r'Ctrl-C leaves run (\w+) queued, "colleague run resume \1" goes on'
)


@dataclass
class Started:
    """A command that goes on, and what it has said so far."""

    child: subprocess.Popen[str]
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for stream, lines in ((self.child.stdout, self.out), (self.child.stderr, self.err)):
            assert stream is not None
            threading.Thread(target=_read, args=(stream, lines), daemon=True).start()

    def until(self, condition: Callable[[Started], object], seconds: float = 240) -> None:
        _until(lambda: condition(self), seconds, lambda: f"{self.out}\n{self.err}")

    def interrupt(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Its exit code, and how long it took to end."""
        began = time.monotonic()
        self.child.send_signal(number)
        return self.child.wait(60), time.monotonic() - began


def _read(stream: TextIO, lines: list[str]) -> None:
    with suppress(ValueError):  # closed while it was read
        lines.extend(stream)


def _until(condition: Callable[[], object], seconds: float, about: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, about()
        time.sleep(0.05)


@contextmanager
def started(colleague: Colleague, *arguments: str, **environment: str) -> Iterator[Started]:
    child = subprocess.Popen(
        forked_command("-m", "colleague", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=colleague.environment(environment),
        cwd=colleague.home.parent,
    )
    try:
        yield Started(child)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        for stream in (child.stdout, child.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture
def provider(colleague: Colleague) -> Iterator[Provider]:
    with providing(OVERLOADED) as found:
        use(colleague, found)
        yield found


def newest(colleague: Colleague) -> dict[str, Any]:
    run = colleague.ok("run", "list", "--limit", "1", "--json").json[0]
    document: dict[str, Any] = colleague.ok("run", "show", run["id"], "--json").json
    return document


def stalls(colleague: Colleague) -> list[int]:
    with sqlite3.connect(colleague.home / "state" / "colleague.sqlite") as database:
        return [row[0] for row in database.execute("SELECT stalls FROM runs ORDER BY id")]


def tries(process: Started) -> list[str]:
    return [line for line in process.err if TRY.search(line)]


def test_each_failed_try_is_one_line_and_the_answer_comes_after_them(
    colleague: Colleague, provider: Provider
) -> None:
    provider.answer(OVERLOADED, OVERLOADED, HELLO)
    said = colleague("agent", "hello")
    assert (said.code, said.out) == (0, "Good morning.\n")
    assert len([line for line in said.err.splitlines() if TRY.search(line)]) == 2
    run = newest(colleague)
    assert (run["trouble"], run["outcome"]) == (None, "completed")


def test_every_command_tells_of_the_trouble_of_another_process(
    colleague: Colleague, provider: Provider
) -> None:
    with started(colleague, "agent", "hello") as process:
        process.until(tries)
        run = newest(colleague)
        assert run["status"] == "running"
        assert run["trouble"]["text"] == "local/m1 answers 500 (Overloaded, come back later)"
        assert run["trouble"]["since"] <= run["trouble"]["next_try_at"]
        shown = colleague.ok("run", "show", run["id"]).out
        assert "retrying model" in shown.splitlines()[0]
        assert "trouble: local/m1 answers 500 (Overloaded, come back later); " in shown
        assert "nobody works" not in shown
        assert "retrying model" in colleague.ok("run", "list").out
        assert "local/m1 answers 500" in colleague.ok("status").out
        [listed] = colleague.ok("status", "--json").json["troubles"]
        assert listed["text"] == run["trouble"]["text"]
        with started(colleague, "run", "watch", run["id"]) as watching:
            watching.until(lambda each: "".join(each.err).count("local/m1 answers 500") >= 2)
            code, seconds = watching.interrupt()
            assert (code, seconds < AT_ONCE) == (130, True)
            watching.until(lambda each: "another process goes on with run" in "".join(each.err))
        provider.answer(HELLO)
        assert process.child.wait(60) == 0
    assert newest(colleague)["trouble"] is None


def test_an_interrupted_command_gives_its_run_back_and_resume_goes_on(
    colleague: Colleague, provider: Provider
) -> None:
    with started(colleague, "agent", "hello") as process:
        process.until(tries)
        code, seconds = process.interrupt()
        assert (code, seconds < AT_ONCE) == (130, True), seconds
        run = newest(colleague)
        ending = run["id"][-8:]
        stays = f"run {ending} stays queued; go on with: colleague run resume {ending}"
        process.until(lambda each: stays in "".join(each.err))
        assert "Traceback" not in "".join(process.err)
    assert (run["status"], run["trouble"], stalls(colleague)) == ("queued", None, [0])
    nobody = f"queued; nobody works on it: colleague serve, or colleague run resume {ending}"
    assert nobody in colleague.ok("run", "show", ending).out
    assert nobody in colleague.ok("run", "list").err
    provider.answer(HELLO)
    said = colleague("run", "resume", ending)
    assert (said.code, said.out) == (0, "Good morning.\n")
    again = colleague("run", "resume", ending)
    assert again.code == 1
    assert f"run {ending} has ended: completed" in again.err


def test_a_message_behind_a_turn_in_trouble_says_so_and_what_that_one_waits_for(
    colleague: Colleague, provider: Provider
) -> None:
    with started(colleague, "agent", "first") as process:
        process.until(tries)
        process.interrupt()
    first = newest(colleague)["id"][-8:]
    with started(colleague, "agent", "second") as process:
        waits = (
            "agent:main:main: The turn at work reads it before its next step, or it gets a turn of its own "
            "afterwards. Waiting for the answer.\n"
        )
        process.until(lambda each: waits in each.err)
        trouble = "local/m1 answers 500 (Overloaded, come back later)"
        process.until(lambda each: "".join(each.err).count(trouble) >= 2)
        process.interrupt()
    shown = colleague.ok("run", "show", first).out
    assert f"run {first} is queued; nobody works on it" in shown
    provider.answer(HELLO)
    assert colleague("run", "resume", first).out == "Good morning.\n"
    assert [each["outcome"] for each in colleague.ok("run", "list", "--json").json] == ["completed"]
    items = colleague.ok("session", "show", "--json").json["messages"]
    assert [each["text"] for each in items] == ["first", "second", "Good morning."]


def test_no_number_of_interruptions_counts_as_a_crash(colleague: Colleague, provider: Provider) -> None:
    command, ending = ("agent", "hello"), ""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGINT):
        with started(colleague, *command) as process:
            process.until(tries)
            process.child.send_signal(number)
            process.child.send_signal(number)
            assert process.child.wait(120) == 128 + number
        ending = newest(colleague)["id"][-8:]
        command = ("run", "resume", ending)
        assert stalls(colleague) == [0]
    provider.answer(HELLO)
    assert colleague("run", "resume", ending).code == 0
    assert newest(colleague)["attempts"][0]["error"] is None


def test_ctrl_c_on_a_terminal(colleague: Colleague, provider: Provider) -> None:
    ours, theirs = pty.openpty()
    command = forked_command("-m", "colleague", "agent", "hello")
    environment = colleague.environment({"TERM": "xterm", "COLUMNS": "250"})
    shown: list[bytes] = []
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: _take_terminal(0),
    ) as process:
        os.close(theirs)
        threading.Thread(target=_read_terminal, args=(ours, shown), daemon=True).start()
        _until(lambda: b"local/m1 answers 500" in b"".join(shown), 30, lambda: str(shown))
        os.write(ours, b"\x03")
        assert process.wait(AT_ONCE) == 130
        _until(lambda: b"go on with: colleague run resume" in b"".join(shown), 5, lambda: str(shown))
    os.close(ours)
    assert newest(colleague)["status"] == "queued"


def _take_terminal(descriptor: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


def _read_terminal(terminal: int, shown: list[bytes]) -> None:
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            return
        if not chunk:
            return
        shown.append(chunk)


def test_a_killed_command_leaves_its_run_and_says_so(colleague: Colleague, provider: Provider) -> None:
    with started(colleague, "agent", "hello") as process:
        process.until(tries)
        process.child.kill()
        process.child.wait()
    run = newest(colleague)
    ending = run["id"][-8:]
    _until(lambda: "nobody works on it" in colleague.ok("run", "show", ending).out, 20)
    provider.answer(HELLO)
    assert colleague("run", "resume", ending).out == "Good morning.\n"
    run = newest(colleague)
    assert (run["outcome"], run["trouble"]) == ("completed", None)


def test_a_model_that_says_nothing_is_told_after_ten_seconds(
    colleague: Colleague, provider: Provider
) -> None:
    provider.answer(NEVER)
    began = time.monotonic()
    with started(colleague, "agent", "hello") as process:
        process.until(lambda each: "… local/m1 has said nothing for 10 s" in "".join(each.err), 40)
        assert time.monotonic() - began >= 10
        assert newest(colleague)["trouble"] is None
        assert process.interrupt()[0] == 130


def test_a_huge_error_with_the_key_in_it_is_one_short_line(colleague: Colleague, provider: Provider) -> None:
    padding = "x" * (500 - len("Bad key ") - 10)
    hostile = f"Bad key {padding}{KEY}\x1b[2J {'y' * 1_000_000}"
    provider.answer(Page(500, wire.error(hostile)), HELLO)
    said = colleague("agent", "hello")
    assert said.code == 0
    [line] = [line for line in said.err.splitlines() if "answers 500" in line]
    assert len(line) < 400
    provider.answer(Page(500, wire.error(hostile)))
    with started(colleague, "agent", "hello") as process:
        process.until(lambda each: any("answers 500" in line for line in each.err))
        run = colleague.ok("run", "list", "--limit", "1", "--json").out
        process.interrupt()
    logs = (colleague.home / "logs" / "colleague.jsonl").read_text()
    for text in (said.err, run, logs, "".join(process.err)):
        assert KEY[:12] not in text
        assert "\x1b" not in text


def test_ctrl_c_while_an_approved_run_goes_on(colleague: Colleague, provider: Provider) -> None:
    arguments = json.dumps({"path": "AGENTS.md", "text": "new"})
    asked = Stream(
        [wire.call(0, arguments, name="write", call_id="c-1"), wire.chunk({}, "tool_calls"), wire.DONE]
    )
    provider.answer(asked, HELLO, OVERLOADED)
    assert colleague("agent", "hello").code == 4
    [approval] = colleague.ok("approval", "list", "--json").json
    with started(colleague, "approve", approval["id"][-8:]) as process:
        process.until(tries)
        assert process.interrupt()[0] == 130
        process.until(lambda each: "stays queued; go on with: colleague run resume" in "".join(each.err))
    provider.answer(HELLO)
    run = newest(colleague)
    assert (run["status"], [call["status"] for call in run["calls"]]) == ("queued", ["finished"])
    assert colleague("run", "resume", run["id"][-8:]).out == "Good morning.\n"
    assert (colleague.home / "workspace" / "AGENTS.md").read_text() == "new"


def test_resume_refuses_what_waits_for_a_person(colleague: Colleague, provider: Provider) -> None:
    play = colleague.home / "play.yaml"
    call = {"operation": "write", "arguments": {"path": "AGENTS.md", "text": "new\n"}}
    play.write_text(json.dumps({"replies": [{"calls": [call]}, {"text": "Done."}]}))
    settings = colleague.home / "colleague.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"session": {"approvals": "wait"}}))
    assert colleague("agent", "hello", "--model", f"script/{play}").code == 4
    said = colleague("run", "resume", newest(colleague)["id"][-8:])
    [approval] = colleague.ok("approval", "list", "--json").json
    assert said.code == 1
    assert f"colleague approve {approval['id'][-8:]}" in said.err


def test_resume_refuses_what_has_failed(colleague: Colleague, provider: Provider) -> None:
    provider.answer(Page(401, wire.error("wrong key")))
    assert colleague("agent", "hello").code == 1
    ending = newest(colleague)["id"][-8:]
    said = colleague("run", "resume", ending)
    assert said.code == 1
    assert f"colleague run retry {ending}" in said.err

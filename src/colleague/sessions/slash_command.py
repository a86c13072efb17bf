"""What people type at a session with a slash in front: `/model anthropic/x`, `/queue collect cap:10`.

`COMMANDS` is the one list of them; help and completion are made from it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast, get_args

from colleague.errors import UsageError
from colleague.plain_text import plain
from colleague.suggest import close_names, did_you_mean

Option = Literal["model", "thinking", "reasoning", "verbose", "send_policy", "queue_mode"]
"""As in `PATCH /api/sessions/{key}`."""
QueueMode = Literal["steer", "followup", "collect", "steer-backlog", "queue", "interrupt"]
Drop = Literal["old", "new", "summarize"]

DEFAULT = "default"
"""Typed as a value: what was set for this session no longer counts."""
QUEUE_MODES = get_args(QueueMode)
DROPS = get_args(Drop)
THINKING = ("off", "low", "medium", "high")
_VERBOSE = ("off", "on", "full")
_USAGE_WIDTH = 27
_NARROW = 60
"""Below so many columns, two do not stand beside each other."""
_WORD = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*)(?:\s+(.*))?", re.DOTALL)
_TIME = re.compile(r"(\d{1,9})(ms|s|m)")
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000}
_MODE_SPELLINGS = {"steer+backlog": "steer-backlog"}


@dataclass(frozen=True)
class PlainMessage:
    """No command: what is sent to the agent."""

    text: str


@dataclass(frozen=True)
class NewSession:
    """Begin anew; `message` is the first thing said then, if anything."""

    message: str = ""


@dataclass(frozen=True)
class StopTurn:
    pass


@dataclass(frozen=True)
class ShowStatus:
    pass


@dataclass(frozen=True)
class ShowContext:
    pass


@dataclass(frozen=True)
class ListExperts:
    """All of them; or go on in the session of one."""

    expert: str = ""


@dataclass(frozen=True)
class ListSessions:
    """All of them; or go on in one, by its key or label."""

    session: str = ""


@dataclass(frozen=True)
class LeaveChat:
    pass


@dataclass(frozen=True)
class ShowOption:
    """Say what holds now."""

    option: Option


@dataclass(frozen=True)
class SetOption:
    """Set it for this session; None clears it."""

    option: Option
    value: str | None


@dataclass(frozen=True)
class SetQueue:
    """How messages wait in this session; what is None stays as it is."""

    mode: QueueMode | None = None
    debounce_ms: int | None = None
    cap: int | None = None
    drop: Drop | None = None


@dataclass(frozen=True)
class Decide:
    """Decide on an approval, named by its id or the end of it."""

    decision: Literal["approve", "reject"]
    approval: str
    note: str = ""


@dataclass(frozen=True)
class Compact:
    """Shorten what the model sees; `instructions` say what must stay."""

    instructions: str = ""


@dataclass(frozen=True)
class Help:
    """About one command, or all of them."""

    command: str | None = None


Command = (
    NewSession
    | StopTurn
    | ShowStatus
    | ShowContext
    | ListExperts
    | ListSessions
    | LeaveChat
    | ShowOption
    | SetOption
    | SetQueue
    | Decide
    | Compact
    | Help
)


@dataclass(frozen=True)
class CommandSpec:
    """One command: how it is typed, what it does, and which values complete its first argument."""

    name: str
    arguments: str
    help: str
    parse: Callable[[str], Command]
    values: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.arguments}".rstrip()

    @property
    def description(self) -> str:
        """The help sentence, and the other names of the command."""
        return " ".join([self.help, *(f"Also /{each}." for each in self.aliases)])


def parse_line(line: str) -> Command | PlainMessage:
    """What a person means by a line. Raises UsageError for a command that cannot be understood.

    `//text` sends `/text`; a path such as `/etc/hosts` makes an ordinary message."""
    text = line.strip()
    if re.match(r"//\w", text):
        return PlainMessage(text[1:])
    match = _WORD.fullmatch(text)
    if match is None:
        return PlainMessage(line)
    name, arguments = match[1].lower(), (match[2] or "").strip()
    spec = find_command(name)
    if spec is not None:
        return spec.parse(arguments)
    if arguments and not close_names(name, _names()):
        return PlainMessage(line)
    raise _unknown(name, text)


def find_command(name: str) -> CommandSpec | None:
    return next((each for each in COMMANDS if name == each.name or name in each.aliases), None)


def help_text(command: str | None = None, *, width: int = 80) -> str:
    """A line for each command, or for one of them. Raises UsageError when there is no such command."""
    if command is None:
        line = _help_line if width >= _NARROW else partial(_narrow_help, width=width)
        return "\n".join(line(each) for each in COMMANDS)
    spec = find_command(command)
    if spec is None:
        raise _unknown(command, f"/{command}")
    values = [f"One of: {', '.join(spec.values)}."] if spec.values else []
    return "\n".join([spec.usage, spec.description, *values])


def _help_line(spec: CommandSpec) -> str:
    """A long usage has a line of its own, so that the list fits into a narrow terminal."""
    gap = " " * (_USAGE_WIDTH - len(spec.usage)) or "\n" + " " * _USAGE_WIDTH
    return f"{spec.usage}{gap}{spec.description}"


def _narrow_help(spec: CommandSpec, *, width: int) -> str:
    """What it does stands below how it is typed."""
    usage = textwrap.wrap(spec.usage, width, subsequent_indent="    ")
    told = textwrap.wrap(spec.description, width, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([*usage, *told])


def completions(line: str, values: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """The words that may stand where `line` ends. `values` adds those that only the caller knows, such as
    the models, by name of a command."""
    if not line.startswith("/") or "\n" in line:
        return []
    name, space, rest = line[1:].partition(" ")
    if not space:
        return [f"/{each}" for each in _names() if each.startswith(name.lower())]
    spec = find_command(name.lower())
    if spec is None:
        return []
    first, *more = rest.split(" ")
    if more:
        return _queue_completions(more[-1]) if spec.name == "queue" else []
    known = (*(values or {}).get(spec.name, ()), *spec.values)
    return [each for each in known if each.startswith(first)]


def _queue_completions(word: str) -> list[str]:
    known = ("debounce:", "cap:", *(f"drop:{each}" for each in DROPS))
    return [each for each in known if each.startswith(word)]


def _names() -> list[str]:
    return [name for each in COMMANDS for name in (each.name, *each.aliases)]


def _unknown(name: str, text: str) -> UsageError:
    guess = close_names(name, _names())
    meant = f"did you mean /{guess[0]}? " if guess else "type /help to see all; "
    shown = text.split()[0]
    return UsageError(
        f"there is no command /{plain(name[:40])}", hint=f"{meant}to send the text, write /{shown[:41]}"
    )


def _alone(name: str, command: Command) -> Callable[[str], Command]:
    def parse(arguments: str) -> Command:
        if arguments:
            raise UsageError(
                f"/{name} takes nothing after it", hint=f"to send it as text, write //{name} and the rest"
            )
        return command

    return parse


def _option(option: Option, values: Mapping[str, str | None] | None = None) -> Callable[[str], Command]:
    """`values` are the words that may be typed, with what they set; None allows any one word."""

    def parse(arguments: str) -> Command:
        if not arguments:
            return ShowOption(option)
        word = arguments.lower()
        if word == DEFAULT:
            return SetOption(option, None)
        if values is None:
            return SetOption(option, _one_word(option, arguments))
        return SetOption(option, values[_chosen(word, values, option.replace("_", " "))])

    return parse


def _same(values: Sequence[str]) -> dict[str, str | None]:
    return {each: each for each in values}


def _one_word(what: str, arguments: str) -> str:
    if len(arguments.split()) > 1 or not arguments.isprintable():
        raise UsageError(
            f"'{plain(arguments[:60])}' is no {what}",
            hint="write one word, such as /model anthropic/claude-sonnet-4-5",
        )
    return arguments


def _chosen(word: str, known: Sequence[str] | Mapping[str, object], what: str) -> str:
    if word in known:
        return word
    meant = did_you_mean(word, known)
    allowed = "it is one of " + ", ".join(known)
    raise UsageError(f"'{plain(word[:60])}' is no value for {what}", hint=meant or allowed)


def _queue(arguments: str) -> Command:
    if not arguments:
        return ShowOption("queue_mode")
    if arguments.lower() == DEFAULT:
        return SetOption("queue_mode", None)
    words = arguments.lower().split()
    mode = None if ":" in words[0] else _queue_mode(words.pop(0))
    given = _queue_details(words)
    return SetQueue(
        mode,
        debounce_ms=_milliseconds(given["debounce"]) if "debounce" in given else None,
        cap=_count(given["cap"]) if "cap" in given else None,
        drop=cast(Drop, _chosen(given["drop"], DROPS, "drop")) if "drop" in given else None,
    )


def _queue_mode(word: str) -> QueueMode:
    return cast(QueueMode, _chosen(_MODE_SPELLINGS.get(word, word), QUEUE_MODES, "queue mode"))


def _queue_details(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        name, colon, value = word.partition(":")
        if not colon:
            raise UsageError(
                f"'{plain(word[:60])}' is not understood", hint="write debounce:2s, cap:10 or drop:old"
            )
        if _chosen(name, ("debounce", "cap", "drop"), "/queue") in given:
            raise UsageError(f"{name} is given twice", hint=f"keep one {name}:")
        given[name] = value
    return given


def _milliseconds(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise UsageError(f"'{plain(text[:60])}' is no time to wait", hint="write it as 500ms, 2s or 1m")
    return int(match[1]) * _MILLISECONDS[match[2]]


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise UsageError(f"'{plain(text[:60])}' is no number of messages", hint="write cap:10, at least 1")
    return int(text)


def _decide(decision: Literal["approve", "reject"]) -> Callable[[str], Command]:
    def parse(arguments: str) -> Command:
        if not arguments:
            raise UsageError(f"/{decision} needs the id of an approval", hint="/status shows what waits")
        approval, *note = arguments.split(maxsplit=1)
        return Decide(decision, approval, note[0] if note else "")

    return parse


def _help(arguments: str) -> Command:
    if not arguments:
        return Help()
    name = arguments.removeprefix("/").lower()
    spec = find_command(name)
    if spec is None:
        raise _unknown(name, f"/help {arguments}")
    return Help(spec.name)


_SEND = {"on": "allow", "off": "deny", "inherit": None}

COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        "new",
        "[MESSAGE]",
        "Begin a new conversation; the old one is archived.",
        NewSession,
        aliases=("reset",),
    ),
    CommandSpec("stop", "", "Stop the run that is at work.", _alone("stop", StopTurn())),
    CommandSpec(
        "status",
        "",
        "What runs, what waits for you, the model and the usage.",
        _alone("status", ShowStatus()),
    ),
    CommandSpec("model", "[MODEL|default]", "Show or set the model.", _option("model"), (DEFAULT,)),
    CommandSpec(
        "think",
        "[off|low|medium|high|default]",
        "Show or set how long the model may think.",
        _option("thinking", _same(THINKING)),
        (*THINKING, DEFAULT),
        ("thinking",),
    ),
    CommandSpec(
        "reasoning",
        "[off|on|stream|default]",
        "Show or set whether its reasoning is shown.",
        _option("reasoning", _same(("off", "on", "stream"))),
        ("off", "on", "stream", DEFAULT),
    ),
    CommandSpec(
        "verbose",
        "[off|on|full|default]",
        "Show or set what is told of tool calls.",
        _option("verbose", _same(_VERBOSE)),
        (*_VERBOSE, DEFAULT),
    ),
    CommandSpec(
        "queue",
        "[MODE] [debounce:2s] [cap:10] [drop:old|new|summarize]",
        "Show or set what a message does that arrives during a turn.",
        _queue,
        (*QUEUE_MODES, DEFAULT),
    ),
    CommandSpec(
        "send",
        "[on|off|inherit]",
        "Show or set whether this session may send messages.",
        _option("send_policy", _SEND),
        tuple(_SEND),
    ),
    CommandSpec("approve", "ID [NOTE]", "Say yes to what waits.", _decide("approve")),
    CommandSpec("reject", "ID [NOTE]", "Say no to what waits.", _decide("reject")),
    CommandSpec("experts", "[NAME]", "The experts; with a name, talk to that one.", ListExperts),
    CommandSpec("sessions", "[KEY|LABEL]", "The sessions; with a name, go on in that one.", ListSessions),
    CommandSpec("context", "", "What the model sees, and how much of it.", _alone("context", ShowContext())),
    CommandSpec("compact", "[WHAT MUST STAY]", "Shorten what the model sees.", Compact),
    CommandSpec("help", "[COMMAND]", "These commands, or one of them.", _help),
    CommandSpec("quit", "", "Leave the chat.", _alone("quit", LeaveChat()), aliases=("exit",)),
)

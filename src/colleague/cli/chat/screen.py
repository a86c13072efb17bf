"""The terminal of a chat: what is finished stands above, what is under way and the prompt at the bottom."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from colleague.cli.output import harmless

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from rich.console import RenderableType

PROMPT = "› "
DECIDING_KEYS = "ynerdhags"
"""All that may be offered."""
MOST_LIVE_LINES = 8
NARROWEST = 20
_STYLE = Style.from_dict({"live": "", "busy": "#888888", "choices": "bold", "prompt": "bold", "": ""})
_FENCES = ("```", "~~~")


class Screen:
    """Reads what a person types and shows what happens meanwhile. `on_stop` is called for Ctrl-C while
    something is at work, `on_key` for a key that decides a question."""

    def __init__(
        self,
        history: Path,
        completer: Completer,
        *,
        on_stop: Callable[[], None],
        on_key: Callable[[str], None],
    ) -> None:
        self._on_stop, self._on_key = on_stop, on_key
        self._under_way = ""
        self._busy, self._busy_since = "", 0.0
        self.choices: dict[str, str] = {}
        """Keys that decide the question that is asked now, and how they are shown."""
        self.asking = ""
        """Words before the prompt, when what is typed is no message."""
        self.draft = ""
        """What stands in the next prompt from the beginning."""
        self._last_interrupt = 0.0
        self._aside: list[str] | None = None
        """What is to be shown when another program gives the terminal back."""
        history.touch(mode=0o600)
        history.chmod(0o600)
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation="  ",
            key_bindings=self._bindings(),
            history=FileHistory(str(history)),
            completer=completer,
            complete_while_typing=True,
            erase_when_done=True,
            style=_STYLE,
            refresh_interval=0,
        )

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Also between two lines the terminal is ours, so that no key is lost that is typed then."""
        with self._session.app.input.raw_mode(), patch_stdout(raw=True):
            yield

    def _write(self, text: str) -> None:
        """Above the prompt. The terminal stays as it is, so that no key is lost that is typed meanwhile."""
        app = self._session.app
        if self._aside is not None:
            self._aside.append(text)
        elif app.is_running:
            app.renderer.erase()
            app.output.write_raw(text.replace("\n", "\r\n"))
            app.output.flush()
            app.renderer.reset()
            app.renderer.request_absolute_cursor_position()
            app.invalidate()
        else:
            app.output.write_raw(text)
            app.output.flush()

    async def read(self) -> str:
        """What was typed. Raises EOFError when the person leaves."""
        draft, self.draft = self.draft, ""
        typed = await self._session.prompt_async(default=draft)
        if typed.strip():
            self._last_interrupt = 0.0
            shown = "\n  ".join(typed.rstrip().splitlines())
            self.show(Text(f"\n{PROMPT}{harmless(shown)}", style="bold"))
        return typed

    def line(self, text: str, style: str = "dim") -> None:
        """A line that is indented stays so where it is wrapped."""
        inside = text.lstrip(" ")
        shown = Text(harmless(inside if "\n" not in text else text), style=style)
        indent = len(text) - len(inside) if "\n" not in text else 0
        self.show(Padding(shown, (0, 0, 0, indent), expand=False) if indent else shown)

    def answer(self, block: str) -> None:
        self.show(Markdown(_with_breaks(harmless(block)), hyperlinks=False))

    def show(self, what: RenderableType) -> None:
        """Above the prompt, as wide as the terminal is now."""
        paper = io.StringIO()
        Console(file=paper, force_terminal=True, width=self._width, highlight=False).print(what)
        self._write(paper.getvalue())

    def under_way(self, text: str) -> None:
        self._under_way = text
        self._redraw()

    def busy(self, label: str) -> None:
        if label != self._busy:
            self._busy, self._busy_since = label, time.monotonic()
            self._redraw()

    def tick(self) -> None:
        """Shows how long it takes already."""
        if self._busy:
            self._redraw()

    def ask(self, choices: dict[str, str]) -> None:
        self.choices = choices
        self._redraw()

    async def aside(self, work: Callable[[], object]) -> object:
        """Gives the terminal to another program for a while, such as an editor."""
        self._aside = []
        try:
            return await run_in_terminal(work, in_executor=True)
        finally:
            shown, self._aside = self._aside, None
            for text in shown:
                self._write(text)

    @property
    def _width(self) -> int:
        return max(NARROWEST, self._session.app.output.get_size().columns)

    def _redraw(self) -> None:
        self._session.app.invalidate()

    def _message(self) -> StyleAndTextTuples:
        shown: StyleAndTextTuples = []
        if live := self._live_lines():
            shown.append(("class:live", "\n".join(live) + "\n"))
        if self._busy:
            seconds = time.monotonic() - self._busy_since
            label = harmless(f"{self._busy}, {seconds:.0f} s · Ctrl-C stops")
            shown.append(("class:busy", f"{label[: self._width - 1]}\n"))
        if self.choices and not self.asking:
            shown.append(("class:choices", f"{'  '.join(self.choices.values())}\n"))
        shown.append(("class:prompt", self.asking or PROMPT))
        return shown

    def _live_lines(self) -> Sequence[str]:
        """The end of what is said, as far as there is room for it."""
        width = self._width - 1
        found: list[str] = []
        for line in harmless(self._under_way[-4000:]).splitlines():
            found += wrap(line, width, drop_whitespace=False) or [""]
        return found[-MOST_LIVE_LINES:]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        buffer_is_empty = Condition(lambda: not self._session.default_buffer.text)
        asks = Condition(lambda: bool(self.choices) and not self.asking)
        keys.add("enter")(self._enter)
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        keys.add("c-c")(self._interrupt)
        keys.add("<sigint>")(self._interrupt)
        keys.add("c-d", filter=buffer_is_empty)(lambda event: event.app.exit(exception=EOFError))
        for key in DECIDING_KEYS:
            offered = Condition(partial(self._offers, key))
            keys.add(key, filter=asks & buffer_is_empty & offered)(partial(self._decided, key))
        return keys

    def _offers(self, key: str) -> bool:
        return key in self.choices

    def _decided(self, key: str, _event: KeyPressEvent) -> None:
        self._on_key(key)

    def _enter(self, event: KeyPressEvent) -> None:
        """A backslash before it goes on in a new line."""
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif self.asking or buffer.text.strip():
            buffer.validate_and_handle()
        else:
            buffer.reset()

    def _interrupt(self, event: KeyPressEvent) -> None:
        """Stops what is at work; else clears what was typed; else, the second time, leaves."""
        if self._busy:
            self._on_stop()
        elif event.current_buffer.text or self.asking:
            event.current_buffer.reset()
            self.asking = ""
        elif self._last_interrupt:
            event.app.exit(exception=EOFError)
        else:
            self._last_interrupt = time.monotonic()
            self.line("Nothing is at work. Ctrl-C again or Ctrl-D leaves.")


def _with_breaks(text: str) -> str:
    """Markdown in which the line breaks of the answer stay."""
    lines, fenced = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith(_FENCES)
        fenced = fenced != fence
        lines.append(line if fenced or fence else f"{line.rstrip()}  ")
    return "\n".join(lines)

"""colleague demo: the main job, end to end, on an example expert in a demo office."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from colleague.cli.options import YesOption
from colleague.home import HOME_VARIABLE

EXPERT = "radiant-sales-expert"
MESSAGE = "m-acme-pricing"
PAUSE = "3s"
WAITS = 4
SECRET = "MAIL_SECRET"  # noqa: S105 - the name of a variable


def demo(
    model: Annotated[
        str, typer.Option("--model", help="A real model, as provider/model, instead of the rehearsal.")
    ] = "",
    yes: YesOption = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's home, to look around in it.")] = False,
    terminal: Annotated[
        bool,
        typer.Option("--terminal", help="One mail in the terminal; what CI gets, too."),
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of the page; 0 is any.")] = 0,
) -> None:
    """Show the main job on an example expert, in a temporary home. No key, no account.

    Opens the page with an expert at work, and mail that keeps coming until Ctrl-C."""
    import shutil
    import tempfile

    from colleague.cli.output import TICK, say
    from colleague.experts.runs.inputs import REHEARSAL

    root = Path(tempfile.mkdtemp(prefix="colleague-demo-"))
    on_page = not (terminal or yes) and has_person(os.environ)
    try:
        if on_page:
            from colleague.cli.demo_page import PageDemo

            PageDemo(root, model or REHEARSAL, yes, port=port).play()
        else:
            DemoHome(root, model or REHEARSAL, yes).play()
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
    if on_page:
        say(f"\n{TICK} The demo has ended. {_next(root, keep)}")
    else:
        say(f"\n{TICK} That is the whole way of one mail. {_next(root, keep)}")


def has_person(environ: Mapping[str, str]) -> bool:
    """Whether somebody sits at a terminal who can end what goes on by itself."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not environ.get("CI")


def _next(root: Path, keep: bool) -> str:
    program = typed_program(sys.argv[0])
    if keep:
        return f"Look around: OPENCLAW_STATE_DIR={root}/home {program} run list"
    return f"Go on with docs/getting-started.md, or keep this home with: {program} demo --keep"


def typed_program(typed: str) -> str:
    """How the command can be typed again: `make demo` runs one that is on no PATH."""
    import shutil

    return typed if Path(typed).name == "colleague" and not shutil.which("colleague") else "colleague"


@dataclass(frozen=True)
class DemoHome:
    """A temporary home and the office beside it."""

    root: Path
    model: str
    yes: bool
    secret: str = field(default_factory=lambda: os.urandom(16).hex(), repr=False)

    def play(self) -> None:
        self._set_up()
        self._mail_arrives()
        self._triage()
        self._decide()
        self._look()

    def _set_up(self) -> None:
        from colleague.experts.practice import office_command

        self._heading(
            "An office with mail, CRM and calendar, as an MCP server. Its CRM will fail once, on purpose:"
        )
        office = office_command(self._office)
        self._run("mcp", "add", "office", "--demo", "--", *office, "--fail", "get_deal=1")
        self._heading("An expert is a folder of Markdown and YAML. Install one, and connect its tools:")
        self._run("expert", "install", str(self._package()))
        for tool in ("crm", "email", "calendar"):
            self._run("expert", "bind", EXPERT, tool, "office")
        self._set_secret()
        self._heading("Check everything it says and needs:")
        self._run("expert", "enable", EXPERT)
        self._run("expert", "validate", EXPERT)

    def _set_secret(self) -> None:
        """Whoever sends to its webhook has to know one."""
        file = self.root / "home" / "experts" / EXPERT / "bindings.yaml"
        with file.open("a", encoding="utf-8") as bindings:
            bindings.write(f"triggers:\n  new_email:\n    secret: ${{{SECRET}}}\n")

    def _package(self) -> Path:
        """The example, with a shorter pause between attempts than the 30 seconds it asks for."""
        import shutil

        from colleague.experts.practice import example_folder

        copy = self.root / "package" / EXPERT
        shutil.copytree(example_folder(EXPERT), copy)
        manifest = copy / "expert.yaml"
        manifest.write_text(manifest.read_text(encoding="utf-8").replace("delay: 30s", f"delay: {PAUSE}"))
        return copy

    def _mail_arrives(self) -> None:
        from colleague.cli.output import say

        self._heading("A mail arrives:")
        [(name, sender, subject, body)] = self._rows(
            "SELECT from_name, from_email, subject, body FROM mails WHERE message_id = ?", MESSAGE
        )
        say(f"  From: {name} <{sender}>\n  Subject: {subject}\n")
        say("\n".join(f"  {line}" for line in body.splitlines()))

    def _triage(self) -> None:
        who = "a rehearsal, which needs no model" if self.model.startswith("rehearsal/") else self.model
        self._heading(f"The expert follows its playbook (by {who}). The CRM fails; {PAUSE} later it goes on:")
        arguments = ("--process", "inbound-email-triage", "--input", f"message_id={MESSAGE}")
        self._run("expert", "run", EXPERT, *arguments, "--model", self.model, live=True, fine=(0, WAITS))

    def _decide(self) -> None:
        """Whatever waits for a person, until nothing holds the run any more."""
        for _ in range(5):
            waiting = [each for each in self._pending() if each["kind"] != "draft"]
            if not waiting:
                return
            for each in waiting:
                self._ask(each)

    def _ask(self, asked: dict[str, Any]) -> None:
        from colleague.cli.output import say

        self._heading(
            "Its policy wants a yes for this. Nothing runs, and nothing is lost, until someone decides:"
        )
        say(f"  {asked['operation']} {asked['arguments']}")
        if self._agrees():
            self._run("approve", asked["id"][-8:], live=True, fine=(0, WAITS))
        else:
            self._run("respond", asked["id"][-8:], "No, leave it as it is.", live=True, fine=(0, WAITS))

    def _agrees(self) -> bool:
        import time

        from colleague.cli.output import say

        if self.yes or not sys.stdin.isatty():
            say("  (nobody is asked here; a yes is given in 2 seconds)")
            time.sleep(2)
            return True
        return typer.confirm("  Approve it?", default=True)

    def _look(self) -> None:
        from colleague.cli.output import say

        self._heading("What has really happened in the office:")
        for operation, arguments in self._rows("SELECT operation, arguments FROM ledger ORDER BY id"):
            say(f"  {operation} {arguments}")
        [(sent,)] = self._rows("SELECT count(*) FROM mails WHERE sent = 1")
        say(f"  mails sent: {sent}")
        self._heading("The reply is a draft: customers hear from people. Everything can be looked up:")
        self._run("approval", "list")
        self._run("status", "--all")
        [run] = self._json("run", "list", "--limit", "1", "--json")
        self._run("run", "show", run["id"][-8:], most=24)

    @property
    def _office(self) -> Path:
        return self.root / "office.sqlite"

    def _rows(self, query: str, *values: str) -> list[Any]:
        import sqlite3

        with sqlite3.connect(self._office) as database:
            return list(database.execute(query, values))

    def _pending(self) -> list[dict[str, Any]]:
        pending: list[dict[str, Any]] = self._json("approval", "list", "--json")
        return pending

    def _heading(self, text: str) -> None:
        from colleague.cli.output import say

        say(f"\n{text}")

    def _json(self, *arguments: str) -> Any:
        import json

        return json.loads(self._process(arguments, capture=True).stdout)

    def _run(self, *arguments: str, most: int = 0, live: bool = False, fine: tuple[int, ...] = (0,)) -> None:
        """Runs a command as a person would type it, in a process of its own."""
        from colleague.cli.output import note, say
        from colleague.errors import ColleagueError

        say(typer.style(f"$ colleague {' '.join(_display_command(arguments))}", bold=True))
        sys.stdout.flush()
        done = self._process(arguments, capture=not live)
        if not live:
            lines = done.stdout.rstrip().splitlines()
            say("\n".join(lines[:most] if most else lines))
            if most and len(lines) > most:
                say(f"  ... and {len(lines) - most} more lines")
        if done.returncode not in fine:
            note((done.stderr or "").rstrip())
            raise ColleagueError(
                f"the demo stopped: colleague {' '.join(arguments)} ended with {done.returncode}"
            )

    def _process(self, arguments: tuple[str, ...], *, capture: bool) -> Any:
        import subprocess

        command = [sys.executable, "-m", "colleague", *arguments]
        environment = os.environ | {HOME_VARIABLE: str(self.root / "home"), SECRET: self.secret}
        return subprocess.run(command, capture_output=capture, text=True, check=False, env=environment)


def _display_command(arguments: tuple[str, ...]) -> list[str]:
    """A command line without the long paths of this machine."""
    return [Path(each).name if each.startswith("/") else each for each in arguments]

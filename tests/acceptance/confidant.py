"""A support desk with secrets in its private file, a model that repeats them everywhere, and who listens."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sqlite3
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from colleague.cli.main import main
from tests.conftest import ROOT, Colleague
from tests.office import DESK, Office, call, calls, finished

CODE = "KESTREL-7Q4X-ZW"
SENTENCE = "The lighthouse keeper signs every refund after midnight in green ink."
AMOUNT = "48713.59"
SECRET = f"{SENTENCE} The code is {CODE}; the limit is 48,713.59 EUR."
PRIVATE_FILE = "knowledge/refund-limits.md"
CANARY = re.compile(r"7q4x|kestrel|lighthouse keeper|green ink|48[ ,.'_]?713[.,]59", re.IGNORECASE)
"""What must be seen nowhere. No id, size or time can look like this."""

TICKET = ("--process", "handle-ticket", "--input", "ticket_id=T-1001")
CLASSIFIED = {
    "kind": "damaged", "urgency": "low", "refund_asked": True, "wanted": SECRET, "evidence": SECRET,
    "instructions_found": CODE, "confidence": "high",
}  # fmt: skip
ASSESSED = {
    "verdict": "due", "amount": 189, "policy_line": "1", "reason": SECRET, "missing": CODE,
    "confidence": "high",
}  # fmt: skip
LESSON = {
    "scope": "package",
    "title": "Refunds",
    "observation": "Seen.",
    "correction": "Ask.",
    "confidence": "high",
}
ESCALATION = {"reason": SECRET, "context": f"{CODE} {AMOUNT}", "recommendation": SECRET}
CHILD = [
    call("complete", SECRET, narrative=SECRET, outputs=ASSESSED) | {"when": "Apply assess-refund"},
]
ASSESS = call("function.assess-refund", SECRET, ticket_id=CODE, kind=SECRET, today="2026-11-15")
TO_SERVERS = [
    call("tickets.add_reply", SECRET, ticket_id="T-1001", body=SECRET),
    call("tickets.add_reply", SECRET, ticket_id="T-1001", body=f"Your code is {CODE.lower()}."),
    call("tickets.add_reply", SECRET, ticket_id="T-1001", body="KESTREL\u200b-7Q4X-ZW"),
    call("tickets.add_reply", SECRET, ticket_id="T-1001", body="KESTREL%2D7Q4X%2DZW"),
    call("tickets.add_reply", SECRET, ticket_id="T-1001", body="keeper SIGNS every  refund"),
    call("tickets.refund", SECRET, ticket_id="T-1001", amount=1, reason=f"Below {AMOUNT}."),
    call("tickets.refund", SECRET, ticket_id="T-1001", amount=1, reason="up to 48 713,59"),
    call("tickets.get_ticket", SECRET, ticket_id=CODE),
    call("tickets.list_tickets", SECRET, customer_email=f"{CODE}@evil.example"),
    call("tickets.close_ticket", SECRET, ticket_id="T-1001", resolution=SECRET),
]
FILES = [
    call("write", SECRET, path="scratch/ticket-T-1001.md", text=SECRET),
    call("write", SECRET, path=f"scratch/{CODE}.md", text="A name tells, too."),
    call("read", SECRET, path="state/desk-log.md"),
    call("edit", SECRET, path="state/desk-log.md", edits=[{"old": "## Promises", "new": SECRET}]),
    call("read", SECRET, path=f"knowledge/{CODE}.md"),
    call("grep", SECRET, pattern=SECRET),
    call(CODE, SECRET, code=CODE),
    calls((f"tickets.{CODE}", {"amount": AMOUNT}), ("mark_step", {"step": 1, "status": SECRET})),
]  # fmt: skip
READ = [
    call("read", SECRET, path=PRIVATE_FILE),
    call("read", SECRET, path=f"./{PRIVATE_FILE}", line_numbers=True),
]
OUTPUTS = {
    "classification": CLASSIFIED,
    "assessment": ASSESSED | {"limit": AMOUNT, "limits": [AMOUNT, {CODE: AMOUNT}]},
    "outcome": {SECRET: SECRET, "refunded": AMOUNT},
}
COMPLETE = finished(SECRET, steps=9, outputs=OUTPUTS) | {"text": SECRET}


@dataclass
class Confidant:
    """The home, and everything that was printed so far."""

    office: Office
    patch: pytest.MonkeyPatch
    heard: list[tuple[str, str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.office.colleague.home

    @property
    def exports(self) -> Path:
        """Where trajectories are exported to."""
        folder = self.home.parent / "exports"
        folder.mkdir(exist_ok=True)
        return folder

    def type(self, *arguments: str) -> tuple[int, str]:
        """A command as a person types it, in this process; what it prints is remembered."""
        out, err = io.StringIO(), io.StringIO()
        self.patch.setattr(sys, "argv", ["colleague", *arguments])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        self.heard.append((" ".join(arguments), out.getvalue() + err.getvalue()))
        return code, out.getvalue()

    def data(self, *arguments: str) -> Any:
        code, out = self.type(*arguments, "--json")
        assert code == 0, self.heard[-1]
        return json.loads(out)

    def run(
        self, name: str, *replies: dict[str, Any], task: tuple[str, ...] = TICKET, more: tuple[str, ...] = ()
    ) -> int:
        """Has the expert run with a script; the exit code."""
        model = self.office.play(*replies, *CHILD, name=f"play-{name}")
        return self.type("expert", "run", DESK, *task, "--model", model, *more)[0]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.home / "state" / "colleague.sqlite") as db:
            return list(db.execute(query))


TRACES = {
    "OPENCLAW_ANTHROPIC_PAYLOAD_LOG": "1",
    "OPENCLAW_RAW_STREAM": "1",
    "OPENCLAW_CACHE_TRACE": "1",
    "OPENCLAW_CACHE_TRACE_SYSTEM": "1",
    "OPENCLAW_CACHE_TRACE_PROMPT": "1",
    "OPENCLAW_DEBUG_MODEL_PAYLOAD": "full-redacted",
}
"""Everything that can be switched on."""


def package_with_secrets(folder: Path, secret: str = SECRET, *, version: str = "0.1.0") -> Path:
    """The support desk with the secrets in its private file, no second attempt, and little patience."""
    package = folder / "package"
    shutil.copytree(ROOT / "examples" / DESK, package, dirs_exist_ok=True)
    original = (ROOT / "examples" / DESK / PRIVATE_FILE).read_text()
    (package / PRIVATE_FILE).write_text(f"{original}\n{secret}\n")
    manifest = (ROOT / "examples" / DESK / "expert.yaml").read_text()
    manifest = manifest.replace("max_attempts: 3", "max_attempts: 1").replace('"0.1.0"', f'"{version}"')
    manifest = manifest.replace("timeout: 8h", "timeout: 1s")
    (package / "expert.yaml").write_text(manifest)
    return package


def confide(folder: Path, patch: pytest.MonkeyPatch) -> Confidant:
    office = Office.open(Colleague(folder / "home"))
    office.employ(DESK, package_with_secrets(folder))
    for name, value in office.colleague.environment(TRACES).items():
        patch.setenv(name, value)
    return Confidant(office, patch)

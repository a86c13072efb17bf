"""A package whose one process makes five effects in the demo office, and a model that plays it through.

The deal cannot be read at first, so attempt 1 fails and attempt 2 goes on; moving the deal needs a yes; the
answer to the customer is given by an isolated function, which needs a yes of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from colleague.experts.expert import find_expert
from colleague.experts.install import install_expert
from colleague.home import Home
from colleague.packages.source import Source
from tests.conftest import EXAMPLE, ROOT
from tests.office import DESK, call, calls, step

EXPERT = "evening-expert"
PROCESS = "close-the-day"
INPUTS = {"deal_id": "d-acme", "ticket_id": "T-1001"}
STEPS = 7
PAD = "scratch/day-d-acme.md"
DIARY = "state/diary.md"

PLANNED, DONE = "Evening: the pricing goes out tomorrow.", "Evening: Maya is answered."
STAGE_NOTE = "Stage evaluation to proposal: She asks for a price with a date."
REPLY = "Hello Maya, a new armrest is on its way to you."
MEETING = "Acme pricing"
NARRATIVE = "The deal is with us for pricing, Maya is answered, and the pricing meeting is set."
ENTRY = "- d-acme: proposal; T-1001: answered"

TOOLS = ("crm", "calendar", "tickets")

MANIFEST = f"""
spec: "1.0"
name: {EXPERT}
version: "1.0.0"
description: Takes one deal and one ticket to the end of the day
requires:
  tools: [crm, calendar, tickets]
concurrency:
  default: serial
policy:
  approval:
    default: auto
    timeout: 1h
    overrides:
      crm.update_deal_stage: confirm
      tickets.add_reply: confirm
execution:
  timeout: 10m
  retry: {{max_attempts: 2, backoff: fixed, delay: 0s}}
  on_failure: dead_letter
  resume_from_execution_log: true
delivery:
  format: both
  channel: main
learning:
  enabled: true
  approval: confirm
components:
  orchestrator: orchestrator.md
  persona: [persona/identity.md]
  functions: [functions/answer-customer.md]
  processes: [processes/{PROCESS}.md]
  tools: [tools/crm.yaml, tools/calendar.yaml, tools/tickets.yaml]
  state: [state/diary.md, state/today.md]
"""

FUNCTION = """---
name: answer-customer
description: Answer the customer of one ticket, alone
session: isolated
inputs:
  - {name: ticket_id, type: string}
outputs:
  - {name: reply_id, type: string}
tools: [tickets]
---
Read the ticket with `tickets.get_ticket` and answer it with `tickets.add_reply`.
"""

PLAYBOOK = f"""---
name: {PROCESS}
description: Close the day for one deal and one ticket
inputs:
  - {{name: deal_id, type: string}}
  - {{name: ticket_id, type: string}}
outputs:
  - {{name: reply_id, type: string}}
functions: [answer-customer]
tools: [crm, calendar]
scratchpad: ./scratch/day-{{deal_id}}.md
---
Take the steps in order.

## Checklist

- [ ] Open the scratchpad.
- [ ] Read the deal with `crm.get_deal`.
- [ ] Note the plan with `crm.create_note`.
- [ ] Move the deal with `crm.update_deal_stage`.
- [ ] Have `answer-customer` applied.
- [ ] Note what was done with `crm.create_note` and invite with `calendar.schedule_meeting`.
- [ ] Write the diary in `state/diary.md`, and propose what is worth remembering.
"""

FILES = {
    "expert.yaml": MANIFEST,
    "README.md": "# Evening\n",
    "orchestrator.md": f"Run `{PROCESS}`.\n",
    "persona/identity.md": "You end the day in order.\n",
    "functions/answer-customer.md": FUNCTION,
    f"processes/{PROCESS}.md": PLAYBOOK,
    "state/diary.md": "# Diary\n",
    "state/today.md": "---\nscope: session\n---\n# Today\n",
}

NOTE: dict[str, Any] = {"contact_id": "c-sarah", "deal_id": "d-acme"}
STAGE = {"deal_id": "d-acme", "stage": "proposal", "reason": "She asks for a price with a date."}
INVITATION = {
    "title": MEETING,
    "attendees": ["tom@radiant.example"],
    "start": "2026-11-20T09:00:00+11:00",
    "end": "2026-11-20T09:30:00+11:00",
}
LESSON = {
    "scope": "package",
    "title": "Deals are slow in the evening",
    "observation": "The deal could not be read the first time.",
    "correction": "Read it again before anything is noted.",
    "confidence": "high",
}


def mark(number: int) -> tuple[str, dict[str, Any]]:
    return "mark_step", {"step": number, "status": "done"}


REPLIES = [
    calls(
        ("write", {"path": PAD, "text": "# d-acme\n"}),
        ("edit", {"path": "state/today.md", "edits": [{"old": "# Today", "new": "# Today\n\nd-acme"}]}),
        mark(1),
        ("crm.get_deal", {"deal_id": "d-acme"}),
    ),
    step(2, "failed", "the deal could not be read"),
    calls(("crm.get_deal", {"deal_id": "d-acme"}), mark(2)),
    calls(("crm.create_note", NOTE | {"note": PLANNED}), mark(3)),
    calls(("crm.update_deal_stage", STAGE), mark(4)),
    calls(("function.answer-customer", {"ticket_id": "T-1001"}), mark(5)),
    calls(("crm.create_note", NOTE | {"note": DONE}), ("calendar.schedule_meeting", INVITATION), mark(6)),
    calls(
        ("read", {"path": DIARY}),
        ("edit", {"path": DIARY, "edits": [{"old": "# Diary", "new": f"# Diary\n\n{ENTRY}"}]}),
        ("propose_learning", LESSON),
        mark(7),
    ),
    call("complete", narrative=NARRATIVE, outputs={"reply_id": "as sent"}),
    {"when": "Apply answer-customer to these inputs"} | call("tickets.get_ticket", ticket_id="T-1001"),
    {"when": "Armrest arrived cracked"} | call("tickets.add_reply", ticket_id="T-1001", body=REPLY),
    {"when": "sent_at"} | call("complete", narrative="Answered.", outputs={"reply_id": "as sent"}),
]


def write_package(folder: Path) -> Path:
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "tools").mkdir()
    for tools in (EXAMPLE / "tools", ROOT / "examples" / DESK / "tools"):
        for file in tools.glob("*.yaml"):
            if file.stem != "email":
                shutil.copy(file, folder / "tools")
    return folder


def make_home(root: Path, package: Path) -> Home:
    """A home with the expert, bound to an office whose address is still to be set."""
    home = Home(root)
    root.mkdir(parents=True)
    (root / "play.yaml").write_text(json.dumps({"log": "asked.log", "replies": REPLIES}))
    source = Source("folder", str(package))
    install_expert(home, home.workspace, source, name="", progress=lambda _: None)
    bound = {"tools": dict.fromkeys(TOOLS, "office"), "model": "script/play.yaml"}
    find_expert(home, EXPERT).bindings_file.write_text(json.dumps(bound))
    return home


def write_settings(home: Home, office: str, database: str = "") -> None:
    settings: dict[str, Any] = {"mcp": {"servers": {"office": {"url": office}}}}
    if database:
        settings["experts"] = {"database": database}
    home.settings_file.write_text(json.dumps(settings))

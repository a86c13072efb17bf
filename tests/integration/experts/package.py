"""A small package, written by a test: a clerk who keeps a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

CLERK = "clerk"
LEDGER_TOOL: dict[str, Any] = {
    "name": "ledger",
    "description": "Lines in a book",
    "operations": [
        {"name": name, "description": name, "input": {"line": "string"}, "output": {"text": "string"}}
        for name in ("append", "put", "fail", "look")
    ],
}
CHECKLIST = ("Look at the book.", "Write the line.")


def markdown(head: Mapping[str, Any], body: str) -> str:
    return f"---\n{yaml.safe_dump(dict(head), sort_keys=False)}---\n\n{body}\n"


def checklist(steps: tuple[str, ...]) -> str:
    return "# Work\n\n" + "\n".join(f"- [ ] {step}" for step in steps)


def process(name: str = "work", *, steps: tuple[str, ...] = CHECKLIST, **head: Any) -> str:
    """A process file; `head` is what its frontmatter says beside name and description."""
    return markdown({"name": name, "description": f"How to {name}", **head}, checklist(steps))


def function(name: str = "judge", body: str = "Judge it.", **head: Any) -> str:
    return markdown({"name": name, "description": f"How to {name}", **head}, f"# {name}\n\n{body}")


def text(name: str, **more: Any) -> dict[str, Any]:
    """A parameter that is a text."""
    return {"name": name, "type": "string", **more}


CONFIDENCE = text("confidence", enum=["high", "medium", "low"])


@dataclass
class Package:
    """Files by path, and what the manifest says beside the parts that follow from them."""

    files: dict[str, str] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    name: str = CLERK
    version: str = "1.0.0"

    def __post_init__(self) -> None:
        base = {
            "README.md": "# Clerk\n",
            "orchestrator.md": "# How to Operate\n\nWork in order.\n",
            "persona/identity.md": "# Identity\n\nA clerk.\n",
            "functions/judge.md": function(),
            "processes/work.md": process(),
        }
        self.files = base | self.files

    def write(self, folder: Path) -> Path:
        for path, content in (self.files | {"expert.yaml": self._manifest()}).items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return folder

    def _manifest(self) -> str:
        lists = {
            part: sorted(path for path in self.files if path.startswith(f"{part}/"))
            for part in ("persona", "functions", "processes", "tools", "knowledge", "state")
        }
        head = {"spec": "1.0", "name": self.name, "version": self.version, "description": "Keeps a book"}
        components = {"components": {"orchestrator": "orchestrator.md", **lists}}
        return yaml.safe_dump(head | components | self.manifest, sort_keys=False)


def ledger_package(
    *, tiers: Mapping[str, str] | None = None, work: Mapping[str, Any] | None = None, **manifest: Any
) -> Package:
    """A package whose process uses the ledger; every operation is automatic unless `tiers` say otherwise."""
    overrides = {f"ledger.{name}": tier for name, tier in (tiers or {}).items()}
    policy = {"approval": {"default": "auto", "overrides": overrides}}
    given = manifest.pop("policy", {})
    approval = policy["approval"] | given.get("approval", {})
    return Package(
        files={
            "tools/ledger.yaml": yaml.safe_dump(LEDGER_TOOL),
            "processes/work.md": process(tools=["ledger"], **(work or {})),
        },
        manifest={
            "requires": {"tools": ["ledger"]},
            "policy": given | {"approval": approval},
            **manifest,
        },
    )

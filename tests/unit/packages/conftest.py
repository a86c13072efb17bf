"""Packages on disk for a test to change: a clean one made of a few short files, and the example."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from colleague.packages.package import Package, Reading, read_package

EXAMPLE = Path(__file__).parents[3] / "examples" / "radiant-sales-expert"

CLEAN = {
    "README.md": "# Clean expert\n",
    "expert.yaml": """\
spec: "1.0"
name: clean-expert
version: 1.0.0
description: A package with nothing wrong in it
requires:
  tools: [crm]
triggers:
  - name: new_mail
    type: webhook
    process: triage
    payload_mapping:
      mail_id: mail.id
policy:
  approval:
    overrides:
      crm.get_contact: auto
components:
  orchestrator: orchestrator.md
  persona: [persona/identity.md]
  functions: [functions/classify.md]
  processes: [processes/triage.md]
  tools: [tools/crm.yaml]
  knowledge: [knowledge/facts.md]
  state: [state/notes.md]
""",
    "orchestrator.md": "# How to operate\n",
    "persona/identity.md": "# Identity\n",
    "functions/classify.md": """\
---
name: classify
description: Say what a mail is about
inputs:
  - name: mail
    type: object
outputs:
  - name: intent
    type: string
tools: [crm]
knowledge: [knowledge/facts.md]
---

# Classify
""",
    "processes/triage.md": """\
---
name: triage
description: Deal with one mail
trigger: new_mail
inputs:
  - name: mail_id
    type: string
functions: [classify]
tools: [crm]
context: [state/notes.md]
scratchpad: ./scratch/triage-{mail_id}.md
---

# Triage

- [ ] Open the scratchpad `./scratch/triage-{mail_id}.md`.
- [ ] Look the sender up with `crm.get_contact`.
- [ ] Apply `classify`.
""",
    "tools/crm.yaml": """\
name: crm
description: Contacts
operations:
  - name: get_contact
    description: One contact
    approval: auto
    input:
      email: string
    output:
      name: string
  - name: delete_contact
    description: Delete one contact
    approval: manual
    input:
      email: string
    output:
      deleted: boolean
""",
    "knowledge/facts.md": "---\nname: facts\ndescription: What we know\n---\n\n# Facts\n",
    "state/notes.md": "---\nname: notes\nscope: persistent\n---\n\n# Notes\n",
}


@dataclass(frozen=True)
class PackageOnDisk:
    """A package's folder, with the few ways in which a test changes it."""

    root: Path

    def write(self, path: str, content: str | bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode(errors="surrogateescape") if isinstance(content, str) else content)

    def replace(self, path: str, old: str, new: str) -> None:
        text = self.text(path)
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        self.write(path, text.replace(old, new))

    def append(self, path: str, text: str) -> None:
        self.write(path, self.text(path) + text)

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode(errors="surrogateescape")

    def line(self, path: str, marker: str) -> int:
        """The line, from 1, of the only place where `marker` stands."""
        text = self.text(path)
        assert text.count(marker) == 1, f"{marker!r} stands {text.count(marker)} times in {path}"
        return text.count("\n", 0, text.index(marker)) + 1

    def read(self) -> Reading:
        return read_package(self.root)

    def load(self) -> Package:
        """The package, which must be without any finding."""
        reading = self.read()
        assert [str(finding) for finding in reading.findings] == []
        assert reading.package is not None
        return reading.package


@pytest.fixture
def clean(tmp_path: Path) -> PackageOnDisk:
    package = PackageOnDisk(tmp_path / "clean-expert")
    for path, text in CLEAN.items():
        package.write(path, text)
    return package


@pytest.fixture
def example(tmp_path: Path) -> PackageOnDisk:
    shutil.copytree(EXAMPLE, tmp_path / EXAMPLE.name)
    return PackageOnDisk(tmp_path / EXAMPLE.name)

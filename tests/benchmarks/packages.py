"""How fast packages are read, and whether the time stays linear in their size."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from colleague.packages.package import read_package

SIZES = ((100, 20), (500, 100), (1000, 200))
ROUNDS = 3
FUNCTIONS_PER_PROCESS = 10

FUNCTION = """\
---
name: function-{number}
description: Decide the matter number {number}
inputs:
  - name: matter
    type: object
    description: What is to be decided
outputs:
  - name: decision
    type: string
    enum: [yes, no, later]
  - name: confidence
    type: string
    enum: [high, medium, low]
tools: [crm]
knowledge: [knowledge/facts.md]
---

# Decide

Read the matter, then decide it. When in doubt, say so.
"""

PROCESS = """\
---
name: process-{number}
description: Handle the case number {number}
trigger: trigger-{number}
inputs:
  - name: case_id
    type: string
functions: [{functions}]
tools: [crm]
scratchpad: ./scratch/case-{{case_id}}.md
execution:
  timeout: 10m
  resume_from_execution_log: true
---

# Handle the case

- [ ] Open the scratchpad `./scratch/case-{{case_id}}.md`.
- [ ] Look the contact up with `crm.get_contact`.
{steps}

## Completion

Tell what was decided.
"""

TOOL = """\
name: crm
description: Contacts
operations:
  - name: get_contact
    description: One contact
    input: {email: string}
    output: {name: string}
"""

TRIGGER = """\
  - name: trigger-{number}
    type: webhook
    process: process-{number}
    payload_mapping: {{case_id: "cases[0].id"}}
"""


@dataclass(frozen=True)
class Figures:
    files: int
    seconds: float
    bare_seconds: float

    @property
    def per_second(self) -> float:
        return self.files / self.seconds


def build(root: Path, functions: int, processes: int) -> None:
    write(root, "README.md", "# Large\n")
    write(root, "orchestrator.md", "# How to operate\n")
    write(root, "persona/identity.md", "# Identity\n")
    write(root, "knowledge/facts.md", "# Facts\n")
    write(root, "tools/crm.yaml", TOOL)
    for number in range(functions):
        write(root, f"functions/{number}.md", FUNCTION.format(number=number))
    for number in range(processes):
        write(root, f"processes/{number}.md", process(number, functions))
    write(root, "expert.yaml", manifest(functions, processes))


def process(number: int, functions: int) -> str:
    start = number * FUNCTIONS_PER_PROCESS
    names = [f"function-{(start + offset) % functions}" for offset in range(FUNCTIONS_PER_PROCESS)]
    steps = "\n".join(f"- [ ] Apply `{name}` to the case." for name in names)
    return PROCESS.format(number=number, functions=", ".join(names), steps=steps)


def manifest(functions: int, processes: int) -> str:
    lines = ['spec: "1.0"', "name: large", "version: 1.0.0", "description: Large", "requires: {tools: [crm]}"]
    lines += ["components:", "  orchestrator: orchestrator.md", "  persona: [persona/identity.md]"]
    lines += ["  tools: [tools/crm.yaml]", "  knowledge: [knowledge/facts.md]"]
    lines += ["  functions:", *(f"    - functions/{number}.md" for number in range(functions))]
    lines += ["  processes:", *(f"    - processes/{number}.md" for number in range(processes))]
    lines += ["triggers:", *(TRIGGER.format(number=number).rstrip() for number in range(processes))]
    return "\n".join(lines) + "\n"


def write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def measure(root: Path) -> Figures:
    files = [path for path in root.rglob("*") if path.is_file()]
    reading = read_package(root)
    if reading.package is None or len(reading.findings):
        raise SystemExit(f"the package built is not clean: {next(iter(reading.findings))}")
    return Figures(
        files=len(files),
        seconds=best(lambda: read_package(root)),
        bare_seconds=best(lambda: [path.read_bytes() for path in files]),
    )


def best(action: Callable[[], object]) -> float:
    """The shortest of a few rounds, which is the one least disturbed."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    print("reading packages")
    print(" functions processes  files  seconds  files/s  bare read  ratio")
    found = []
    for functions, processes in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), functions, processes)
            figures = measure(Path(folder))
        found.append(figures)
        print(
            f"{functions:>10}{processes:>10}{figures.files:>7}{figures.seconds:>9.3f}{figures.per_second:>9.0f}"
            f"{figures.bare_seconds:>10.4f}s{figures.seconds / figures.bare_seconds:>7.1f}"
        )
    ratio = found[0].per_second / found[-1].per_second
    print(f"files/s of the smallest against the largest: {ratio:.2f} (1.00 is linear)")


if __name__ == "__main__":
    main()

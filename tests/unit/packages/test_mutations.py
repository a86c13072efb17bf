"""Damaged packages by the hundred: findings or a clean load, never a traceback, never slow.

Seeded by chunk and number, so that a failure comes again when its chunk is run alone."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from colleague.packages.finding import Finding
from colleague.packages.package import Package, read_package
from colleague.packages.rule import RULES
from tests.unit.packages.conftest import PackageOnDisk

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
CHUNKS, PER_CHUNK = 40 if LONG else 10, 50
CPU_SECONDS, WALL_SECONDS = 10.0, 60.0

SYNTHETIC = {
    "README.md": "# Everything\n",
    "expert.yaml": """\
spec: 1.0
name: everything
version: 1.2.3-rc.1+build.5
description: >-
  Uses every field
  there is
author: {name: A. Uthor, email: a@example.org}
license: MIT
requires: {tools: [mail, erp], python: ">=3.11"}
outputs: [one, two]
concurrency: &serial {default: serial_per_key, key: "order.id"}
execution: &execution
  timeout: 10m
  idempotent: no
  retry: {max_attempts: 3, backoff: fixed, delay: 1m}
  on_failure: dead_letter
  resume_from_execution_log: yes
delivery: {format: narrative, channel: web, sla: 1h, sla_breach: escalate}
learning: {enabled: on, approval: manual, max_entries_per_file: 010}
policy:
  approval:
    default: manual
    overrides: {mail.read: auto, erp.book: confirm}
    timeout: 2d
    on_timeout: reject
  escalation: {channel: slack, on_low_confidence: false, on_manual_ready: off}
triggers:
  - &order
    name: order
    type: webhook
    process: handle order
    requires_tool: erp
    dedupe_key: order.id
    session: main
    concurrency: serial
    concurrency_key: order.customer
    payload_mapping: {order_id: "orders[0].id"}
  - <<: *order
    name: nightly
    type: cron
    expr: "0 30 2 * * MON-FRI"
    tz: America/New_York
  - {name: chat, type: channel, process: handle order, description: ünïcödé}
components:
  orchestrator: ./orchestrator.md
  persona: persona/who.md
  functions: [functions/price.md, ./functions/../functions/check.md]
  processes: [processes/order.md]
  tools: [tools/mail.yaml, tools/erp.yml]
  knowledge: [knowledge/secret.md, knowledge/plain.md]
  state: [state/ledger.md]
""",
    "orchestrator.md": "# Orchestrator\n",
    "persona/who.md": "---\nname: who\n---\n# Who\n",
    "functions/price.md": """\
---
name: price
description: Find the price
inputs: [order, {name: currency, type: string, default: EUR, enum: [EUR, USD]}]
outputs: [{name: price, type: number}, {name: confidence, type: string, enum: [high, medium, low]}]
tools: [erp]
knowledge: [plain, knowledge/secret.md]
session: isolated
tags: [a, b]
---
# Price
""",
    "functions/check.md": "---\n{name: check, description: Check it}\n...\n# Check\n",
    "processes/order.md": """\
---
name: handle order
description: From order to invoice
trigger: order
inputs: [{name: order_id, type: string}]
outputs: [{name: invoice, type: object, properties: {total: number}}]
functions: [price, check]
tools: [mail, erp]
scratchpad: scratch/order-{order_id}.md
context: [state/ledger.md, "scratch/order-{order_id}.md"]
execution: {timeout: 1h, retry: {max_attempts: 5}}
delivery: {sla: 30m}
tags: order
---

1. [ ] Open `scratch/order-{order_id}.md`.
2. [ ] Read the mail with `mail.read`.
   - [ ] Apply `price`, then `check`.
3. [x] Book with `erp.book` and update `state/ledger.md`.

```
- [ ] not a step
```
""",
    "tools/mail.yaml": "{name: mail, operations: {read: {input: {id: string}, output: 'string[]'}}}\n",
    "tools/erp.yml": """\
name: erp
description: The books
operations:
  - name: book
    description: Book it
    approval: confirm
    input: {type: object, properties: {lines: [{sku: string, amount: integer}]}, required: [lines]}
    output: [{name: number, type: string}]
""",
    "knowledge/secret.md": "---\ntype: private\n---\n# Secret\n",
    "knowledge/plain.md": "# Plain\n",
    "state/ledger.md": "---\nscope: session\n---\n# Ledger\n",
}

VALUES = [
    *("[a, b]", "{a: b}", "null", "", "true", "-1", "0", "1.5", ".inf", "-.nan", "2026-01-01", "12:30:45"),
    *("9" * 30, "9" * 5000, "-" + "9" * 400, "0x" + "f" * 9000, "1e999", "1" + "0" * 300 + ".5", "99999999d"),
    *(
        "x" * 10_000,
        "a" + "[]" * 3000,
        "a." * 3000 + "a",
        "{" * 200 + "}" * 200,
        "[" * 50 + "]" * 50,
        "- - - -",
    ),
    *(
        "&a [*a]",
        "*unknown",
        "&x {<<: *x}",
        "!!python/object/apply:os.system [ls]",
        "!!binary aGVsbG8=",
        "<<",
    ),
    *(
        "../../../etc/passwd",
        "/dev/zero",
        "~/x",
        "a\\b",
        "'",
        '"',
        "`",
        "|",
        ">-",
        "%",
        "@",
        "\u202e",
        "\x00",
        "\x1b[2J",
    ),
    *("* * * * *", "*/0 * * * *", "0 0 30 2 *", "Mars/Olympus", "a[b", "(((", "{x}{y}{}", "scratch/../../x"),
]

Mutation = Callable[[random.Random, Path], object]


# Of one file


def of_file(change: Callable[[random.Random, bytes], bytes]) -> Mutation:
    def mutate(rng: random.Random, root: Path) -> None:
        path = rng.choice(files(root))
        path.write_bytes(change(rng, path.read_bytes()))

    return mutate


def of_lines(change: Callable[[random.Random, list[bytes]], list[bytes]]) -> Mutation:
    return of_file(lambda rng, data: b"\n".join(change(rng, data.split(b"\n"))))


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def random_bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice([1, 1, 4, 200])) + data[at + rng.choice([0, 1, 10]) :]


def odd_characters(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    character = rng.choice(
        ["\0", "\t", "\x1b", "\x85", "\u2028", "\ufeff", "\U0001f600", "\u0301", "\x0c", "é"]
    )
    return data[:at] + character.encode() + data[at:]


def another_encoding(rng: random.Random, data: bytes) -> bytes:
    text = data.decode(errors="replace") + "é\n"
    return text.encode(
        rng.choice(["utf-16", "utf-16-be", "utf-32", "latin-1", "cp500", "utf-7"]), errors="replace"
    )


def other_newlines(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\r", b"\n\n", b"", b"\\n"]))


def delete_line(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def duplicate_line(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(lines))
    return lines[:at] + [lines[at]] * rng.choice([2, 2, 500]) + lines[at + 1 :]


def indent_line(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(lines))
    return [*lines[:at], rng.choice([b" ", b"  ", b"\t", b"    - "]) + lines[at], *lines[at + 1 :]]


def shuffle_lines(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    return rng.sample(lines, len(lines))


def valued(lines: list[bytes]) -> list[tuple[int, bytes, bytes]]:
    """The lines that hold a value: number, what is before it, and the value."""
    found = [
        (number, re.match(rb"(\s*(?:- )?[\w.]+: |\s*- )(.+)", line)) for number, line in enumerate(lines)
    ]
    return [(number, match[1], match[2]) for number, match in found if match]


def replace_value(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    places = valued(lines)
    if not places:
        return lines
    number, before, _ = rng.choice(places)
    return [*lines[:number], before + rng.choice(VALUES).encode(), *lines[number + 1 :]]


def replace_word(rng: random.Random, data: bytes) -> bytes:
    """Also reaches what stands inside braces."""
    words = list(re.finditer(rb"[\w./-]+", data))
    if not words:
        return data
    word = rng.choice(words)
    return data[: word.start()] + rng.choice(VALUES).encode() + data[word.end() :]


def swap_values(rng: random.Random, lines: list[bytes]) -> list[bytes]:
    places = valued(lines)
    if len(places) < 2:
        return lines
    (one, before_one, value_one), (two, before_two, value_two) = rng.sample(places, 2)
    changed = list(lines)
    changed[one], changed[two] = before_one + value_two, before_two + value_one
    return changed


def nest_deeply(rng: random.Random, data: bytes) -> bytes:
    opening = rng.choice([b"[", b"{a: ", b"- ", b"? ", b"&a [", b"> ", b"  - [ ] "])
    at = rng.choice([0, len(data), data.find(b"\n") + 1])
    return data[:at] + opening * rng.choice([10, 59, 61, 3000]) + b"\n" + data[at:]


def alias_cycle(rng: random.Random, data: bytes) -> bytes:
    cycle = rng.choice(["a: &a [*a]", "a: &a {b: *a}", "a: &a\n  <<: *a", "a: &a [x]\nb: &a [*a, *a]\nc: *a"])
    at = data.find(b"\n") + 1
    return data[:at] + cycle.encode() + b"\n" + data[at:]


# Of the folder


def delete_file(rng: random.Random, root: Path) -> None:
    rng.choice(files(root)).unlink()


def empty_file(rng: random.Random, root: Path) -> None:
    rng.choice(files(root)).write_bytes(b"")


def folder_for_file(rng: random.Random, root: Path) -> None:
    path = rng.choice(files(root))
    path.unlink()
    path.mkdir()


def pipe_for_file(rng: random.Random, root: Path) -> None:
    path = rng.choice(files(root))
    path.unlink()
    os.mkfifo(path)


def link_for_file(rng: random.Random, root: Path) -> None:
    path = rng.choice(files(root))
    path.unlink()
    path.symlink_to(
        rng.choice([path.name, "..", ".", "/dev/zero", "../expert.yaml", "README.md", "gone", "/"])
    )


def link_for_folder(rng: random.Random, root: Path) -> None:
    folder = rng.choice(
        [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()] or [root / "x"]
    )
    shutil.rmtree(folder, ignore_errors=True)
    folder.symlink_to(rng.choice([folder.name, ".", "..", "persona", "/etc"]))


def swap_files(rng: random.Random, root: Path) -> None:
    found = files(root)
    one, two = rng.choice(found), rng.choice(found)
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)


def rename_file(rng: random.Random, root: Path) -> None:
    path = rng.choice(files(root))
    path.rename(
        path.with_name(rng.choice(["x.md", "é.md", "a\nb.md", "caf\udce9.md", ".hidden", "a b.yaml", "-"]))
    )


def giant_file(rng: random.Random, root: Path) -> None:
    os.truncate(rng.choice(files(root)), rng.choice([1_000_000, 11_000_000]))


def files(root: Path) -> list[Path]:
    """The files that are left to damage; the manifest twice as often, since all hangs on it."""
    found = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return [*found, *(path for path in found if path.name == "expert.yaml")]


MUTATIONS: list[Mutation] = [
    *[
        of_file(change)
        for change in (truncate, random_bytes, odd_characters, another_encoding, other_newlines)
    ],
    *[of_file(change) for change in (nest_deeply, alias_cycle, replace_word, replace_word, replace_word)],
    *[of_lines(change) for change in (delete_line, duplicate_line, indent_line, shuffle_lines, swap_values)],
    *[of_lines(replace_value)] * 4,
    *(delete_file, empty_file, folder_for_file, pipe_for_file, link_for_file, link_for_folder),
    *(swap_files, rename_file, giant_file),
]


# What must hold


def check_time(root: Path) -> tuple[Package | None, list[Finding]]:
    cpu, wall = time.process_time(), time.monotonic()
    reading = read_package(root)
    assert time.process_time() - cpu < CPU_SECONDS
    assert time.monotonic() - wall < WALL_SECONDS
    return reading.package, list(reading.findings)


def check_finding(finding: Finding, root: Path) -> None:
    assert RULES[finding.code][0] == finding.severity
    assert finding.file
    assert finding.message.strip()
    assert 1 <= finding.line <= lines_of(root / finding.file)
    assert str(finding).encode()
    assert json.dumps(finding.as_dict())


def lines_of(path: Path) -> int:
    if not path.is_file() or path.stat().st_size > 2_000_000:
        return 1_000_000
    text = path.read_bytes().decode("utf-8", errors="replace")
    return len(re.split("\r\n|[\r\n\x85\u2028\u2029]", text))


def check_package(package: Package) -> None:
    """What later layers do with it works."""
    assert len(package.digest) == 64
    assert json.dumps([[each.input, each.output] for tool in package.tools for each in tool.operations])
    assert sum(map(len, package.by_tier().values())) >= len(package.operations)
    for process in package.processes:
        assert all(step.text and step.at.line >= 1 for step in process.steps)


@pytest.fixture
def bases(tmp_path: Path, example: PackageOnDisk) -> list[Path]:
    synthetic = tmp_path / "synthetic"
    for path, text in SYNTHETIC.items():
        (synthetic / path).parent.mkdir(parents=True, exist_ok=True)
        (synthetic / path).write_text(text)
    return [example.root, synthetic]


def test_the_packages_to_damage_are_whole(bases: list[Path]) -> None:
    for base in bases:
        assert [str(finding) for finding in read_package(base).findings] == []


@pytest.mark.filterwarnings("ignore:deprecated string literal syntax")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_damage_gives_findings(chunk: int, bases: list[Path], tmp_path: Path) -> None:
    broken = 0
    for number in range(PER_CHUNK):
        rng = random.Random(f"{chunk}/{number}")
        root = tmp_path / f"mutant-{chunk}-{number}"
        shutil.copytree(rng.choice(bases), root)
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            rng.choice(MUTATIONS)(rng, root)
        package, findings = check_time(root)
        for finding in findings:
            check_finding(finding, root)
        if package is not None:
            check_package(package)
        broken += bool(findings)
        shutil.rmtree(root)
    assert broken >= PER_CHUNK // 2, "the mutations hardly damage anything"

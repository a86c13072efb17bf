"""What a trigger's binding may say, and that what cannot be read opens no door."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.experts.bindings import HeaderNames, TriggerBinding, read_bindings
from colleague.packages.finding import Findings


def read(tmp_path: Path, text: str) -> tuple[TriggerBinding, list[str]]:
    file = tmp_path / "bindings.yaml"
    file.write_text("triggers:\n  hook:\n" + "".join(f"    {line}\n" for line in text.splitlines()))
    findings = Findings()
    binding = read_bindings(file, findings).triggers["hook"]
    return binding, [f"{each.line} {each.code}: {each.message}" for each in findings]


def test_everything(tmp_path: Path) -> None:
    binding, findings = read(
        tmp_path,
        """\
secret: ["${NEW}", "${OLD}"]
signature: hmac-sha256
header: {signature: X-Acme-Signature, timestamp: X-Acme-Time, delivery: X-Acme-Id}
tolerance: 90s
equal_bodies: distinct
channel: sales-*
sender: [U1, 42]
pattern: "(?i)urgent"
""",
    )
    assert findings == []
    assert binding.secrets == ("${NEW}", "${OLD}")
    assert binding.headers == HeaderNames("X-Acme-Signature", "X-Acme-Time", "X-Acme-Id")
    assert (binding.tolerance.seconds, binding.equal_bodies) == (90, "distinct")
    assert (binding.channel, binding.senders) == ("sales-*", ("U1", "42"))
    assert binding.pattern is not None
    assert binding.pattern.text == "(?i)urgent"


def test_nothing(tmp_path: Path) -> None:
    binding, findings = read(tmp_path, "max_queued: 3")
    assert findings == []
    assert binding.secrets == ()
    assert binding.headers == HeaderNames()
    assert binding.tolerance.seconds == 300
    assert (binding.channel, binding.senders, binding.pattern) == ("", None, None)


def test_one_secret_and_one_header_need_no_list(tmp_path: Path) -> None:
    binding, findings = read(tmp_path, "secret: ${S}\nheader: X-Gitlab-Token\nsender: U1")
    assert findings == []
    assert binding.secrets == ("${S}",)
    assert binding.headers == HeaderNames(signature="X-Gitlab-Token")
    assert binding.senders == ("U1",)


def test_a_secret_is_not_in_what_is_printed(tmp_path: Path) -> None:
    binding, _ = read(tmp_path, "secret: hunter2-hunter2")
    assert "hunter2" not in repr(binding)


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        (
            "header: 'X Y'",
            "3 field-value: header: 'X Y' is no name of a header; write one such as X-Signature",
        ),
        ("header: {signature: 'a:b'}", "3 field-value: signature: 'a:b' is no name of a header"),
        ("header: {sig: X-Sig}", "3 field-unknown: 'sig' is no field of header"),
        ("header: [X-Sig]", "3 field-type: header must be a mapping of fields, found a list"),
        ("tolerance: soon", "3 duration-invalid: tolerance: 'soon' is no duration"),
        ("tolerance: 0s", "3 duration-invalid: tolerance: '0s' is no time at all"),
        ("secret: [{a: b}]", "3 field-type: an entry of secret must be text, found a mapping"),
        ("sender: []", "3 field-value: sender names nobody"),
        ("pattern: '(a'", "3 field-value: pattern: '(a' is no pattern for RE2"),
        ("pattern: [a]", "3 field-type: pattern must be text, found a list"),
        ("channel: ''", "3 field-value: channel: a channel is a name or a pattern"),
        (f"channel: {'a' * 201}", "3 field-value: channel: a channel is a name or a pattern"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, line: str, finding: str) -> None:
    _, findings = read(tmp_path, line)
    assert len(findings) == 1
    assert findings[0].startswith(finding)


@pytest.mark.parametrize(
    "line",
    ["pattern: '(a'", "pattern: [a]", "channel: ''", "channel: {a: b}", "sender: []", "sender: {a: b}"],
)
def test_a_filter_that_cannot_be_read_lets_nobody_in(tmp_path: Path, line: str) -> None:
    binding, findings = read(tmp_path, line)
    assert findings
    assert binding.senders == ()

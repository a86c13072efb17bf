"""Whatever a package says, limited by an accepted one it may do no more than that one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.packages.compare import changes
from colleague.packages.limit import limited
from colleague.packages.package import Package, read_package
from colleague.packages.policy import TIERS
from tests.unit.packages.conftest import CLEAN, PackageOnDisk
from tests.unit.packages.test_compare import CASES, Edit

TIER = st.sampled_from(TIERS)
CHANNEL = st.sampled_from(["main", "slack", "web"])
TOOLS = st.lists(st.sampled_from(["crm", "mail"]), unique=True)
OPERATIONS = st.lists(st.sampled_from(["read", "write", "drop"]), unique=True)
TIMES = st.sampled_from(["1h", "24h"])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


EXECUTION = some(on_failure=st.sampled_from(["escalate", "abandon", "dead_letter"]), idempotent=st.booleans())
CONFIDENCE = st.sampled_from([[], [{"name": "confidence"}], [{"name": "confidence", "enum": ["high"]}]])
OVERRIDES = st.dictionaries(st.sampled_from(["crm.read", "crm.write", "mail.read", "crm.other"]), TIER)
MANIFEST = st.fixed_dictionaries(
    {
        "requires": some(tools=TOOLS),
        "policy": some(
            approval=some(
                default=TIER,
                overrides=OVERRIDES,
                timeout=TIMES,
                on_timeout=st.sampled_from(["reject", "escalate"]),
            ),
            escalation=some(channel=CHANNEL, on_low_confidence=st.booleans(), on_manual_ready=st.booleans()),
        ),
        "learning": some(enabled=st.booleans(), approval=TIER),
        "delivery": some(channel=CHANNEL),
        "execution": EXECUTION,
        "triggers": st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.sampled_from(["one", "two"]),
                    "type": st.just("webhook"),
                    "process": st.just("triage"),
                },
                optional={"preset": st.just("gmail"), "session": st.sampled_from(["main", "isolated"])},
            ),
            unique_by=lambda trigger: trigger["name"],
        ),
    }
)
PARTS = st.fixed_dictionaries(
    {
        "manifest": MANIFEST,
        "process": some(
            tools=TOOLS, functions=st.sampled_from([[], ["classify"], ["other"]]), execution=EXECUTION,
            delivery=some(channel=CHANNEL), outputs=CONFIDENCE,
        ),
        "function": some(tools=TOOLS, session=st.sampled_from(["inline", "isolated"]), outputs=CONFIDENCE),
        "name": st.sampled_from(["classify", "other"]),
        "crm": OPERATIONS,
        "knowledge": st.sampled_from(["static", "private"]),
    }
)  # fmt: skip


def written(parts: dict[str, Any]) -> Package:
    with tempfile.TemporaryDirectory() as folder:
        package = PackageOnDisk(Path(folder))
        for path, text in CLEAN.items():
            package.write(path, text)
        manifest = yaml.safe_load(CLEAN["expert.yaml"]) | parts["manifest"]
        package.write("expert.yaml", yaml.safe_dump(manifest))
        package.write("processes/triage.md", head({"name": "triage", "description": "x"} | parts["process"]))
        package.write(
            "functions/classify.md", head({"name": parts["name"], "description": "x"} | parts["function"])
        )
        operations = [{"name": each, "description": each} for each in parts["crm"]]
        package.write("tools/crm.yaml", yaml.safe_dump({"name": "crm", "operations": operations}))
        package.write("knowledge/facts.md", head({"name": "facts", "type": parts["knowledge"]}))
        found = read_package(package.root).package
        assert found is not None
        return found


def head(fields: dict[str, Any]) -> str:
    return f"---\n{yaml.safe_dump(fields)}---\n\n# Text\n"


@given(PARTS, PARTS)
@settings(max_examples=60)
def test_nothing_loosens(accepted_parts: dict[str, Any], current_parts: dict[str, Any]) -> None:
    accepted, current = written(accepted_parts), written(current_parts)
    made = limited(current, accepted)
    assert [change.what for change in changes(accepted, made) if change.loosens] == []
    for operation in (*made.operations, "crm.unheard"):
        assert TIERS.index(made.tier(operation)) >= TIERS.index(current.tier(operation))
    assert made.digest == current.digest


@given(PARTS)
@settings(max_examples=50)
def test_what_was_accepted_is_not_limited(parts: dict[str, Any]) -> None:
    package = written(parts)
    assert changes(package, limited(package, package)) == []


@pytest.mark.parametrize("edit", [edit for edit, _ in CASES])
def test_each_kind_of_change(clean: PackageOnDisk, edit: Edit) -> None:
    accepted = clean.read().package
    edit(clean)
    current = clean.read().package
    assert accepted is not None
    assert current is not None
    assert not any(change.loosens for change in changes(accepted, limited(current, accepted)))

"""A run that waits during an update finishes on its own version, under the stricter of the two policies."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.experts.install import remove_expert
from colleague.experts.runs.run_package import Policies
from colleague.packages.mark import Mark
from colleague.packages.policy import TIERS, ApprovalPolicy, Override, Policy, Tier
from tests.integration.experts.package import Package, function, ledger_package
from tests.integration.experts.stage import Stage, on_stage
from tests.office import call, finished

DONE = finished()
APPEND = call("ledger.append", line="one")


def at(version: str, body: str = "", **tiers: str) -> Package:
    package = ledger_package(tiers=tiers)
    package.version = version
    package.files["functions/judge.md"] = function(body=body or f"As in {version}.")
    return package


@pytest.mark.parametrize("when", ["before", "after"])
@on_stage
async def test_a_yes_no_longer_counts_once_it_is_manual(stage: Stage, when: str) -> None:
    stage.install(at("1.0.0", append="confirm"))
    await stage.run(APPEND, call("read", path="functions/judge.md"), DONE)
    if when == "before":
        await stage.decide("approve")
    stage.update(at("1.1.0", append="manual"))
    if when == "after":
        await stage.decide("approve")
    await stage.restart()
    run = await stage.go_on()

    assert (run.outcome, run.version) == ("completed", "1.0.0")
    assert stage.book == []
    void, draft = await stage.approvals()
    assert (void.status, void.decision) == ("void", "approve")
    assert (draft.kind, draft.status) == ("draft", "pending")
    assert "As in 1.0.0." in stage.shown()[-1].texts[-1]


@on_stage
async def test_it_still_asks_when_the_new_version_would_not(stage: Stage) -> None:
    stage.install(at("1.0.0", append="confirm"))
    await stage.run(APPEND, call("ledger.append", line="two"), DONE)
    stage.update(at("1.1.0", append="auto"))
    await stage.restart()
    run = await stage.go_on()
    assert (run.status, stage.book) == ("waiting", [])

    run = await stage.decided("approve")
    assert (run.status, stage.book) == ("waiting", ["one"])
    run = await stage.decided("approve")
    assert (run.outcome, stage.book) == ("completed", ["one", "two"])

    run = await stage.run(APPEND, DONE)
    assert (run.outcome, run.version) == ("completed", "1.1.0")


@on_stage
async def test_what_was_automatic_asks_when_the_new_version_does(stage: Stage) -> None:
    stage.install(at("1.0.0", append="confirm"))
    await stage.run(APPEND, call("ledger.put", line="two"), DONE)
    stage.update(at("1.1.0", append="confirm", put="confirm"))
    run = await stage.decided("approve")
    assert (run.status, stage.book) == ("waiting", ["one"])
    assert (await stage.pending()).operation == "ledger.put"


@on_stage
async def test_a_run_keeps_its_version_over_several_updates(stage: Stage) -> None:
    stage.install(at("1.0.0", append="confirm"))
    await stage.run(APPEND, call("read", path="functions/judge.md"), DONE)
    for version in ("1.1.0", "1.2.0", "1.3.0"):
        stage.update(at(version, append="confirm"))
    await stage.restart()
    run = await stage.decided("approve")
    assert (run.outcome, run.version, stage.book) == ("completed", "1.0.0", ["one"])
    assert "As in 1.0.0." in stage.shown()[-1].texts[-1]


@on_stage
async def test_a_run_whose_expert_was_removed_fails_and_says_so(stage: Stage) -> None:
    stage.install(at("1.0.0", append="confirm"))
    await stage.run(APPEND, DONE)
    remove_expert(stage.home, stage.settings.workspace, "clerk", purge=False)
    run = await stage.decided("approve")
    assert run.outcome == "failed"
    assert "there is no expert 'clerk'" in str(run.error)
    assert stage.book == []
    assert (await stage.notice("escalation"))["reason"] == run.error


@on_stage
async def test_a_run_whose_version_is_gone_fails_and_says_so(stage: Stage) -> None:
    stage.install(at("1.0.0", append="confirm"))
    await stage.run(APPEND, DONE)
    shutil.rmtree(stage.home.snapshots)
    await stage.restart()
    run = await stage.decided("approve")
    assert run.outcome == "failed"
    assert "the version of clerk that this run began with is gone" in str(run.error)
    assert stage.book == []


tiers = st.sampled_from(TIERS)


def policy(default: Tier, override: Tier) -> Policy:
    return Policy(ApprovalPolicy(default, {"a.b": Override("a.b", override, Mark("expert.yaml"))}))


policies = st.builds(policy, tiers, tiers)


@given(pinned=policies, installed=policies, operation=st.sampled_from(["a.b", "a.c"]))
def test_of_two_policies_the_stricter_counts(pinned: Policy, installed: Policy, operation: str) -> None:
    def strictness(tier: Tier) -> int:
        return TIERS.index(tier)

    tier = Policies(pinned, installed).tier(operation)
    assert strictness(tier) >= strictness(pinned.tier(operation))
    assert strictness(tier) >= strictness(installed.tier(operation))
    assert tier in (pinned.tier(operation), installed.tier(operation))
    assert Policies(pinned, None).tier(operation) == pinned.tier(operation)

"""Rehearsals: to the end with any package, without a key, and never on a server that is not a demo."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from colleague.config import load_settings
from colleague.experts.expert import find_expert
from colleague.experts.home_setup import set_up_home
from colleague.experts.install import install_expert
from colleague.experts.rehearsal.execution_report import execution_report
from colleague.experts.rehearsal.sample import sample
from colleague.experts.runs.inputs import REHEARSAL
from colleague.experts.runs.invoke import Invocation
from colleague.experts.runs.redacted_report import run_report
from colleague.home import Home
from colleague.packages.parameter import object_schema
from colleague.packages.source import Source
from colleague.runtime.host import open_host
from colleague.store.accept import accept
from tests.conftest import SALES, Colleague
from tests.office import DESK, Office
from tests.unit.experts.rehearsal.test_any_package import rehearsable


@pytest.mark.parametrize("expert", [SALES, DESK])
def test_the_examples_rehearse_in_the_office(colleague: Colleague, expert: str) -> None:
    office = Office.open(colleague)
    office.employ(expert)
    before = (office.workspace(expert) / "state").rglob("*.md")
    texts = {path: path.read_text() for path in before}

    reports = colleague.ok("expert", "rehearse", expert, "--json", timeout=120).json

    assert len(reports) == 2
    for report in reports:
        assert report["outputs"]["fits"] is True
        assert all(step["status"] in ("done", "skipped") for step in report["steps"])
    assert {path: path.read_text() for path in texts} == texts
    assert list((office.workspace(expert) / "scratch").glob("*")) == []
    assert not any(operation in office.effects for operation in ("update_deal_stage", "send", "refund"))


def test_a_server_that_is_no_demo_is_never_touched(colleague: Colleague, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    colleague.ok("mcp", "add", "real", "--", sys.executable, "-c", f"open({str(marker)!r}, 'w')")
    colleague.ok("expert", "install", str(Path("examples").resolve() / SALES))
    for tool in ("crm", "email", "calendar"):
        colleague.ok("expert", "bind", SALES, tool, "real")

    said = colleague.ok("expert", "rehearse", SALES, "--process", "inbound-email-triage")
    assert "crm.update_deal_stage (confirm): would ask first" in said.out
    assert "simulated" in said.out

    triage = ("--process", "inbound-email-triage", "--input", "message_id=m-1")
    said = colleague("expert", "run", SALES, *triage, "--model", REHEARSAL)
    assert said.code == 1
    assert "a rehearsal acts only on servers marked demo" in said.err

    said = colleague("expert", "run", SALES, *triage, "--model", REHEARSAL, "--dry-run")
    assert said.code == 0
    assert not marker.exists()


def test_one_process_with_given_inputs(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    given_input = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
    report = colleague.ok("expert", "rehearse", SALES, *given_input, "--json").json
    called = {operation["operation"] for operation in report["operations"] if operation["reached"]}
    assert {"email.get_email", "crm.get_contact", "crm.get_deal", "crm.update_deal_stage"} <= called
    assert "calendar.schedule_meeting" not in called


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(rehearsable())
def test_any_package_rehearses_to_the_end(files: dict[str, str]) -> None:
    root = Path(tempfile.mkdtemp(prefix="colleague-rehearsal-"))
    try:
        asyncio.run(_rehearse(root, files))
    finally:
        shutil.rmtree(root)


async def _rehearse(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = root / "package" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    home = Home(root / "home")
    set_up_home(home)
    loaded = load_settings(home)
    source = Source("folder", str(root / "package"))
    installed = install_expert(home, loaded.workspace, source, name="any", progress=lambda _: None)
    package = installed.load()
    async with open_host(home, loaded, {}) as host:
        for process in package.processes:
            asked = Invocation(home, find_expert(home, "any"), package, REHEARSAL, dry_run=True)
            arrival = asked.process(process, sample(object_schema(process.inputs)))
            accepted = await host.database.write(lambda tx, it=arrival: accept(tx, it))
            [run] = await host.advance_only([str(accepted.run_id)])
            document = await host.database.read(lambda tx, it=run: run_report(tx, home, it.id))
            assert run.outcome == "completed", json.dumps(document, indent=1)[:4000]
            assert execution_report(package, process, document).ok


def test_a_rehearsal_that_the_bindings_ask_for_is_marked(colleague: Colleague) -> None:
    """The list knows it by what thought about the run, not by what was typed."""
    office = Office.open(colleague)
    office.employ(SALES)
    with (colleague.expert() / "bindings.yaml").open("a") as file:
        file.write("model: rehearsal/walkthrough\n")
    inputs = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
    assert colleague("expert", "run", SALES, *inputs).code == 4
    [run] = colleague.ok("run", "list", "--json").json
    assert run["rehearsal"]
    assert "(rehearsal)" in colleague.ok("run", "list").out
    shown = colleague.ok("run", "show", run["id"]).out
    assert "waiting, a rehearsal" in shown.splitlines()[0]
    assert '"thread_id"' in shown, "a result of several lines stands on one, as plain text"
    assert "{\\n" not in shown

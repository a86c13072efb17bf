"""Section 8 and 9 of the loader design, typed as a person types them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, ROOT, SALES, Colleague, tree
from tests.forked import forked_command

OFFICE = ROOT / "examples" / "office" / "server.py"

SERVERS = json.dumps(
    {
        "mcp": {"servers": {name: {"command": "x"} for name in ("hubspot-mcp", "nylas-mcp", "gcal", "hub")}},
        "hooks": {"token": "a-token-of-all-hooks"},
    }
)


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def configure(colleague: Colleague) -> None:
    colleague.home.mkdir(parents=True, exist_ok=True)
    (colleague.home / "colleague.json").write_text(SERVERS)


def test_the_setup_of_the_loader_design(colleague: Colleague) -> None:
    colleague.home.mkdir()
    (colleague.home / "colleague.json").write_text('{"hooks": {"token": "a-token-of-all-hooks"}}')
    bound = {"crm": "hubspot-mcp", "email": "nylas-mcp", "calendar": "google-calendar-mcp"}
    for server in bound.values():
        office = forked_command(str(OFFICE), "--database", str(colleague.home.parent / f"{server}.sqlite"))
        colleague.ok("mcp", "add", server, "--", *office)
    said = colleague.ok("expert", "install", str(EXAMPLE))
    assert f"{SALES} 0.1.0" in said.out
    assert "confirm  asks first  crm.update_deal_stage" in said.out
    assert "crm is bound to nothing yet" in said.out

    unbound = colleague("expert", "validate", SALES)
    assert unbound.code == 1
    assert "✗ All required tools bound" in unbound.out
    assert f"colleague expert bind {SALES} crm SERVER" in unbound.out

    for tool, server in bound.items():
        colleague.ok("expert", "bind", SALES, tool, server)
    assert colleague.ok("expert", "validate", SALES, "--offline").out.count("✓") == 3
    colleague.ok("expert", "enable", SALES)
    assert colleague.ok("expert", "validate", SALES).out.splitlines() == [
        "✓ Package structure valid (spec 1.0)",
        "✓ Cross-references intact (triggers → processes → functions)",
        "✓ All required tools bound",
        "✓ MCP servers configured",
        f"✓ MCP servers reachable ({', '.join(bound.values())})",
        "✓ State files initialized",
        "✓ Triggers registered (new_email: webhook/gmail, "
        "opportunity_scan: cron: 0 8 * * 1-5 Australia/Sydney)",
    ]


def test_json_of_validate_is_the_contract(installed: Colleague) -> None:
    said = installed("expert", "validate", SALES, "--json")
    assert said.code == 1
    document = said.json
    assert (document["expert"], document["version"], document["ok"]) == (SALES, "0.1.0", False)
    first = document["findings"][0]
    assert set(first) == {"severity", "code", "file", "line", "message", "hint"}
    assert first["code"] == "tool-unbound"
    assert installed.ok("expert", "validate", SALES, "--offline", "--json").json["ok"] is True


def test_validate_names_file_and_line(colleague: Colleague, package: Path) -> None:
    replace(package / "expert.yaml", "process: inbound-email-triage", "process: inbound-mail-triage")
    line = (package / "expert.yaml").read_text().splitlines().index("    process: inbound-mail-triage") + 1
    said = colleague("expert", "validate", str(package))
    assert said.code == 1
    assert f"expert.yaml:{line}:" in said.out
    assert "did you mean 'inbound-email-triage'?" in said.out


def test_validate_reads_what_a_rehearsal_says(colleague: Colleague, package: Path) -> None:
    file = package / "rehearsal.yaml"
    file.write_text("cases:\n  - functions:\n      classify-mail-intent: {}\n")
    said = colleague("expert", "validate", str(package), "--offline")
    assert said.code == 1
    assert "✗ Cross-references intact" in said.out
    sentence = "rehearsal.yaml:3: there is no function 'classify-mail-intent'"
    assert f"error   {sentence} [rehearsal-name-unknown]" in said.out
    assert "did you mean 'classify-email-intent'?" in said.out

    colleague.ok("expert", "install", str(package))  # a rehearsal is no part of the work
    assert sentence in colleague("expert", "rehearse", SALES).out

    file.unlink()
    assert colleague.ok("expert", "validate", str(package), "--offline").out.count("\n") == 3


def test_validate_gives_a_wrong_rehearsal_as_data(colleague: Colleague, package: Path) -> None:
    (package / "rehearsal.yaml").write_text("cases:\n  - narative: Done.\n")
    said = colleague("expert", "validate", str(package), "--offline", "--json")
    assert said.code == 1
    assert said.json["findings"] == [
        {
            "severity": "error",
            "code": "rehearsal-field-unknown",
            "file": "rehearsal.yaml",
            "line": 2,
            "message": "'narative' is no field of a case",
            "hint": "did you mean 'narrative'?",
        }
    ]


def test_list_and_show(installed: Colleague) -> None:
    assert SALES in installed.ok("expert", "list").out
    listed = installed.ok("expert", "list", "--json").json
    assert listed[0]["tools"] == {"crm": None, "email": None, "calendar": None}
    assert listed[0]["enabled"] is False
    shown = installed.ok("expert", "show", SALES, "--json").json
    assert shown["tiers"]["manual"] == ["email.send", "calendar.schedule_meeting"]
    assert len(shown["processes"][0]["steps"]) == 11
    assert (shown["author"], shown["license"]) == ("The Colleague authors", "MIT")
    assert shown["processes"][0]["tags"] == ["email", "triage", "inbound"]
    said = installed.ok("expert", "show", SALES).out
    assert "author     The Colleague authors (MIT)\n" in said
    assert f"  takes {', '.join(shown['processes'][0]['inputs'])}\n" in said
    assert "Process inbound-email-triage" in said


def test_home_may_be_named_on_every_command(colleague: Colleague, tmp_path: Path) -> None:
    other = tmp_path / "other home"
    colleague.ok("expert", "install", str(EXAMPLE), "--home", str(other))
    assert colleague.ok("expert", "list", "--json").json == []
    assert len(colleague.ok("expert", "list", "--json", "--home", str(other)).json) == 1


def test_prompt_has_the_sections_in_order(installed: Colleague) -> None:
    prompt = installed.ok("expert", "prompt", SALES).out
    titles = [line[3:] for line in prompt.splitlines() if line.startswith("## ")]
    assert titles == [
        "Identity",
        "Rules",
        "How to Operate",
        "Available Functions",
        "Available Processes",
        "Knowledge Available",
        "State Files",
        "Tool Approval Policy",
        "Instructions",
        "Current Date and Time",
    ]
    assert "- state/pipeline.md (persistent)" in prompt
    assert "- state/session-notes.md (session)" in prompt
    assert "If your confidence in a decision is low" in prompt
    auto, rest = prompt.split("CONFIRM (present action, wait for approval):")
    confirm, manual = rest.split("MANUAL (draft only, never execute):")
    assert "- crm.get_contact" in auto
    assert "- crm.update_deal_stage\nDefault for any unlisted operation." in confirm
    assert "- email.send" in manual


def test_learnings_are_in_the_prompt(installed: Colleague) -> None:
    learnings = installed.home / "workspace" / "expert-state" / SALES / "learnings"
    learnings.mkdir()
    (learnings / "_package.md").write_text("---\nscope: package\n---\n\n### Acme reads mail on Mondays\n")
    prompt = installed.ok("expert", "prompt", SALES).out
    learned = prompt.split("## Learnings\n")[1]
    assert '<data source="learnings">\n### Acme reads mail on Mondays' in learned


def test_private_knowledge_is_in_no_index(colleague: Colleague, package: Path) -> None:
    text = "---\nname: canary-name\ndescription: canary-description\ntype: private\n---\ncanary-body\n"
    (package / "knowledge" / "prices.md").write_text(text)
    replace(
        package / "expert.yaml",
        "    - knowledge/meddpicc.md",
        "    - knowledge/meddpicc.md\n    - knowledge/prices.md",
    )
    said = [colleague.ok("expert", "install", str(package), "--json").out]
    for command in ("show", "prompt", "validate"):
        for flag in ([], ["--json"]):
            said.append(colleague("expert", command, SALES, *flag).out)
    said.append((colleague.home / "workspace" / "EXPERTS.md").read_text())
    assert all("canary" not in text for text in said)


def test_experts_md_tells_the_main_agent(installed: Colleague) -> None:
    file = installed.home / "workspace" / "EXPERTS.md"
    assert "crm → nothing yet" in file.read_text()
    said = installed.ok("expert", "bind", SALES, "crm", "hubspot-mcp")
    assert "there is no MCP server 'hubspot-mcp' yet: colleague mcp add hubspot-mcp -- COMMAND" in said.err
    text = file.read_text()
    assert f"## {SALES}\n- **Description:** B2B sales expertise" in text
    assert f"- **Session:** expert:{SALES}" in text
    assert "  - new_email (webhook/gmail) → inbound-email-triage [serial_per_key: contact_id]" in text
    assert "crm → hubspot-mcp" in text
    assert "confirm by default, email.send and calendar.schedule_meeting are manual (draft-only)" in text
    installed.ok("expert", "remove", SALES)
    assert "No experts are installed." in file.read_text()


def test_install_from_git(colleague: Colleague, package: Path) -> None:
    git(package, "init")
    git(package, "add", ".")
    git(package, "commit", "-m", "first")
    said = colleague.ok("expert", "install", f"file://{package}")
    assert f"from file://{package}" in said.out
    assert not (colleague.expert() / ".git").exists()

    replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.2.0"')
    git(package, "commit", "-am", "second")
    assert "0.1.0 → 0.2.0" in colleague.ok("expert", "update", SALES).out
    assert colleague.ok("expert", "list", "--json").json[0]["version"] == "0.2.0"


def test_a_clone_that_fails_says_why_and_leaves_nothing(colleague: Colleague, tmp_path: Path) -> None:
    said = colleague("expert", "install", f"file://{tmp_path}/nowhere")
    assert said.code == 1
    assert "cannot clone" in said.err
    assert "Traceback" not in said.err
    assert colleague.ok("expert", "list", "--json").json == []


def test_a_password_in_a_url_is_never_shown(colleague: Colleague) -> None:
    said = colleague("expert", "install", "https://me:hunter2@127.0.0.1:1/x.git")
    assert said.code == 1
    assert "hunter2" not in said.out + said.err


def test_cloned_by_hand(colleague: Colleague, package: Path) -> None:
    git(package, "init")
    git(package, "add", ".")
    git(package, "commit", "-m", "first")
    configure(colleague)
    colleague.expert().parent.mkdir(parents=True)
    git(package.parent, "clone", str(package), str(colleague.expert()))
    assert colleague.ok("expert", "list", "--json").json[0]["enabled"] is False
    assert "[state-missing]" in colleague("expert", "validate", SALES).out
    for tool in ("crm", "email", "calendar"):
        colleague.ok("expert", "bind", SALES, tool, "hub")
    colleague.ok("expert", "enable", SALES)
    assert (colleague.home / "workspace" / "expert-state" / SALES / "state" / "pipeline.md").exists()
    replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.1.1"')
    git(package, "commit", "-am", "second")
    assert "0.1.0 → 0.1.1" in colleague.ok("expert", "update", SALES).out
    assert colleague.ok("expert", "list", "--json").json[0]["enabled"] is True


@pytest.mark.parametrize("touch", ["edited", "committed", "added"])
def test_a_clone_by_hand_that_was_changed(touch: str, colleague: Colleague, package: Path) -> None:
    git(package, "init")
    git(package, "add", ".")
    git(package, "commit", "-m", "first")
    colleague.expert().parent.mkdir(parents=True)
    git(package.parent, "clone", str(package), str(colleague.expert()))
    mine = colleague.expert() / ("notes.md" if touch == "added" else "persona/rules.md")
    mine.write_text("my own rules\n")
    if touch == "committed":
        git(colleague.expert(), "commit", "-am", "mine")
    replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.1.1"')
    git(package, "commit", "-am", "second")
    refused = colleague("expert", "update", SALES)
    assert refused.code == 1
    assert "changed by hand" in refused.err
    assert mine.read_text() == "my own rules\n"
    colleague.ok("expert", "update", SALES, "--force")


def test_a_clone_by_hand_goes_on_with_its_branch(colleague: Colleague, package: Path) -> None:
    git(package, "init")
    git(package, "add", ".")
    git(package, "commit", "-m", "first")
    git(package, "checkout", "-b", "stable")
    colleague.expert().parent.mkdir(parents=True)
    git(package, "checkout", "main")
    git(package.parent, "clone", "--branch", "stable", str(package), str(colleague.expert()))
    replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.2.0"')
    git(package, "commit", "-am", "on main")
    assert "0.1.0 is up to date" in colleague.ok("expert", "update", SALES).out


def test_settings_in_a_copied_git_folder_run_nothing(colleague: Colleague, package: Path) -> None:
    """A folder that somebody else prepared may name commands for git to run."""
    git(package, "init")
    git(package, "add", ".")
    git(package, "commit", "-m", "first")
    colleague.expert().parent.mkdir(parents=True)
    git(package.parent, "clone", str(package), str(colleague.expert()))
    trap = colleague.home / "trapped"
    (colleague.expert() / ".gitattributes").write_text("* filter=trap\n")
    for key in ("core.fsmonitor", "core.pager", "filter.trap.clean", "filter.trap.smudge", "core.sshCommand"):
        git(colleague.expert(), "config", key, f"touch {trap}; cat")
    replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.1.1"')
    git(package, "commit", "-am", "second")
    colleague("expert", "update", SALES)
    assert not trap.exists()


def test_a_package_put_in_by_hand_is_told_to_the_main_agent(colleague: Colleague, package: Path) -> None:
    file = colleague.home / "workspace" / "EXPERTS.md"
    colleague.ok("init")
    assert "No experts are installed." in file.read_text()
    (colleague.home / "talk.yaml").write_text("- {when: /./, text: hello}\n")
    package.rename(colleague.expert())
    model = ("--model", f"script/{colleague.home}/talk.yaml")
    colleague.ok("agent", "hello", *model)
    assert f"## {SALES}\n" in file.read_text()
    written = file.stat().st_mtime_ns
    colleague.ok("agent", "hello", *model)
    assert file.stat().st_mtime_ns == written
    replace(colleague.expert() / "expert.yaml", "B2B sales expertise", "Better sales expertise")
    colleague.ok("agent", "hello", *model)
    assert "Better sales expertise" in file.read_text()
    colleague.expert().rename(package)
    colleague.ok("agent", "hello", *model)
    assert "No experts are installed." in file.read_text()


def test_linked_package_is_used_where_it_is_and_never_written(colleague: Colleague, package: Path) -> None:
    before = tree(package)
    colleague.ok("expert", "install", str(package), "--link")
    colleague.ok("expert", "bind", SALES, "crm", "hubspot-mcp", "--operation", "get_contact=hubspot_get")
    assert tree(package) == before
    assert "hubspot_get" in (colleague.expert() / "bindings.yaml").read_text()
    replace(package / "expert.yaml", "B2B sales expertise", "Better sales expertise")
    assert "Better sales expertise" in colleague.ok("expert", "show", SALES).out
    colleague.ok("expert", "remove", SALES)
    assert tree(package).keys() == before.keys()


def test_a_link_to_a_folder_that_is_gone(colleague: Colleague, package: Path) -> None:
    colleague.ok("expert", "install", str(package), "--link")
    package.rename(package.with_name("moved"))
    assert "unreadable" in colleague.ok("expert", "list").out
    said = colleague("expert", "show", SALES)
    assert said.code == 1
    assert str(package) in said.err


def test_a_broken_link_is_in_nobodys_way(installed: Colleague) -> None:
    folder = installed.expert("lent")
    folder.mkdir()
    (folder / "link.json").write_text("{")
    said = installed.ok("expert", "list").out
    assert "unreadable: colleague expert validate lent" in said
    assert SALES in said
    found = installed("expert", "validate", "lent", "--json").json["findings"]
    assert [(each["code"], each["file"]) for each in found] == [("pointer-broken", "link.json")]
    checks = {each["about"]: each["message"] for each in installed("doctor", "--json").json}
    assert "does not say where the package is" in checks["expert lent"]
    assert "is bound to nothing" in checks[f"expert {SALES}"]
    installed.ok("status")
    installed.ok("expert", "remove", "lent")
    assert [each["name"] for each in installed.ok("expert", "list", "--json").json] == [SALES]


def test_doctor_looks_at_everything_though_one_part_cannot_be_read(installed: Colleague) -> None:
    whole = [each["about"] for each in installed("doctor", "--json").json]
    (installed.home / "state" / "experts.json").write_text("{broken")
    checks = installed("doctor", "--json").json
    assert [each["about"] for each in checks] == [
        *whole[: whole.index(f"expert {SALES}")],
        "experts",
        "gateway",
    ]
    [experts] = [each for each in checks if each["about"] == "experts"]
    assert experts["level"] == "error"
    assert "experts.json cannot be read" in experts["message"]
    assert experts["cure"] == "mend or delete it; then enable your experts again"


def test_remove_keeps_state_and_bindings_for_a_reinstall(installed: Colleague, package: Path) -> None:
    installed.ok("expert", "bind", SALES, "crm", "hubspot-mcp")
    pipeline = installed.home / "workspace" / "expert-state" / SALES / "state" / "pipeline.md"
    pipeline.write_text("Acme: stage 3\n")
    installed.ok("expert", "remove", SALES)
    assert installed.ok("expert", "list", "--json").json == []
    installed.ok("expert", "install", str(package))
    assert pipeline.read_text() == "Acme: stage 3\n"
    listed = installed.ok("expert", "list", "--json").json[0]
    assert listed["tools"]["crm"] == "hubspot-mcp"
    assert listed["enabled"] is False


def test_purge_asks_and_deletes_everything(installed: Colleague) -> None:
    installed.ok("expert", "bind", SALES, "crm", "hubspot-mcp")
    refused = installed("expert", "remove", SALES, "--purge")
    assert refused.code == 1
    assert "--yes" in refused.err
    installed.ok("expert", "remove", SALES, "--purge", "--yes")
    assert not installed.expert().exists()
    assert not (installed.home / "workspace" / "expert-state" / SALES).exists()


def test_install_twice_and_under_another_name(installed: Colleague, package: Path) -> None:
    said = installed("expert", "install", str(package))
    assert said.code == 1
    assert "already installed" in said.err
    installed.ok("expert", "install", str(package), "--name", "second")
    assert [item["name"] for item in installed.ok("expert", "list", "--json").json] == [SALES, "second"]
    for name in ("../escape", "UPPER", "a/b", ".staging", ""):
        assert installed("expert", "install", str(package), f"--name={name}").code in (1, 2)


def test_an_invalid_package_is_refused_whole(colleague: Colleague, package: Path) -> None:
    (package / "bindings.yaml").write_text("tools: {}\n")
    said = colleague("expert", "install", str(package))
    assert said.code == 1
    assert "ships bindings.yaml" in said.err
    assert not colleague.expert().exists()


def test_mistyped_names_get_a_suggestion(installed: Colleague) -> None:
    assert f"did you mean '{SALES}'?" in installed("expert", "show", "radiant-sale-expert").err
    assert "did you mean 'calendar'?" in installed("expert", "bind", SALES, "calender", "x").err
    wrong = installed("expert", "bind", SALES, "crm", "x", "--operation", "get_contct=y")
    assert (wrong.code, "did you mean 'get_contact'?" in wrong.err) == (2, True)
    assert installed("expert", "bind", SALES, "crm", "x", "--operation", "nonsense").code == 2
    assert "Did you mean 'validate'" in installed("expert", "vaildate").err


def test_bind_keeps_the_users_comments(installed: Colleague) -> None:
    file = installed.expert() / "bindings.yaml"
    file.write_text(
        "# mine\ntools:\n  crm: old-mcp   # the old one\n  email:\n    server: nylas-mcp  # keep\n"
        "    repeatable: [get_email]\nmodel: anthropic/claude-sonnet-4-5 # cheap\n"
    )
    installed.ok("expert", "bind", SALES, "email", "new-mcp", "--operation", "send=send_mail")
    text = file.read_text()
    assert "# mine" in text
    assert "# the old one" in text
    assert "# cheap" in text
    assert "repeatable: [get_email]" in text
    assert "send: send_mail" in text
    installed.ok("expert", "unbind", SALES, "email")
    assert "new-mcp" not in file.read_text()
    assert "nothing" not in installed("expert", "unbind", SALES, "calendar").out
    assert installed("expert", "unbind", SALES, "calendar").code == 1


def test_broken_bindings_are_named_and_not_overwritten(installed: Colleague) -> None:
    file = installed.expert() / "bindings.yaml"
    broken = "tools:\n  crm: [\n"
    file.write_text(broken)
    said = installed("expert", "bind", SALES, "crm", "x")
    assert said.code == 1
    assert "bindings.yaml:" in said.err
    assert file.read_text() == broken
    validated = installed("expert", "validate", SALES)
    assert "bindings.yaml:3" in validated.out
    assert "bound to nothing" not in validated.out  # nobody knows what is bound
    assert "✗ bindings.yaml readable\n" in validated.out
    assert "- Triggers: not checked, bindings.yaml has errors\n" in validated.out


def test_enable_needs_every_tool(installed: Colleague) -> None:
    said = installed("expert", "enable", SALES)
    assert said.code == 1
    assert "tool 'crm' is bound to nothing" in said.err


def test_init_twice(colleague: Colleague) -> None:
    assert "is ready" in colleague.ok("init").out
    settings = colleague.home / "colleague.json"
    settings.write_text("// mine\n{}\n")
    assert "was ready already" in colleague.ok("init").out
    assert settings.read_text() == "// mine\n{}\n"
    assert json.loads(colleague.ok("init", "--json").out)["made"] == []


def test_new_validates_without_a_warning(colleague: Colleague, tmp_path: Path) -> None:
    said = colleague.ok("expert", "new", "other-desk", "--folder", "Müllers Experten/other-desk")
    assert "colleague expert install --link 'Müllers Experten/other-desk'" in said.out
    colleague.ok("expert", "new", "my-desk")
    assert colleague.ok("expert", "validate", "./my-desk", "--json").json["findings"] == []
    again = colleague("expert", "new", "my-desk")
    assert again.code == 1
    assert "not empty" in again.err
    colleague.ok("expert", "install", str(tmp_path / "my-desk"))


def test_the_demo_plays_to_the_end(colleague: Colleague) -> None:
    said = colleague.ok("demo", "--yes", timeout=900)
    for words in (
        "next attempt in ",
        "waits for you",
        "update_deal_stage",
        "create_note",
        "mails sent: 0",
        "Delivery of run",
        "That is the whole way of one mail",
    ):
        assert words in said.out + said.err


def test_enable_needs_servers_that_exist(installed: Colleague) -> None:
    for tool in ("crm", "email", "calendar"):
        installed.ok("expert", "bind", SALES, tool, "hub")
    said = installed("expert", "enable", SALES)
    assert said.code == 1
    assert "MCP server 'hub', which is not configured" in said.err
    assert installed.ok("expert", "list", "--json").json[0]["enabled"] is False
    assert (
        "✓ All required tools bound\n✗ MCP servers configured" in installed("expert", "validate", SALES).out
    )


def test_disable_turns_the_triggers_off_again(installed: Colleague) -> None:
    configure(installed)
    for tool in ("crm", "email", "calendar"):
        installed.ok("expert", "bind", SALES, tool, "hub")
    installed.ok("expert", "enable", SALES)
    assert "its triggers are off" in installed.ok("expert", "disable", SALES).out
    assert installed.ok("expert", "list", "--json").json[0]["enabled"] is False
    assert "(off until enabled)" in (installed.home / "workspace" / "EXPERTS.md").read_text()

"""Skills as a person meets them at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Colleague


def put(home: Path, name: str, *, head: str = "", body: str = "Count every line twice.") -> Path:
    folder = home / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}\n{head}---\n\n{body}\n")
    return folder


def test_list_show_and_doctor(colleague: Colleague) -> None:
    put(colleague.home, "ready")
    wants = 'metadata: {"openclaw": {"requires": {"bins": ["no-such-program"]}, "install": [{"kind": "brew", '
    put(colleague.home, "waiting", head=wants + '"formula": "it", "label": "Get it"}]}}\n')
    put(colleague.home, "broken", head='metadata: {"openclaw": {"requires": [\n')
    found = {each["name"]: each for each in colleague.ok("skill", "list", "--json").json}
    assert {name: each["status"] for name, each in found.items()} == {
        "broken": "broken",
        "ready": "ready",
        "waiting": "not eligible",
        "write-a-skill": "ready",
    }
    assert found["broken"]["reasons"][0].startswith(f"{colleague.home}/skills/broken/SKILL.md:4: ")
    shown = colleague.ok("skill", "show", "waiting").out
    assert "not used: the program no-such-program is not installed" in shown
    assert "to install: Get it (brew it)" in shown
    assert colleague.ok("skill", "show", "waiting", "--json").json == found["waiting"]
    unknown = colleague("skill", "show", "redy")
    assert (unknown.code, "did you mean 'ready'" in unknown.err) == (1, True)
    checks = colleague("doctor", "--json").json
    [wrong] = [each["message"] for each in checks if (each["about"], each["level"]) == ("skills", "warning")]
    assert "skills/broken/SKILL.md:4: " in wrong


def test_a_skill_of_an_enabled_plugin(colleague: Colleague) -> None:
    plugin = colleague.home / "plugins" / "helper"
    plugin.mkdir(parents=True)
    (plugin / "plugin.py").write_text("def register(api):\n    pass\n")
    put(plugin, "from-plugin")
    assert colleague("skill", "show", "from-plugin").code == 1
    colleague.ok("plugin", "enable", "helper")
    assert colleague.ok("skill", "show", "from-plugin", "--json").json["source"] == "plugin"
    assert "About from-plugin" in colleague.ok("prompt").out
    put(plugin, "from-plugin", body="Something that nobody has agreed to.")
    assert colleague("skill", "show", "from-plugin").code == 1


def test_no_key_is_shown(colleague: Colleague) -> None:
    put(colleague.home, "it", head='metadata: {"openclaw": {"primaryEnv": "IT_KEY"}}\n')
    file = colleague.home / "colleague.json"
    file.write_text(json.dumps({"skills": {"entries": {"it": {"apiKey": "nobody-is-shown-this"}}}}))
    file.chmod(0o600)
    shown = colleague.ok("skill", "show", "it").out
    assert "its commands get: IT_KEY" in shown
    more = colleague.ok("skill", "list", "--json").out + colleague.ok("config", "show").out
    assert "nobody-is-shown-this" not in shown + more

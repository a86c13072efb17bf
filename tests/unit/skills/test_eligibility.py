"""Which skills can be used, why not, and which variables their commands get."""

from __future__ import annotations

import json

import pytest

from tests.unit.skills.place import SkillHome, skill_text


def needing(**metadata: object) -> str:
    return skill_text("it", f"metadata: {json.dumps({'openclaw': metadata})}\n")


@pytest.fixture
def it(home: SkillHome) -> SkillHome:
    program = home.root / "bin" / "there"
    program.parent.mkdir()
    program.touch(mode=0o755)
    return home


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({}, []),
        ({"os": ["linux"]}, []),
        ({"os": ["darwin", "win32"]}, ["it is for darwin, win32, and this is linux"]),
        ({"requires": {"bins": ["there"]}}, []),
        ({"requires": {"bins": ["gone", "there"]}}, ["the program gone is not installed"]),
        ({"requires": {"bins": ["../bin/there"]}}, ["the program ../bin/there is not installed"]),
        ({"requires": {"anyBins": ["gone", "there"]}}, []),
        ({"requires": {"anyBins": ["a", "b"]}}, ["none of the programs a, b is installed"]),
        ({"requires": {"env": ["SET"]}}, []),
        (
            {"requires": {"env": ["UNSET"]}},
            ["the variable UNSET is not set: set it, or skills.entries.it.env.UNSET"],
        ),
        ({"requires": {"config": ["gateway.port", "tools.exec"]}}, []),
        ({"requires": {"config": ["channels.slack.token"]}}, ["the setting channels.slack.token is not set"]),
        ({"requires": {"config": ["no.such.key"]}}, ["the setting no.such.key is not set"]),
        ({"always": True, "requires": {"bins": ["gone"], "env": ["UNSET"]}}, []),
        ({"always": True, "os": ["win32"]}, ["it is for win32, and this is linux"]),
    ],
)
def test_what_it_needs(it: SkillHome, metadata: dict[str, object], said: list[str]) -> None:
    it.put("it", needing(**metadata))
    assert it.obstacles("it", SET="1") == said


def test_the_settings_of_one_skill(it: SkillHome) -> None:
    it.put("it", needing(requires={"env": ["KEY"], "config": ["voice"]}, primaryEnv="KEY"))
    assert len(it.obstacles("it")) == 2
    entry: dict[str, object] = {"apiKey": "${MINE}", "config": {"voice": "low"}}
    it.settings = {"skills": {"entries": {"it": entry}}}
    assert it.obstacles("it", MINE="x") == []
    assert it.obstacles("it") == ["skills.entries.it.apiKey: the environment variable MINE is not set"]
    it.settings = {"skills": {"entries": {"it": {**entry, "enabled": False}}}}
    assert it.obstacles("it", MINE="x") == ["skills.entries.it.enabled is false"]


def test_a_skill_with_another_key(it: SkillHome) -> None:
    it.put("it", needing(skillKey="other"))
    it.settings = {"skills": {"entries": {"other": {"enabled": False}}}}
    assert it.obstacles("it") == ["skills.entries.other.enabled is false"]


def test_which_an_agent_may_use(it: SkillHome) -> None:
    it.put("it")
    skill = it.skills.skills["it"]
    for names, allowed in ((None, True), (["it"], True), (["x"], False), ([], False)):
        it.settings = {"agents": {"defaults": {"skills": names}, "list": [{"id": "b", "skills": ["it"]}]}}
        assert it.conditions().is_allowed(skill) is allowed
        assert it.read.for_agent("b").agents.defaults.skills == ("it",)
    it.settings = {"agents": {"list": [{"id": "b", "skills": []}]}}
    assert it.read.for_agent("b").agents.defaults.skills == ()


def test_variables(it: SkillHome) -> None:
    it.put("it", needing(requires={"env": ["ASKED"]}, primaryEnv="KEY"))
    it.settings = {
        "skills": {"entries": {"it": {
            "apiKey": "key-of-it", "env": {"MODE": "fast", "REF": "${OURS}"},
            "config": {"voice": "low", "token": "${OURS}"},
        }}}
    }  # fmt: skip
    environ = {"ASKED": "from-ours", "OURS": "secret-of-ours", "OTHER": "x"}
    skill = it.skills.skills["it"]
    found = it.conditions(**environ).variables(skill)
    assert dict(found.values) == {
        "ASKED": "from-ours",
        "KEY": "key-of-it",
        "MODE": "fast",
        "REF": "secret-of-ours",
        "SKILL_CONFIG": '{"voice": "low", "token": "secret-of-ours"}',
    }
    assert set(found.secrets) == {"from-ours", "key-of-it", "fast", "secret-of-ours"}
    assert "key-of-it" not in repr(found)
    assert it.conditions(**environ).variable_names(skill) == set(found.values)


def test_a_skill_of_the_workspace_gets_nothing_of_ours(it: SkillHome) -> None:
    it.put("it", needing(requires={"env": ["ANTHROPIC_API_KEY"]}), at="workspace/skills")
    skill = it.skills.skills["it"]
    conditions = it.conditions(ANTHROPIC_API_KEY="ours")
    assert conditions.is_eligible(skill)
    assert conditions.variables(skill).values == {}

"""Keys that are set and have no effect, and restrictions that stop the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.config import Settings, default_settings_text, load_settings
from colleague.config.section import not_yet
from colleague.config.status import require_enforced, unenforced, without_effect
from colleague.errors import ConfigError
from colleague.home import Home


def load(root: Path, ours: str = "{}", theirs: str | None = None) -> Settings:
    (root / "colleague.json").write_text(ours)
    if theirs is not None:
        (root / "openclaw.json").write_text(theirs)
    return load_settings(Home(root))


def idle(settings: Settings) -> list[str]:
    return [each.key for each in without_effect(settings)]


def restricting(settings: Settings) -> list[str]:
    return [each.key for each in unenforced(settings)]


class TestWithoutEffect:
    def test_only_what_is_set(self, tmp_path: Path) -> None:
        assert idle(load(tmp_path)) == []
        assert idle(load(tmp_path, default_settings_text())) == []
        assert idle(load(tmp_path, "{gateway: {port: 3}, messages: {}, channels: {}}")) == []
        assert idle(load(tmp_path, "{gateway: {port: 3}, channels: {slack: {}}}")) == ["channels"]

    def test_a_key_that_is_set_to_its_default(self) -> None:
        class Invented(Settings):
            example: bool = not_yet(default=True, description="No key of the real settings stays so.")

        assert idle(Invented.model_validate({"example": True})) == ["example"]
        assert idle(Invented.model_validate({})) == []

    def test_null_is_not_set(self, tmp_path: Path) -> None:
        text = "{agents: {defaults: {imageModel: null, userTimezone: null}}, session: {idleMinutes: null}}"
        assert idle(load(tmp_path, text)) == []
        assert idle(load(tmp_path, "{skills: {allowBundled: null}, tools: {exec: {ask: null}}}")) == []

    def test_what_is_below_a_key_with_a_status_belongs_to_it(self, tmp_path: Path) -> None:
        text = "{channels: {slack: {sandbox: {name: 'x'}}}}"
        settings = load(tmp_path, text)
        assert idle(settings) == ["channels"]
        assert restricting(settings) == []

    def test_a_part_that_has_an_effect_is_said(self, tmp_path: Path) -> None:
        [found] = without_effect(load(tmp_path, "{channels: {slack: {}}}"))
        assert str(found).endswith("channels has no effect yet, apart from groups.*.tools")

    def test_other_agents(self, tmp_path: Path) -> None:
        text = """{agents: {
          list: [{id: 'main', identity: {avatar: 'a'}},
            {id: 'b', sandbox: {sessionToolsVisibility: 'spawned'}}],
          entries: {c: {sandbox: {sessionToolsVisibility: 'spawned'}}}}}"""
        settings = load(tmp_path, text)
        assert [str(each).rpartition(f"{tmp_path}/")[2] for each in without_effect(settings)] == [
            "colleague.json:2:42: agents.list[0].identity.avatar has no effect yet",
        ]
        assert restricting(settings) == [
            "agents.list[1].sandbox.sessionToolsVisibility",
            "agents.entries.c.sandbox.sessionToolsVisibility",
        ]


class TestRestrictions:
    @pytest.mark.parametrize(
        "text",
        [
            "{tools: {profile: 'full', allow: [], deny: []}}",
            "{tools: {allow: ['x', '*'], alsoAllow: ['y']}}",
            "{agents: {defaults: {sandbox: {backend: 'bubblewrap', scope: 'session'}}}}",
            "{session: {sendPolicy: {default: 'allow', rules: [{action: 'allow', match: {channel: 'x'}}]}}}",
            "{tools: {profile: 'minimal', deny: ['x'], subagents: {tools: {allow: ['x']}}}}",
        ],
    )
    def test_what_restricts_nothing(self, tmp_path: Path, text: str) -> None:
        assert restricting(load(tmp_path, text)) == []
        require_enforced(load(tmp_path, text))

    def test_in_an_included_file(self, tmp_path: Path) -> None:
        (tmp_path / "more.json5").write_text("{\n  sessionToolsVisibility: 'spawned' }")
        text, key = (
            "{agents: {defaults: {sandbox: {$include: './more.json5'}}}}",
            "agents.defaults.sandbox.sessionToolsVisibility",
        )
        [found] = unenforced(load(tmp_path, text))
        assert str(found).startswith(f"{tmp_path}/more.json5:2:3: {key} restricts agents")
        assert found.cure == f'remove {key}, or set it to "all"'
        [found] = unenforced(load(tmp_path, theirs=text))
        cure = '{ agents: { defaults: { sandbox: { sessionToolsVisibility: "all" } } } }'
        assert found.cure.startswith(f"put {cure} in colleague.json")

    def test_the_cure_works(self, tmp_path: Path) -> None:
        theirs = """{
          agents: {defaults: {sandbox: {sessionToolsVisibility: 'spawned'}},
            entries: {'a/b': {sandbox: {sessionToolsVisibility: 'spawned'}}}}}"""
        found = unenforced(load(tmp_path, theirs=theirs))
        assert len(found) == 2
        for each in found:
            ours = each.cure.removeprefix("put ").partition(" in colleague.json")[0]
            assert each.key not in restricting(load(tmp_path, ours, theirs)), each.cure

    def test_many_are_one_error(self, tmp_path: Path) -> None:
        entries = ", ".join(
            f"p{number}: {{sandbox: {{sessionToolsVisibility: 'spawned'}}}}" for number in range(30)
        )
        with pytest.raises(ConfigError) as caught:
            require_enforced(load(tmp_path, f"{{agents: {{entries: {{{entries}}}}}}}"))
        lines = caught.value.message.splitlines()
        assert len(lines) == 21
        assert lines[-1] == "and 10 more: colleague config check"

    def test_settings_that_no_file_holds(self) -> None:
        settings = Settings.model_validate(
            {"agents": {"defaults": {"sandbox": {"sessionToolsVisibility": "spawned"}}}}
        )
        with pytest.raises(
            ConfigError, match=r"^agents\.defaults\.sandbox\.sessionToolsVisibility restricts agents"
        ) as caught:
            require_enforced(settings)
        assert (
            caught.value.hint == 'remove agents.defaults.sandbox.sessionToolsVisibility, or set it to "all"'
        )


class TestMainAgent:
    def test_a_name_alone_leaves_the_fallbacks(self, tmp_path: Path) -> None:
        defaults = "{model: {primary: 'a/b', fallbacks: ['c/d']}}"
        text = f"{{agents: {{defaults: {defaults}, list: [{{id: 'main', model: 'e/f'}}]}}}}"
        model = load(tmp_path, text).agents.defaults.model
        assert model
        assert (model.primary, model.fallbacks) == ("e/f", ("c/d",))

    @pytest.mark.parametrize(
        ("listed", "workspace"),
        [
            ("[{id: 'main', workspace: 'w'}]", "w"),
            ("[{id: 'x', workspace: 'w', default: true}]", "w"),
            ("[{id: 'x', workspace: 'v', default: true}, {id: 'main', workspace: 'w'}]", "w"),
            ("[{id: 'x', workspace: 'v'}]", "workspace"),
            ("[{id: 'main'}]", "workspace"),
        ],
    )
    def test_which_entry_it_is(self, tmp_path: Path, listed: str, workspace: str) -> None:
        settings = load(tmp_path, f"{{agents: {{list: {listed}}}}}")
        assert settings.workspace == tmp_path / workspace
        assert load(tmp_path, "{}").workspace == tmp_path / "workspace"

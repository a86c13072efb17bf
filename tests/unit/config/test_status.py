"""Keys that are set and have no effect, and restrictions that stop the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.config import Settings, default_settings_text, load_settings
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

    def test_a_key_that_is_set_to_its_default(self, tmp_path: Path) -> None:
        assert idle(load(tmp_path, "{skills: {load: {watch: true}}}")) == ["skills.load.watch"]

    def test_null_is_not_set(self, tmp_path: Path) -> None:
        text = "{agents: {defaults: {imageModel: null, userTimezone: null}}, session: {idleMinutes: null}}"
        assert idle(load(tmp_path, text)) == []
        assert idle(load(tmp_path, "{skills: {allowBundled: null}, tools: {exec: {ask: null}}}")) == []

    def test_what_is_below_a_key_with_a_status_belongs_to_it(self, tmp_path: Path) -> None:
        text = "{agents: {defaults: {sandbox: {tools: {deny: ['x']}}}}}"
        settings = load(tmp_path, text)
        assert idle(settings) == ["agents.defaults.sandbox.tools"]
        assert restricting(settings) == []

    def test_other_agents(self, tmp_path: Path) -> None:
        text = """{agents: {
          list: [{id: 'main', name: 'Ada'}, {id: 'b', tools: {deny: ['y']}}],
          entries: {c: {tools: {deny: ['*']}}}}}"""
        settings = load(tmp_path, text)
        assert [str(each).rpartition(f"{tmp_path}/")[2] for each in without_effect(settings)] == [
            "colleague.json:2:31: agents.list[0].name has no effect yet",
        ]
        assert restricting(settings) == ["agents.list[1].tools.deny", "agents.entries.c.tools.deny"]


class TestRestrictions:
    @pytest.mark.parametrize(
        "text",
        [
            "{tools: {profile: 'full', allow: [], deny: []}}",
            "{tools: {allow: ['x', '*'], alsoAllow: ['y']}}",
            "{agents: {defaults: {sandbox: {mode: 'off', scope: 'session'}}}}",
            "{session: {sendPolicy: {default: 'allow', rules: [{action: 'allow', match: {channel: 'x'}}]}}}",
            "{tools: {sandbox: {tools: {deny: ['x']}}, subagents: {tools: {allow: ['x']}}}}",
        ],
    )
    def test_what_restricts_nothing(self, tmp_path: Path, text: str) -> None:
        assert restricting(load(tmp_path, text)) == []
        require_enforced(load(tmp_path, text))

    def test_in_an_included_file(self, tmp_path: Path) -> None:
        (tmp_path / "more.json5").write_text("{\n  deny: ['x'] }")
        [found] = unenforced(load(tmp_path, "{tools: {$include: './more.json5'}}"))
        assert str(found).startswith(f"{tmp_path}/more.json5:2:3: tools.deny restricts agents")
        assert found.cure == "remove tools.deny, or set it to []"
        [found] = unenforced(load(tmp_path, theirs="{tools: {$include: './more.json5'}}"))
        assert found.cure.startswith("put { tools: { deny: [] } } in colleague.json")

    def test_the_cure_works(self, tmp_path: Path) -> None:
        theirs = """{
          tools: {profile: 'coding', deny: ['a'], byProvider: {'a/b': {allow: ['x']}}},
          agents: {entries: {main: {tools: {deny: ['z']}}}}}"""
        found = unenforced(load(tmp_path, theirs=theirs))
        assert len(found) == 4
        for each in found:
            ours = each.cure.removeprefix("put ").partition(" in colleague.json")[0]
            assert each.key not in restricting(load(tmp_path, ours, theirs)), each.cure

    def test_many_are_one_error(self, tmp_path: Path) -> None:
        providers = ", ".join(f"p{number}: {{deny: ['x']}}" for number in range(30))
        with pytest.raises(ConfigError) as caught:
            require_enforced(load(tmp_path, f"{{tools: {{byProvider: {{{providers}}}}}}}"))
        lines = caught.value.message.splitlines()
        assert len(lines) == 21
        assert lines[-1] == "and 10 more: colleague config check"

    def test_settings_that_no_file_holds(self) -> None:
        settings = Settings(tools={"deny": ["x"]})  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"^tools\.deny restricts agents") as caught:
            require_enforced(settings)
        assert caught.value.hint == "remove tools.deny, or set it to []"


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

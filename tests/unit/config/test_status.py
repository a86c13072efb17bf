"""Keys that are set and have no effect, and restrictions that stop the start."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from colleague.config import Settings, default_settings_text, load_settings
from colleague.config.section import not_yet, restricts
from colleague.config.status import require_enforced, unenforced, without_effect
from colleague.errors import ConfigError
from colleague.home import Home


def load(root: Path, ours: str = "{}", theirs: str | None = None) -> Settings:
    (root / "colleague.json").write_text(ours)
    if theirs is not None:
        (root / "openclaw.json").write_text(theirs)
    return load_settings(Home(root))


def idle(settings: Settings, *served: str) -> list[str]:
    return [each.key for each in without_effect(settings, served)]


class Invented(Settings):
    """No key of the real settings is like these."""

    example: bool = not_yet(default=True, description="")
    limit: Literal["none", "some"] = restricts(default="none", description="")


class TestWithoutEffect:
    def test_only_what_is_set(self, tmp_path: Path) -> None:
        assert idle(load(tmp_path)) == []
        assert idle(load(tmp_path, default_settings_text())) == []
        assert idle(load(tmp_path, "{gateway: {port: 3}, messages: {}, channels: {}}")) == []

    def test_a_key_that_is_set_to_its_default(self) -> None:
        assert idle(Invented.model_validate({"example": True})) == ["example"]
        assert idle(Invented.model_validate({})) == []

    def test_a_channel_that_no_plugin_has(self, tmp_path: Path) -> None:
        settings = load(tmp_path, "{channels: {\n slack: {token: 'x'}, mail: {from: 'a'}}}")
        assert idle(settings, "mail") == ["channels.slack"]
        assert idle(settings, "mail", "slack") == []
        [found] = without_effect(settings, ["mail"])
        assert str(found) == (
            f"{tmp_path}/colleague.json:2:2: channels.slack has no effect: no plugin here has this channel"
        )

    @pytest.mark.parametrize(
        "own", ["{}", "{enabled: false, token: 'x'}", "{allowFrom: ['a'], groups: {g: {tools: {}}}}"]
    )
    def test_what_counts_for_every_channel(self, tmp_path: Path, own: str) -> None:
        assert idle(load(tmp_path, f"{{channels: {{slack: {own}}}}}")) == []


class TestRestrictions:
    def test_one_that_restricts_nothing(self) -> None:
        require_enforced(Invented.model_validate({"limit": "none"}))
        require_enforced(Settings.model_validate({"tools": {"deny": ["x"]}}))

    def test_settings_that_no_file_holds(self) -> None:
        settings = Invented.model_validate({"limit": "some"})
        assert [each.key for each in unenforced(settings)] == ["limit"]
        with pytest.raises(ConfigError, match=r"^limit restricts agents") as caught:
            require_enforced(settings)
        assert caught.value.hint == 'remove limit, or set it to "none"'


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

"""The models as a whole: frozen, described, shown by `init`, and safe from any text."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from colleague.config import Settings, default_settings_text, known_settings, load_settings
from colleague.config.agents import Agents
from colleague.config.effective import effective_values
from colleague.config.section import Section
from colleague.config.status import unenforced, without_effect
from colleague.errors import ConfigError
from colleague.home import Home

BUILT = """
import sys
from pathlib import Path
from colleague.config import load_settings
from colleague.config.section import Section
from colleague.home import Home

def all_below(above):
    return [name for each in above.__subclasses__() for name in (each, *all_below(each))]

load_settings(Home(Path(sys.argv[1])))
print(*sorted(each.__name__ for each in all_below(Section) if each.__pydantic_complete__))
"""


def load(root: Path, ours: str | bytes, theirs: str | bytes | None = None) -> Settings:
    for name, text in (("colleague.json", ours), ("openclaw.json", theirs)):
        if text is not None:
            (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_settings(Home(root))


class TestFrozen:
    def test_settings_cannot_be_changed(self, tmp_path: Path) -> None:
        settings = load(tmp_path, "{}")
        with pytest.raises(ValidationError):
            settings.gateway.port = 3  # type: ignore[misc]

    def test_models_can_be_made_by_name(self) -> None:
        assert Settings(gateway={"port": 3}).gateway.port == 3  # type: ignore[arg-type]


class TestStart:
    """Every command that reads the settings waits until their models are there."""

    def test_every_default_is_a_value_that_its_key_takes(self) -> None:
        """They are not checked when they are used."""
        shown = Settings().model_dump(by_alias=True, mode="json")
        assert Settings.model_validate(shown).model_dump() == Settings().model_dump()

    def test_annotations_need_no_evaluation(self) -> None:
        modules = {sys.modules[each.__module__] for each in _all_sections(Section)}
        assert [each.__name__ for each in modules if hasattr(each, "annotations")] == []

    @pytest.mark.parametrize(
        ("text", "built"),
        [
            (None, ""),
            ("{}", "Settings"),
            ("{gateway: {port: 3}}", "GatewaySettings Settings"),
            (
                "{agents: {defaults: {heartbeat: {every: '5m'}}}}",
                "AgentDefaults Agents Heartbeat Settings",
            ),
        ],
    )
    def test_only_what_a_file_sets_is_built(self, tmp_path: Path, text: str | None, built: str) -> None:
        if text is not None:
            (tmp_path / "colleague.json").write_text(text)
        done = subprocess.run([sys.executable, "-c", BUILT, str(tmp_path)], capture_output=True, text=True)
        assert (done.stdout.strip(), done.stderr) == (built, "")

    def test_only_the_spelling_of_the_files_counts_in_them(self, tmp_path: Path) -> None:
        """At every depth; made in Python, a section takes its names as well."""
        given = {"agents": {"defaults": {"max_turns": 3, "thinking": {"budget": {"low": 5}}}}}
        assert load(tmp_path, json.dumps(given)).agents.defaults.max_turns == 100
        assert Settings.model_validate(given).agents.defaults.max_turns == 3


def _all_sections(above: type[Section]) -> Iterator[type[Section]]:
    for each in above.__subclasses__():
        if each.__module__.startswith("colleague."):
            yield each
        yield from _all_sections(each)


class TestDefaultText:
    def test_loads_as_the_defaults_without_a_warning(self, tmp_path: Path) -> None:
        settings = load(tmp_path, default_settings_text())
        assert settings.warnings == ()
        assert settings.model_dump() == Settings().model_dump()

    def test_what_it_shows_as_a_default_is_the_default(self, tmp_path: Path) -> None:
        shown = re.sub(r"(?m)^( +)//(?=[a-z])", r"\1", default_settings_text())
        settings = load(tmp_path, shown)
        assert shown != default_settings_text()
        assert settings.warnings == ()
        assert settings.model_dump() == Settings().model_dump()
        assert settings.model_fields_set == Settings.model_fields.keys()

    def test_its_examples_load(self, tmp_path: Path) -> None:
        shown = re.sub(r"(?m)^( +)//   ", r"\1", default_settings_text())
        settings = load(tmp_path, shown)
        assert settings.warnings == ()
        assert settings.mcp.servers.keys() == {"hubspot-mcp", "calendar-mcp"}

    def test_every_section_is_explained(self) -> None:
        text = default_settings_text()
        for key in Settings.model_fields:
            assert re.search(rf"(?m)^  // .+\n  {key}: ", text), key


class TestKnownSettings:
    def test_every_key_has_a_type_and_a_description(self) -> None:
        for known in known_settings():
            assert known.description.endswith("."), known.key
            assert known.type, known.key
            assert "'" not in known.type
            assert "class" not in known.type

    def test_some_of_them(self) -> None:
        known = {each.key: each for each in known_settings()}
        assert known["gateway.port"][1:3] == ("whole number", "18790")
        assert known["experts.dedupeWindow"][1:3] == ("duration", '"7d"')
        assert known["hooks.token"][1:3] == ("secret or null", "null")
        assert known["agents.list[].id"][1:3] == ("text", "required")
        assert known["models.providers.*.models[].cost.cacheRead"][1:3] == ("number", "0")
        assert known["mcp.servers.*.env"][1:3] == ("object of secret", "{}")
        assert known["tools.byProvider.*.alsoAllow"][1:3] == ("list of text", "[]")
        assert known["session.resetTriggers"][2] == '["/new", "/reset"]'
        assert (
            known["session.sendPolicy.rules[].match.chatType"][1]
            == '"dm", "direct", "group", "channel" or null'
        )
        assert len(known) == len(known_settings())

    def test_no_key_is_both_used_and_passed_over(self) -> None:
        for model in every_section():
            used = {field.alias for field in model.model_fields.values()}
            if not issubclass(model, Settings):
                assert not used & model.passed_over, model
            assert not used & model.renamed.keys(), model
            assert set(model.renamed.values()) <= used, model


def every_section(model: type[Section] = Section) -> list[type[Section]]:
    return [each for below in model.__subclasses__() for each in (below, *every_section(below))]


def test_importing_config_imports_nothing_heavy() -> None:
    code = "import sys, colleague.config; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"json5", "yaml", "rich", "typer", "httpx", "mcp", "pydantic_ai"}
    assert not heavy & set(done.stdout.split())


def attempt(ours: str | bytes, theirs: str | bytes | None = None) -> Settings | None:
    """The settings, or None when they are refused in the way that is promised."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(ConfigError):
        return load(Path(folder), ours, theirs)
    return None


JSON5 = st.sampled_from(
    [*"{}[]:,'\"/\\$-+.a\n\u2028é", "$include", "//", "/*", "*/", "1e9", "NaN", "true", "null"]
)
KEYS = st.sampled_from(sorted({each.key for each in known_settings()}))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**300, 10**310)
    | st.floats()
    | st.text()
    | st.sampled_from(["${A}", "7d", "0s", "~x", "off", "postgresql://"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


class TestAnything:
    @given(st.binary(max_size=200))
    @example(b"\xef\xbb\xbf\xef\xbb\xbf{}")
    def test_bytes(self, data: bytes) -> None:
        attempt(data)
        attempt("{}", data)

    @given(st.lists(JSON5, max_size=40).map("".join))
    @example("{a:" * 70)
    def test_almost_json5(self, text: str) -> None:
        attempt(text)
        attempt("{" + text + "}")

    @given(st.lists(st.tuples(KEYS, VALUES), max_size=4))
    def test_known_keys_with_any_value(self, entries: list[tuple[str, Any]]) -> None:
        tree: dict[str, Any] = {}
        for key, value in entries:
            put(tree, re.findall(r"[\w$]+|\*|\[\]", key), value)
        text = json.dumps(tree)
        found = attempt(text, text)
        if found is not None:
            assert found.model_dump_json()
            assert repr(found)
            assert all(map(str, [*without_effect(found, ()), *unenforced(found)]))
            assert all(each.source for each in effective_values(found))


def put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    """Sets a dotted key of known_settings(); objects and lists on the way are made."""
    inside: Any = tree
    for key, following in zip(path, [*path[1:], ""], strict=True):
        made: Any = [] if following == "[]" else {} if following else value
        if isinstance(inside, list):
            inside.append(made)
            inside = inside[-1]
        elif isinstance(inside, dict):
            inside = inside.setdefault(key, made)


def test_the_limits_of_the_main_agent_are_laid_over_the_defaults() -> None:
    agents = Agents.model_validate(
        {
            "defaults": {"contextLimits": {"memoryGetMaxChars": 100, "toolResultMaxChars": 7}},
            "list": [{"id": "main", "contextLimits": {"memoryGetMaxChars": 200}}],
        }
    )
    limits = agents.with_main().defaults.context_limits
    assert (limits.memory_get_max_chars, limits.tool_result_max_chars) == (200, 7)

"""From the settings to a model that can be asked."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.models.keyring import NoKey
from colleague.agent.models.model_list import list_models
from colleague.agent.models.resolve import NoModel, default_model, resolve_model, resolve_routes
from colleague.agent.models.resolved import Prices
from colleague.agent.models.thinking import Thinking
from colleague.config import Settings, load_settings
from colleague.errors import ColleagueError, ConfigError, NotFound
from colleague.home import Home

LOCAL: dict[str, Any] = {
    "baseUrl": "http://127.0.0.1:8080/v1",
    "apiKey": "${LOCAL_KEY}",
    "api": "openai-completions",
    "models": [
        {
            "id": "m1",
            "contextWindow": 128000,
            "maxTokens": 8192,
            "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0.01, "cacheWrite": 0.3},
        }
    ],
}
KEY = {"LOCAL_KEY": "local-key"}


def settings(tmp_path: Path, **tree: Any) -> Settings:
    home = Home(tmp_path)
    home.settings_file.write_text(json.dumps(tree))
    return load_settings(home)


def providers(tmp_path: Path, **each: Any) -> Settings:
    return settings(tmp_path, models={"providers": each})


def test_a_configured_model(tmp_path: Path) -> None:
    model = resolve_model(providers(tmp_path, local=LOCAL), KEY, "local/m1")
    assert (model.name, model.api, model.base_url) == ("local/m1", "openai-completions", LOCAL["baseUrl"])
    assert (model.context_window, model.max_tokens, model.reasoning) == (128000, 8192, None)
    assert model.prices == Prices(Decimal("0.1"), Decimal("0.2"), Decimal("0.01"), Decimal("0.3"))
    assert model.key is not None
    assert (model.key.text, model.key.source) == ("local-key", "models.providers.local.apiKey")
    assert "local-key" not in repr(model)


def test_a_models_name_may_hold_slashes(tmp_path: Path) -> None:
    router = {**LOCAL, "models": [{"id": "meta/llama-4"}]}
    assert resolve_model(providers(tmp_path, router=router), KEY, "router/meta/llama-4").id == "meta/llama-4"


@pytest.mark.parametrize(
    ("environ", "name", "api"),
    [
        ({"ANTHROPIC_API_KEY": "a"}, "anthropic/claude-sonnet-4-5", "anthropic-messages"),
        ({"OPENAI_API_KEY": "b"}, "openai/gpt-5-mini", "openai-responses"),
        ({"GEMINI_API_KEY": "c"}, "google/gemini-2.5-flash", "google"),
        ({"GOOGLE_API_KEY": "c"}, "google/gemini-2.5-flash", "google"),
        (
            {"OPENAI_API_KEY": "b", "ANTHROPIC_API_KEY": "a"},
            "anthropic/claude-sonnet-4-5",
            "anthropic-messages",
        ),
    ],
)
def test_a_key_in_the_environment_is_enough(
    tmp_path: Path, environ: dict[str, str], name: str, api: str
) -> None:
    model = resolve_model(Settings(), environ)
    assert (model.name, model.api, model.base_url) == (name, api, None)
    assert model.key is not None
    assert model.key.source in environ


def test_the_primary_model_is_the_default(tmp_path: Path) -> None:
    agents = {"defaults": {"model": {"primary": "openai/gpt-5"}}}
    assert default_model(settings(tmp_path, agents=agents), {"ANTHROPIC_API_KEY": "a"}) == "openai/gpt-5"


def test_no_model_and_no_key(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="no model configured") as caught:
        resolve_model(Settings(), {})
    assert "agents.defaults.model.primary" in caught.value.hint
    assert "ANTHROPIC_API_KEY" in caught.value.hint


def test_an_alias(tmp_path: Path) -> None:
    models = {"openai/gpt-5": {"alias": "big", "params": {"temperature": 0.3}}}
    chosen = settings(tmp_path, agents={"defaults": {"models": models}})
    model = resolve_model(chosen, {"OPENAI_API_KEY": "b"}, "big")
    assert (model.name, model.params) == ("openai/gpt-5", {"temperature": 0.3})


@pytest.mark.parametrize(
    ("name", "kind", "message", "hint"),
    [
        ("locl/m1", NotFound, "no model provider 'locl'", "did you mean 'local'?"),
        ("zzz/m1", NotFound, "no model provider 'zzz'", "models.providers in colleague.json"),
        ("rehearsal/walkthrough", NotFound, "no model provider 'rehearsal'", "name it in a bindings.yaml"),
        ("openal/gpt-5", NotFound, "no model provider 'openal'", "did you mean 'openai'?"),
        ("m1", NotFound, "names no provider", "did you mean 'local/m1'?"),
        ("what", NotFound, "names no provider", "provider/model"),
        ("local/m11", NotFound, "models.providers.local has no model 'm11'", "did you mean 'm1'?"),
        ("openai/gpt-5", NoKey, "needs a key", "OPENAI_API_KEY"),
        ("odd/m1", ConfigError, "models.providers.odd.api is 'openai-completion'", "'openai-completions'"),
        ("vendor/m1", NoKey, "vendor/m1 needs a key", "models.providers.vendor.apiKey"),
    ],
)
def test_what_cannot_be_asked(
    tmp_path: Path, name: str, kind: type[ColleagueError], message: str, hint: str
) -> None:
    odd = {"baseUrl": "http://127.0.0.1/v1", "api": "openai-completion"}
    vendor = {"api": "anthropic-messages"}
    chosen = providers(tmp_path, local=LOCAL, odd=odd, vendor=vendor)
    with pytest.raises(kind) as caught:
        resolve_model(chosen, KEY, name)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_variable_that_is_not_set(tmp_path: Path) -> None:
    with pytest.raises(NoKey, match=r"models.providers.local.apiKey: .* LOCAL_KEY is not set"):
        resolve_model(providers(tmp_path, local=LOCAL), {}, "local/m1")


def test_a_configured_key_that_is_missing_is_not_replaced_by_another(tmp_path: Path) -> None:
    chosen = providers(tmp_path, openai={"apiKey": "${WORK_KEY}"})
    with pytest.raises(NoKey, match="WORK_KEY"):
        resolve_model(chosen, {"OPENAI_API_KEY": "private"}, "openai/gpt-5")


@pytest.mark.parametrize("text", ["two\nlines", "kéy", "   "])
def test_what_is_no_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(NoKey, match="OPENAI_API_KEY holds no key"):
        resolve_model(Settings(), {"OPENAI_API_KEY": text}, "openai/gpt-5")


def test_a_line_break_after_a_key_is_forgiven(tmp_path: Path) -> None:
    model = resolve_model(Settings(), {"OPENAI_API_KEY": "abc\n"}, "openai/gpt-5")
    assert model.key is not None
    assert model.key.text == "abc"


def test_a_local_server_needs_no_key(tmp_path: Path) -> None:
    local = {"baseUrl": "http://127.0.0.1:8080/v1", "models": [{"id": "m1"}]}
    model = resolve_model(providers(tmp_path, local=local), {}, "local/m1")
    assert (model.key, model.api) == (None, "openai-completions")


def test_headers_and_what_the_provider_says_for_all_its_models(tmp_path: Path) -> None:
    local = {
        **LOCAL,
        "headers": {"X-Team": "${TEAM}", "X-Kind": "a"},
        "authHeader": True,
        "timeoutSeconds": 30,
        "contextWindow": 4096,
        "params": {"temperature": 0.1, "top_p": 0.9},
        "models": [
            {
                "id": "m2",
                "reasoning": True,
                "contextWindow": 9999,
                "contextTokens": 5000,
                "headers": {"X-Kind": "b"},
                "params": {"temperature": 0.5},
            }
        ],
    }
    model = resolve_model(providers(tmp_path, local=local), {**KEY, "TEAM": "sales-team"}, "local/m2")
    headers = {"X-Team": "sales-team", "X-Kind": "b", "Authorization": "Bearer local-key"}
    assert dict(model.headers) == headers
    assert (model.timeout_seconds, model.context_window, model.reasoning) == (30, 5000, True)
    assert model.params == {"temperature": 0.5, "top_p": 0.9}
    assert "sales-team" in model.secrets
    assert "sales-team" not in repr(model)


def test_an_openclaw_home_names_google_in_its_own_way(tmp_path: Path) -> None:
    google = {"api": "google-generative-ai", "apiKey": "k"}
    assert resolve_model(providers(tmp_path, gem=google), {}, "gem/gemini-2.5-pro").api == "google"


def test_several_keys_are_tried_in_order(tmp_path: Path) -> None:
    profiles = {
        "anthropic:home": {"provider": "anthropic", "key": "${HOME_KEY}"},
        "anthropic:work": {"provider": "anthropic", "key": "${WORK_KEY}"},
        "openai:x": {"provider": "openai", "key": "x"},
    }
    auth = {"profiles": profiles, "order": {"anthropic": ["anthropic:work"]}}
    chosen = settings(tmp_path, auth=auth)
    routes = resolve_routes(chosen, {"HOME_KEY": "h", "WORK_KEY": "w"}, "anthropic/claude-sonnet-4-5")
    assert [model.profile for model in routes.models] == ["anthropic:work", "anthropic:home"]

    def source(environ: dict[str, str], **more: str) -> str:
        key = resolve_model(chosen, environ, "anthropic/claude-sonnet-4-5", **more).key  # type: ignore[arg-type]
        return key.source if key else ""

    both = {"HOME_KEY": "h", "WORK_KEY": "w"}
    assert source(both) == "auth.profiles.anthropic:work.key"
    assert source({"HOME_KEY": "h"}) == "auth.profiles.anthropic:home.key"
    assert source(both, profile="anthropic:home") == "auth.profiles.anthropic:home.key"
    with pytest.raises(NotFound, match="no auth profile"):
        source(both, profile="anthropic:hom")


def test_a_script_is_found_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "talk.yaml").write_text("- text: Hello\n")
    chosen = settings(tmp_path, agents={"defaults": {"model": "script/talk.yaml"}})
    assert resolve_model(chosen, {}, folder=tmp_path).name == "script/talk.yaml"
    listed = list_models(chosen, {}, folder=tmp_path)[0]
    assert (listed.name, listed.default, listed.key, listed.problem) == (
        "script/talk.yaml",
        True,
        "not needed",
        "",
    )


def test_built_in_providers_can_be_replaced(tmp_path: Path) -> None:
    chosen = settings(tmp_path, models={"mode": "replace", "providers": {"local": LOCAL}})
    with pytest.raises(NotFound):
        resolve_model(chosen, {"OPENAI_API_KEY": "b"}, "openai/gpt-5")
    with pytest.raises(NoModel):
        resolve_model(chosen, {"OPENAI_API_KEY": "b"})


def test_the_list_shows_keys_defaults_and_problems(tmp_path: Path) -> None:
    agents = {"defaults": {"model": {"primary": "local/m1", "fallbacks": ["nowhere/x"]}}}
    chosen = settings(tmp_path, agents=agents, models={"providers": {"local": LOCAL}})
    listed = {model.name: model for model in list_models(chosen, {**KEY, "OPENAI_API_KEY": "b"})}
    assert next(iter(listed)) == "local/m1"
    assert (listed["local/m1"].default, listed["local/m1"].key) == (True, "set")
    assert listed["openai/gpt-5-mini"].key_source == "OPENAI_API_KEY"
    assert listed["anthropic/claude-sonnet-4-5"].key == "missing"
    assert listed["anthropic/claude-sonnet-4-5"].key_source == "ANTHROPIC_API_KEY"
    assert "nowhere" in listed["nowhere/x"].problem
    assert "local-key" not in repr(listed)


def test_thinking_follows_the_settings(tmp_path: Path) -> None:
    assert Thinking.of(Settings()) == Thinking("medium", 8192)
    assert Thinking.of(Settings(), "off") == Thinking("off", 0)
    chosen = settings(tmp_path, agents={"defaults": {"thinking": {"level": "high", "budget": {"high": 99}}}})
    assert Thinking.of(chosen) == Thinking("high", 99)

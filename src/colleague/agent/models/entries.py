"""The providers in colleague.json: adding one with a model, and choosing the model used by default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.resolved import Api
from colleague.config import edit
from colleague.config.json5_tokens import comments
from colleague.errors import ColleagueError, ConfigError, UsageError
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,56}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = ("script", "rehearsal")
_DEFAULT = ("agents", "defaults", "model")


@dataclass(frozen=True)
class ProviderKind:
    """A kind of provider that a person can name. Empty fields have to be given, or are not needed."""

    api: Api
    variable: str = ""
    base_url: str = ""
    first_model: str = ""
    needs_address: bool = False


KINDS: Mapping[str, ProviderKind] = {
    **{
        each.id: ProviderKind(each.api, each.variables[0], "", each.first_model) for each in BUILT_IN.values()
    },
    "openrouter": ProviderKind("openai-completions", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "ollama": ProviderKind("openai-completions", "", "http://127.0.0.1:11434/v1"),
    "openai-compatible": ProviderKind("openai-completions", needs_address=True),
}


@dataclass(frozen=True)
class NewModel:
    """What a person says of a model. `key` is written as it is; else the key is read from `variable`."""

    name: str
    kind: str
    model: str = ""
    base_url: str = ""
    variable: str = ""
    key: str = ""
    context_window: int | None = None

    @property
    def full_name(self) -> str:
        return f"{self.name}/{self.model}"


def checked(new: NewModel) -> NewModel:
    """With what the kind of provider says by itself. Raises UsageError for what is missing or impossible."""
    kind = KINDS.get(new.kind)
    if kind is None:
        hint = did_you_mean(new.kind, KINDS) or f"it takes {', '.join(KINDS)}"
        raise UsageError(f"there is no kind of provider {new.kind!r}", hint=hint)
    if not _NAME.fullmatch(new.name) or new.name in _TAKEN:
        raise UsageError(f"{new.name!r} cannot be the name of a provider", hint="use small letters")
    if kind.needs_address and not new.base_url:
        raise UsageError(f"{new.kind} needs --base-url", hint="such as http://127.0.0.1:8000/v1")
    if not (new.model or kind.first_model):
        raise UsageError(f"{new.kind} needs --model", hint="the id of a model as the provider calls it")
    return NewModel(
        new.name,
        new.kind,
        new.model or kind.first_model,
        _address(new.base_url) or kind.base_url,
        "" if new.key else _variable(new.variable) or kind.variable,
        new.key,
        new.context_window,
    )


def _address(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError("--base-url is no http or https address", hint="such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise UsageError("--base-url holds a password", hint="name a variable with --api-key-env")
    return url


def _variable(name: str) -> str:
    """What does not look like the name of a variable is not repeated: it may be the key itself."""
    if name and not _VARIABLE.fullmatch(name):
        raise UsageError("--api-key-env takes the name of a variable, not the key", hint="such as MY_API_KEY")
    return name


def add_model(home: Home, new: NewModel, *, default: bool) -> None:
    """Writes a checked model into colleague.json, which is made when there is none."""
    path = ("models", "providers", new.name)
    with edit.editing(home):
        if place := edit.defined_at(home, path):
            raise ColleagueError(
                f"the provider {new.name} is there already: {place}",
                hint="choose another name, or add the model to its models by hand; the default model is "
                "agents.defaults.model.primary",
            )
        text = edit.settings_text(home)
        wanted = edit.settings_value(home, text)
        changed = edit.with_value(text, path, _entry(new))
        wanted.setdefault("models", {}).setdefault("providers", {})[new.name] = _entry(new)
        if default:
            changed = _with_default(changed, new.full_name, wanted)
        edit.check_change(home, changed, wanted, comments(text), "models.providers")
        edit.write_settings(home, text, changed, lambda settings: _check(settings, new, default))


def _entry(new: NewModel) -> dict[str, Any]:
    model = {"id": new.model} | ({"contextWindow": new.context_window} if new.context_window else {})
    entry: dict[str, Any] = {"api": KINDS[new.kind].api}
    if new.base_url:
        entry["baseUrl"] = new.base_url
    if new.key or new.variable:
        entry["apiKey"] = new.key.replace("${", "$${") or f"${{{new.variable}}}"
    return entry | {"models": [model]}


def _with_default(text: str, name: str, wanted: dict[str, Any]) -> str:
    """Also sets `wanted` to what the text then means. Fallbacks stay."""
    defaults = wanted.setdefault("agents", {}).setdefault("defaults", {})
    if isinstance(defaults.get("model"), str):
        defaults["model"] = name
        return edit.with_value(text, _DEFAULT, name)
    defaults.setdefault("model", {})["primary"] = name
    return edit.with_value(text, (*_DEFAULT, "primary"), name)


def _check(settings: Settings, new: NewModel, default: bool) -> None:
    """A file that is included may say otherwise."""
    chosen = settings.agents.defaults.model
    there = new.name in settings.models.providers
    if not there or (default and (chosen is None or chosen.primary != new.full_name)):
        hint = "look at its $include; nothing was written"
        raise ConfigError("a file that colleague.json includes says otherwise", hint=hint)

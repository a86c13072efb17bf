"""Which models there are, and which of them could be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.display_name import display_name
from colleague.agent.models.keyring import NoKey
from colleague.agent.models.resolve import NoModel, default_model, full_name, resolve_model
from colleague.agent.models.resolved import ResolvedModel
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.settings_document import KeyState

Origin = Literal["settings", "built-in"]


@dataclass(frozen=True)
class ListedModel:
    """A model as a person sees it. `problem` says why it cannot be asked."""

    name: str
    default: bool
    origin: Origin
    key: KeyState
    key_source: str = ""
    api: str = ""
    context_window: int | None = None
    max_tokens: int | None = None
    problem: str = ""
    display_name: str = ""
    """As the settings call it."""


def list_models(
    settings: Settings, environ: Mapping[str, str], *, folder: Path | None = None
) -> list[ListedModel]:
    """The configured models, those that agents name, and one of each built-in provider.

    Relative paths of scripts are taken from `folder`.
    """
    try:
        default = full_name(settings, default_model(settings, environ))
    except NoModel:
        default = ""
    names = dict.fromkeys(full_name(settings, name) for name in _names(settings, default))
    resolved = partial(resolve_model, settings, environ, folder=folder)
    return [_listed(settings, name, name == default, resolved) for name in names]


def _names(settings: Settings, default: str) -> Iterator[str]:
    if default:
        yield default
    for name, provider in settings.models.providers.items():
        yield from (f"{name}/{model.id}" for model in provider.models)
    for choice in (settings.agents.defaults.model, *(agent.model for agent in settings.agents.all)):
        if choice is not None:
            yield from filter(None, (choice.primary, *choice.fallbacks))
    yield from settings.agents.defaults.models
    if settings.models.mode == "merge":
        yield from (f"{each.id}/{each.first_model}" for each in BUILT_IN.values())


def _listed(
    settings: Settings, name: str, default: bool, resolved: Callable[[str], ResolvedModel]
) -> ListedModel:
    origin: Origin = "settings" if name.partition("/")[0] in settings.models.providers else "built-in"
    called = display_name(settings, name)
    unusable = partial(ListedModel, name, default, origin, display_name=called)
    try:
        model = resolved(name)
    except NoKey as error:
        return unusable("missing", error.source, problem=error.message)
    except ColleagueError as error:
        return unusable("unknown", problem=error.message)
    return ListedModel(
        name,
        default,
        origin,
        "set" if model.key else "not needed",
        model.key.source if model.key else "",
        "" if model.stand_in else model.api,
        model.context_window,
        model.max_tokens,
        display_name=called,
    )

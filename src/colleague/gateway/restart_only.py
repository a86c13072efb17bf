"""Settings that count only from the next start on, so that an edited file cannot loosen a running gateway.

They decide who may call, where keys and texts are sent, and what the agents' folders are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from colleague.config import Settings
from colleague.config.settings import Auth, AuthProfile, Provider

_Part = Callable[[Settings], object]

_PARTS: dict[str, _Part] = {
    "gateway.port": lambda each: each.gateway.port,
    "gateway.bind": lambda each: each.gateway.bind,
    "gateway.auth": lambda each: each.gateway.auth,
    "hooks.token": lambda each: each.hooks.token,
    "hooks.pubsub": lambda each: each.hooks.pubsub,
    "experts.database": lambda each: each.experts.database,
    "experts.maxConcurrentRuns": lambda each: each.experts.max_concurrent_runs,
    "agents.defaults.workspace": lambda each: each.agents.defaults.workspace,
    "agents.defaults.memorySearch.extraPaths": lambda each: each.agents.defaults.memory_search.extra_paths,
    "skills.load.extraDirs": lambda each: each.skills.load.extra_dirs,
    "tools": lambda each: each.tools,
}


def effective_settings(started: Settings, fresh: Settings) -> tuple[Settings, list[str]]:
    """The fresh settings with these parts as they were at the start, and the names of those that differ."""
    names = [name for name, part in _PARTS.items() if part(started) != part(fresh)]
    names += ["gateway"] if _rest_of_gateway(started) != _rest_of_gateway(fresh) else []
    auth, refreshed = _auth(started.auth, fresh.auth)
    names += [f"auth.profiles.{name}" for name in refreshed]
    providers, changed = _providers(started.models.providers, fresh.models.providers)
    names += [f"models.providers.{name}" for name in changed]
    if changed and started.agents.defaults.model != fresh.agents.defaults.model:
        names.append("agents.defaults.model")  # it may name one of them
    combined = _combined(started, fresh, providers, keep_model=bool(changed))
    return combined.model_copy(update={"auth": auth}), names


def _rest_of_gateway(settings: Settings) -> dict[str, Any]:
    named = {name.partition(".")[2] for name in _PARTS if name.startswith("gateway.")}
    fields = type(settings.gateway).model_fields
    return {name: getattr(settings.gateway, name) for name in fields if name not in named}


def _auth(started: Auth, fresh: Auth) -> tuple[Auth, list[str]]:
    """A profile comes, changes and goes at once: its key is sent where its provider was at the start. One
    that names a place of its own to send a refresh token to waits for a start."""
    waiting = [
        name for name, each in fresh.profiles.items() if each.token_url and each != started.profiles.get(name)
    ]
    kept: dict[str, AuthProfile] = {
        name: each for name, each in fresh.profiles.items() if name not in waiting
    }
    kept |= {name: started.profiles[name] for name in waiting if name in started.profiles}
    return fresh.model_copy(update={"profiles": kept}), waiting


def _providers(
    started: Mapping[str, Provider], fresh: Mapping[str, Provider]
) -> tuple[dict[str, Provider], list[str]]:
    """A provider may be removed at once. One that is new or is reached in another way waits for a start."""
    kept = {name: each for name, each in fresh.items() if _same_way(started.get(name), each)}
    changed = [name for name in fresh if name not in kept]
    return kept | {name: started[name] for name in changed if name in started}, changed


def _same_way(started: Provider | None, fresh: Provider) -> bool:
    return started is not None and _way(started) == _way(fresh)


def _way(provider: Provider) -> list[object]:
    """Where requests go, with which key and headers."""
    models = [(each.id, each.api, each.headers) for each in provider.models if each.headers or each.api]
    key = (provider.api_key, provider.auth, provider.auth_header)
    return [provider.base_url, provider.api, *key, provider.headers, models]


def _combined(
    started: Settings, fresh: Settings, providers: dict[str, Provider], *, keep_model: bool
) -> Settings:
    extra = {"extra_paths": started.agents.defaults.memory_search.extra_paths}
    defaults: dict[str, object] = {
        "workspace": started.agents.defaults.workspace,
        "memory_search": fresh.agents.defaults.memory_search.model_copy(update=extra),
    }
    if keep_model:
        defaults["model"] = started.agents.defaults.model
    experts = {
        "database": started.experts.database,
        "max_concurrent_runs": started.experts.max_concurrent_runs,
    }
    load = fresh.skills.load.model_copy(update={"extra_dirs": started.skills.load.extra_dirs})
    return fresh.model_copy(
        update={
            "skills": fresh.skills.model_copy(update={"load": load}),
            "gateway": started.gateway,
            "tools": started.tools,
            "hooks": fresh.hooks.model_copy(
                update={"token": started.hooks.token, "pubsub": started.hooks.pubsub}
            ),
            "experts": fresh.experts.model_copy(update=experts),
            "models": fresh.models.model_copy(update={"providers": providers}),
            "agents": fresh.agents.model_copy(
                update={"defaults": fresh.agents.defaults.model_copy(update=defaults)}
            ),
        }
    )

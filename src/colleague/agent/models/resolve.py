"""From a name such as `anthropic/claude-sonnet-4-5` to a model that can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.keyring import NoKey, Profile, all_profiles, named_profile, stored_order
from colleague.agent.models.profile_order import ordered_profiles
from colleague.agent.models.provided import provided_model
from colleague.agent.models.resolved import APIS, LONGEST_SECONDS, Api, Key, Prices, ResolvedModel
from colleague.config import Secret, Settings, resolve
from colleague.errors import ColleagueError, ConfigError, NotFound
from colleague.file_cache import FileCache
from colleague.main_names import MAIN_AGENT
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.agent.models.script import Script
    from colleague.config.agents import ModelAlias
    from colleague.config.settings import ModelCost, Provider, ProviderModel
    from colleague.store.auth_profiles import ProfileBook

SCRIPT = "script"

_SAME_API: Mapping[str, Api] = {"google-generative-ai": "google"}
_VARIABLES = ", ".join(each.variables[0] for each in BUILT_IN.values())


class NoModel(ColleagueError):
    """No model is configured, and no provider's key is in the environment."""

    def __init__(self) -> None:
        super().__init__(
            "no model configured",
            hint="add one with: colleague model add NAME --provider PROVIDER --default; or set "
            "agents.defaults.model.primary, or one of these in the environment or in the home's .env: "
            f"{_VARIABLES}",
        )


def default_model(settings: Settings, environ: Mapping[str, str]) -> str:
    """The name of the model to use when none is named. Raises NoModel."""
    chosen = settings.agents.defaults.model
    if chosen is not None and chosen.primary:
        return chosen.primary
    for provider in BUILT_IN.values():
        if provider.key(environ) is not None and _is_offered(settings, provider.id):
            return f"{provider.id}/{provider.first_model}"
    raise NoModel


@dataclass(frozen=True)
class ProfileChoice:
    """Whose auth profiles count, which one is wanted, and what is known of them."""

    agent: str = MAIN_AGENT
    preferred: str = ""
    book: ProfileBook | None = None
    by_turns: bool = False
    """Whether `preferred` only takes its turn: an order that somebody has set goes before it."""

    def ordered(self, settings: Settings, found: Sequence[Profile], provider: str) -> list[Profile]:
        """Those of one provider, in the order they are tried."""
        orders = self._orders(settings, provider)
        return ordered_profiles(
            [each for each in found if each.provider == provider],
            preferred="" if self.by_turns and any(orders) else self.preferred,
            orders=orders,
            last_used=self.book.last_used if self.book else lambda _: 0,
        )

    def has_order(self, settings: Settings, provider: str) -> bool:
        """Whether somebody has said in which order they are tried."""
        return any(self._orders(settings, provider))

    def _orders(self, settings: Settings, provider: str) -> Sequence[Sequence[str]]:
        """The first that is set counts: of a person, of OpenClaw, of the settings."""
        set_by_people = (self.book.orders or {}).get(provider, ()) if self.book else ()
        stored = stored_order(settings, self.agent, provider)
        return set_by_people, stored, settings.auth.order.get(provider, ())


_ANY_PROFILE = ProfileChoice()


@dataclass(frozen=True)
class Routes:
    """The ways to an answer, in the order they are tried: models, each with the keys there are for it."""

    models: tuple[ResolvedModel, ...]
    skipped: tuple[str, ...] = ()
    """Why models that are named cannot be asked, each in a sentence."""

    @property
    def first(self) -> ResolvedModel:
        return self.models[0]


def resolve_model(
    settings: Settings,
    environ: Mapping[str, str],
    name: str = "",
    *,
    profile: str = "",
    folder: Path | None = None,
) -> ResolvedModel:
    """The model of that name or alias; the default one when `name` is empty.

    `profile` chooses one of several keys. A script's relative path is taken from `folder`.
    Raises NoModel, NotFound, ConfigError or ScriptError.
    """
    choice = ProfileChoice(preferred=profile)
    return resolve_routes(settings, environ, name, choice=choice, folder=folder, fallbacks=()).first


def resolve_routes(
    settings: Settings,
    environ: Mapping[str, str],
    name: str = "",
    *,
    choice: ProfileChoice = _ANY_PROFILE,
    folder: Path | None = None,
    fallbacks: Sequence[str] | None = None,
) -> Routes:
    """The model of that name or alias with each of its keys, then the models it falls back to.

    Raises what `resolve_model` raises; a missing key only where no other model can be asked."""
    named = full_name(settings, name or default_model(settings, environ))
    names = [named, *(_fallbacks(settings) if fallbacks is None else fallbacks)]
    found = _Finder(settings, environ, choice, folder)
    models: list[ResolvedModel] = []
    problems: list[ColleagueError] = []
    for each in dict.fromkeys(full_name(settings, other) for other in names):
        try:
            models += found.models(each)
        except ColleagueError as error:
            if each == named and not isinstance(error, NoKey):
                raise
            problems.append(error)
    if not models:
        raise problems[0]
    return Routes(tuple(models), tuple(error.message for error in problems))


def _fallbacks(settings: Settings) -> Sequence[str]:
    chosen = settings.agents.defaults.model
    return chosen.fallbacks if chosen is not None else ()


class _Finder:
    """Finds models by name, each with all of its provider's keys."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], choice: ProfileChoice, folder: Path | None
    ) -> None:
        self._settings, self._environ, self._choice = settings, environ, choice
        self._folder = folder or Path()
        self._profiles = all_profiles(settings, environ, agent=choice.agent)
        if choice.preferred:
            named_profile(self._profiles, choice.preferred)

    def models(self, full: str) -> list[ResolvedModel]:
        provider, slash, model = full.partition("/")
        settings = self._settings
        if not (provider and slash and model):
            raise NotFound(f"the model {full!r} names no provider", hint=_likely(settings, full))
        if provider == SCRIPT:
            return [_scripted(full, self._folder / Path(model).expanduser())]
        provided = provided_model(provider, model)
        if provided is not None:
            return [provided]
        configured = settings.models.providers.get(provider)
        if configured is None and not _is_offered(settings, provider):
            raise NotFound(f"there is no model provider {provider!r}", hint=_providers(settings, provider))
        entry = _Entry(settings, self._environ, provider, model, configured)
        return [entry.resolved(key) for key in self._keys(provider)]

    def _keys(self, provider: str) -> Sequence[Key | None]:
        """Those that are set. Raises NoKey when keys are named and none is set."""
        profiles = self._choice.ordered(self._settings, self._profiles, provider)
        keys: list[Key] = []
        missing: list[NoKey] = []
        for profile in profiles:
            try:
                keys.append(profile.key(self._environ))
            except NoKey as error:
                missing.append(error)
        if missing and not keys:
            raise missing[0]
        return keys or [None]


def _is_offered(settings: Settings, provider: str) -> bool:
    """Built-in providers are there unless the settings replace them."""
    return provider in settings.models.providers or (provider in BUILT_IN and settings.models.mode == "merge")


def full_name(settings: Settings, name: str) -> str:
    """The provider/model behind an alias; any other name as it is."""
    aliases = {entry.alias: full for full, entry in settings.agents.defaults.models.items() if entry.alias}
    return aliases.get(name, name)


def _read_script(file: Path) -> Script:
    from colleague.agent.models.script import read_script

    return read_script(file)


_script = FileCache(_read_script)


def _scripted(name: str, file: Path) -> ResolvedModel:
    from colleague.agent.models.script_player import ScriptPlayer

    script = _script(file)
    return ResolvedModel(
        SCRIPT,
        name.partition("/")[2],
        context_window=script.context_window,
        prices=script.prices,
        input=script.input,
        stand_in=ScriptPlayer(name, script),
    )


def _likely(settings: Settings, name: str) -> str:
    """The full name of which someone typed the second half."""
    known = {f"{each.id}/{each.first_model}" for each in BUILT_IN.values()}
    known |= {
        f"{provider}/{model.id}"
        for provider, each in settings.models.providers.items()
        for model in each.models
    }
    ending = next((full for full in sorted(known) if full.partition("/")[2] == name), "")
    return f"did you mean {ending!r}?" if ending else "write it as provider/model, such as openai/gpt-5-mini"


def _providers(settings: Settings, provider: str) -> str:
    if provider == "rehearsal":
        return "rehearsal/walkthrough is for experts: name it in a bindings.yaml, or in expert run --model"
    known = [*settings.models.providers, *(BUILT_IN if settings.models.mode == "merge" else ()), SCRIPT]
    near = did_you_mean(provider, known)
    return near or f"add it to models.providers in colleague.json; known are {', '.join(known)}"


class _Entry:
    """One model in the settings, or at a built-in provider."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        provider: str,
        model: str,
        configured: Provider | None,
    ) -> None:
        self._settings, self._environ = settings, environ
        self._provider, self._id, self._configured = provider, model, configured
        self._where = f"models.providers.{provider}"
        self._listed = self._find()

    def resolved(self, key: Key | None) -> ResolvedModel:
        base_url = self._base_url()
        if key is None and base_url is None:
            raise self._no_key()
        provider, listed = self._configured, self._listed
        return ResolvedModel(
            self._provider,
            self._id,
            self._api(),
            base_url,
            key,
            self._headers(key),
            (listed and (listed.context_tokens or listed.context_window))
            or (provider and provider.context_window)
            or None,
            (listed and listed.max_tokens) or (provider and provider.max_tokens) or None,
            _prices(listed.cost) if listed and listed.cost else None,
            listed.reasoning if listed and "reasoning" in listed.model_fields_set else None,
            provider.timeout_seconds if provider else None,
            self._idle_seconds(),
            self._params(),
            dict(listed.compat) if listed else {},
            listed.input if listed and "input" in listed.model_fields_set else None,
            self._chosen.streaming if self._chosen else True,
        )

    def _idle_seconds(self) -> float:
        own = self._configured.idle_timeout_seconds if self._configured else None
        return own or self._settings.agents.defaults.llm.idle_timeout_seconds or LONGEST_SECONDS

    def _find(self) -> ProviderModel | None:
        models = self._configured.models if self._configured else ()
        found = next((each for each in models if each.id == self._id), None)
        if found is None and models and self._provider not in BUILT_IN:
            ids = [each.id for each in models]
            hint = did_you_mean(self._id, ids) or f"add it to {self._where}.models; it has {', '.join(ids)}"
            raise NotFound(f"{self._where} has no model {self._id!r}", hint=hint)
        return found

    def _api(self) -> Api:
        listed = self._listed.api if self._listed else None
        named = listed or (self._configured.api if self._configured else None)
        if named is None:
            return BUILT_IN[self._provider].api if self._provider in BUILT_IN else "openai-completions"
        api = _SAME_API.get(named, named)
        if api not in APIS:
            hint = did_you_mean(api, APIS) or f"it takes {', '.join(APIS)}"
            raise ConfigError(f"{self._where}.api is {named!r}, which is not known", hint=hint)
        return api

    def _base_url(self) -> str | None:
        text = self._configured.base_url if self._configured else None
        return resolve(text, self._environ, key=f"{self._where}.baseUrl") if text else None

    def _headers(self, key: Key | None) -> tuple[tuple[str, str], ...]:
        provider = self._configured
        if provider is None:
            return ()
        texts = {**provider.headers, **(self._listed.headers if self._listed else {})}
        headers = {
            name: resolve(text, self._environ, key=f"{self._where}.headers.{name}")
            for name, text in texts.items()
        }
        if provider.auth_header and key is not None:
            headers.setdefault("Authorization", f"Bearer {key.text}")
        return tuple(headers.items())

    @property
    def _chosen(self) -> ModelAlias | None:
        """What the agents' settings say about it."""
        return self._settings.agents.defaults.models.get(f"{self._provider}/{self._id}")

    def _params(self) -> dict[str, Any]:
        layers = [self._configured, self._listed, self._chosen]
        merged = {key: value for layer in layers if layer for key, value in layer.params.items()}
        return {
            key: resolve(value, self._environ, key=f"{self._where}.params.{key}")
            if isinstance(value, Secret)
            else value
            for key, value in merged.items()
        }

    def _no_key(self) -> NoKey:
        places = [f"{self._where}.apiKey"]
        if self._provider in BUILT_IN:
            places = [*BUILT_IN[self._provider].variables, *places]
        return NoKey(
            f"{self._provider}/{self._id} needs a key, and there is none",
            hint=f"set {' or '.join(places)}",
            source=places[0],
        )


def _prices(cost: ModelCost) -> Prices:
    """Through their text, so that 0.1 stays 0.1."""
    amounts = (cost.input, cost.output, cost.cache_read, cost.cache_write)
    return Prices(*(Decimal(str(amount)) for amount in amounts))

"""Loading the settings of a home: colleague.json laid over openclaw.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from colleague.config.auth_profiles_file import stored_profiles
from colleague.config.file import (
    Key,
    Keys,
    Node,
    Place,
    SettingsFile,
    SettingsWarning,
    dotted,
    kind,
    lay_over,
    read_settings_file,
)
from colleague.config.secret import Secret, is_telling
from colleague.config.section import FROM_FILES, RenamedSection, Section, Status, mark_of
from colleague.config.settings import Settings
from colleague.duration import Duration
from colleague.errors import ConfigError
from colleague.home import Home
from colleague.suggest import did_you_mean

SHARED = frozenset(
    ["agents", "models", "auth", "tools", "mcp", "session", "messages", "skills", "channels", "memory"]
)
_MAX_PROBLEMS = 100
_MAX_WARNINGS = 100
_AN_OBJECT = "an object, { ... }"
_RIGHT = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number, not NaN or Infinity",
    "bool_type": "true or false",
    "model_type": _AN_OBJECT,
    "mapping_type": _AN_OBJECT,
    "dict_type": _AN_OBJECT,
    "tuple_type": "a list, [ ... ]",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
}

_TYPES: Mapping[Any, str] = {
    int: "whole number",
    float: "number",
    str: "text",
    bool: "true or false",
    object: "anything",
    Secret: "secret",
    Duration: "duration",
    NoneType: "null",
}


def load_settings(home: Home) -> Settings:
    """The settings of a home; the defaults for what its files leave out.

    Raises ConfigError listing everything that is wrong, each with file, line and column.
    """
    theirs = read_settings_file(home.openclaw_file, home.root)
    ours = read_settings_file(home.settings_file, home.root)
    warnings = [*_warnings(theirs, ours=False), *_warnings(ours, ours=True)]
    warnings += stored_profiles(home.root).warnings
    tree = _merged(theirs, ours)
    settings = _validated(tree) if tree else Settings.model_construct()
    files = [file for each in (theirs, ours) if each for file in each.files]
    return settings.read_from(home.root, tuple(warnings), tuple(files), tree)


def _merged(theirs: SettingsFile | None, ours: SettingsFile | None) -> Node | None:
    if theirs is None or not isinstance(theirs.tree.value, dict):
        return ours.tree if ours else None
    shared = {key: node for key, node in theirs.tree.value.items() if key in SHARED} | _internal_hooks(theirs)
    base = Node(shared, theirs.tree.document, theirs.tree.path)
    return lay_over(base, ours.tree) if ours else base


def _internal_hooks(theirs: SettingsFile) -> dict[str, Node]:
    """Of OpenClaw's hooks those of the runtime itself: webhooks and their secrets stay its own."""
    hooks = theirs.tree.value.get("hooks") if isinstance(theirs.tree.value, dict) else None
    if hooks is None or not isinstance(hooks.value, dict) or "internal" not in hooks.value:
        return {}
    return {"hooks": Node({"internal": hooks.value["internal"]}, hooks.document, hooks.path)}


def _validated(tree: Node) -> Settings:
    """Only the sections that the files have are checked: what checks one is built when it is needed."""
    try:
        settings = Settings.model_validate(tree.plain(), by_alias=True, by_name=False, context=FROM_FILES)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
    else:
        _check_tokens(settings, tree)
        return settings.model_copy(update={"agents": settings.agents.with_main()})
    raise _config_error(tree, problems)  # here, so that no secret is in its context


def _check_tokens(settings: Settings, tree: Node) -> None:
    if settings.hooks.token is None or settings.hooks.token != settings.gateway.auth.token:
        return
    raise ConfigError(
        f"{tree.find(('hooks', 'token')).place}: hooks.token is the same as gateway.auth.token",
        hint="give hooks a secret of their own: whoever sends a hook must not be able to use the gateway",
    )


def _config_error(tree: Node, problems: list[ErrorDetails]) -> ConfigError:
    lines = [f"{place}: {text}" for place, text in sorted(_describe_problem(tree, each) for each in problems)]
    if len(lines) > _MAX_PROBLEMS:
        lines[_MAX_PROBLEMS:] = [f"and {len(lines) - _MAX_PROBLEMS} more"]
    what = "this" if len(problems) == 1 else "these"
    return ConfigError("\n".join(lines), hint=f"correct {what}, then try again")


def _describe_problem(tree: Node, problem: ErrorDetails) -> tuple[Place, str]:
    path = _as_written(tree, problem["loc"])
    node, name = tree.find(path), dotted(path)
    context: dict[str, Any] = problem.get("ctx", {})
    if problem["type"] == "missing":
        return node.place, f"{dotted(path[:-1])} needs the key {path[-1]}"
    if problem["type"] == "value_error":
        return node.place, f"{name}: {context['error']}"
    right = _RIGHT.get(problem["type"], problem["msg"])
    hidden = right == _AN_OBJECT or any(map(_hides, path))
    if right != _AN_OBJECT:
        right = right.format(**context).replace("'", '"')
    return node.place, f"{name} is {_found(node.plain(), hidden=hidden)}; it takes {right}"


def _as_written(tree: Node, path: Keys) -> Keys:
    """The keys as the file spells them: what checks them knows one spelling only."""
    written: Keys = ()
    for key in path:
        value = tree.find(written).value
        there = value.keys() if isinstance(value, dict) else ()
        others = (each.renamed.items() for each in RenamedSection.__subclasses__())
        spelled = [other for names in others for other, real in names if real == key and other in there]
        written = (*written, key if key in there else next(iter(spelled), key))
    return written


def _hides(key: Key) -> bool:
    name = str(key)
    return name in ("env", "headers") or (is_telling(name) and not name.endswith("Tokens"))


def _found(value: object, *, hidden: bool) -> str:
    if isinstance(value, dict | list) or (hidden and isinstance(value, str)):
        return kind(value)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _warnings(file: SettingsFile | None, *, ours: bool) -> Iterator[SettingsWarning]:
    if file is None or not isinstance(file.tree.value, dict):
        return
    tree, skipped = file.tree, frozenset() if ours else Settings.passed_over
    read = {key: node for key, node in file.tree.value.items() if key not in skipped}
    found = _unknown_keys(Node(read, tree.document, tree.path), Settings, (), ours=ours)
    odd: list[_OddKey | SettingsWarning] = [*file.warnings, *found]
    yield from (_warning(each, ours=ours) for each in odd[: _MAX_WARNINGS - 1])
    if len(odd) == _MAX_WARNINGS:
        yield _warning(odd[-1], ours=ours)
    elif beyond := odd[_MAX_WARNINGS - 1 :]:
        first = _warning(beyond[0], ours=ours)
        message = f"from here on, {len(beyond)} more keys like these"
        yield SettingsWarning(first.file, first.line, first.column, message, "correct the first ones first")


class _OddKey(NamedTuple):
    """A key without effect, in the section `model`. Without a hint, a name near to it is looked for."""

    node: Node
    path: Keys
    model: type[Section]
    message: str
    hint: str = ""


def _warning(odd: _OddKey | SettingsWarning, *, ours: bool) -> SettingsWarning:
    if isinstance(odd, SettingsWarning):
        return odd
    hint = odd.hint or _meant(odd, ours=ours)
    return SettingsWarning.at(odd.node.key_place, f"{dotted(odd.path)} {odd.message}", hint)


def _meant(odd: _OddKey, *, ours: bool) -> str:
    known = [field.alias or name for name, field in odd.model.model_fields.items()]
    near = did_you_mean(str(odd.path[-1]), known + ([] if ours else sorted(odd.model.passed_over)))
    return near or ("remove it" if ours else "it is passed over")


def _unknown_keys(node: Node, model: type[Section], path: Keys, *, ours: bool) -> Iterator[_OddKey]:
    fields = {field.alias: field for field in model.model_fields.values()}
    for key, child in node.value.items() if isinstance(node.value, dict) else ():
        at = (*path, key)
        if (field := fields.get(model.renamed.get(key, key))) is not None:
            if at == ("experts",) and not ours:
                yield _OddKey(child, at, model, "counts only in colleague.json", "move it there")
            else:
                yield from _unknown_below(child, field.annotation, at, ours=ours)
        elif key in model.passed_over:
            if ours:
                yield _OddKey(child, at, model, "is a key of OpenClaw that has no effect here", "remove it")
        elif at != ("$schema",):
            yield _OddKey(child, at, model, "is not a known key")


def _unknown_below(node: Node, annotation: Any, path: Keys, *, ours: bool) -> Iterator[_OddKey]:
    """The same for a value of the type `annotation`, whatever sections are in it."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield from _unknown_keys(node, annotation, path, ours=ours)
        return
    inner = get_args(annotation)
    if get_origin(annotation) is Annotated:
        yield from _unknown_below(node, inner[0], path, ours=ours)
    elif get_origin(annotation) is Mapping and isinstance(node.value, dict):
        for key, child in node.value.items():
            yield from _unknown_below(child, inner[1], (*path, key), ours=ours)
    elif get_origin(annotation) is tuple and isinstance(node.value, list):
        for index, child in enumerate(node.value):
            yield from _unknown_below(child, inner[0], (*path, index), ours=ours)
    elif get_origin(annotation) in (UnionType, Union):
        for each in inner:
            yield from _unknown_below(node, each, path, ours=ours)


class KnownSetting(NamedTuple):
    """One key of the settings, as the reference page shows it."""

    key: str
    type: str
    default: str
    description: str
    status: Status


def known_settings() -> list[KnownSetting]:
    """Every key of colleague.json; `*` stands for any name and `[]` for any item."""
    return list(_known(Settings, "", None))


def _known(model: type[Section], prefix: str, above: Status | None) -> Iterator[KnownSetting]:
    for field in model.model_fields.values():
        key, mark = f"{prefix}{field.alias}", mark_of(field)
        status = above or (mark.status if mark else None)
        below = [
            known
            for suffix, section in _sections(field.annotation)
            for known in _known(section, f"{key}{suffix}.", status)
        ]
        standing = status or _best(below)
        yield KnownSetting(key, _type_text(field), _default_text(field), field.description or "", standing)
        yield from below


def _best(below: list[KnownSetting]) -> Status:
    """Of a key that holds other keys: it works as far as one of them does."""
    found = {each.status for each in below}
    return "works" if "works" in found else "restricts" if "restricts" in found else "not yet"


def _sections(annotation: Any) -> Iterator[tuple[str, type[Section]]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield "", annotation
        return
    inner = get_args(annotation)
    suffix = {Mapping: ".*", tuple: "[]"}.get(get_origin(annotation), "")
    for each in inner[-1:] if suffix == ".*" else inner:
        for below, section in _sections(each):
            yield suffix + below, section


def _type_text(field: FieldInfo) -> str:
    return _named(field.annotation)


def _named(annotation: Any) -> str:
    if annotation in _TYPES:
        return _TYPES[annotation]
    inner, origin = get_args(annotation), get_origin(annotation)
    if origin is Literal:
        return ", ".join(f'"{each}"' for each in inner)
    if origin is Annotated:
        return _named(inner[0])
    if origin is tuple:
        return f"list of {_named(inner[0])}"
    if origin is Mapping:
        return "object" if inner[1] is object else f"object of {_named(inner[1])}"
    if origin in (UnionType, Union):
        return " or ".join(_named(each) for each in inner)
    return "object"


def _default_text(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
        return ""
    return json.dumps(field.get_default(call_default_factory=True, validated_data={}), default=str)


def default_settings_text() -> str:
    """What `colleague init` writes: nothing but the defaults, as comments."""
    return _DEFAULT_TEXT


_DEFAULT_TEXT = """\
// The settings of this home. Comments and trailing commas are allowed (JSON5).
//
// A line such as //port: 18790 shows a default: to change it, remove the // and edit the value.
// Every key is in docs/reference/settings.md. What you set and has no effect here is named by: colleague
// config check
//
// An openclaw.json beside this file is read first (agents, models, auth, tools, mcp, session, messages,
// skills, channels) and never written; what stands here wins.
//
// Secrets: write "${NAME}" and set the variable NAME, in the file .env beside this one or in the environment;
// the text itself works too, but then this file must be readable by you alone (chmod 600).
{
  // Agents: what they think with, how long, and how much they may read.
  agents: {
    defaults: {
      // The model as provider/model, and models to try when it fails. Until one is set, or a provider's key
      // is in the environment, only rehearsals run.
      //   model: { primary: "anthropic/claude-sonnet-4-5", fallbacks: ["openai/gpt-5-mini"] },
      // Where AGENTS.md and the other bootstrap files are. The default is the folder workspace of this home.
      //   workspace: "~/.openclaw/workspace",
      //bootstrapMaxChars: 12000,
      //bootstrapTotalMaxChars: 60000,
      //thinking: { level: "medium", budget: { low: 2048, medium: 8192, high: 32768 } },
      //timeoutSeconds: 600,
      //maxTurns: 100,
      //maxConcurrent: 8,
      //subagents: { maxSpawnDepth: 1, maxChildrenPerAgent: 5 },
      //contextPruning: { mode: "off" },
      //compaction: { enabled: true },
      //sandbox: { mode: "off" },
    },
    // Agents with settings of their own, such as { id: "main", name: "Ada" }.
    //list: [],
  },

  // Model providers that are not built in, or that need other settings. The api is one of
  // openai-completions, openai-responses, anthropic-messages, google.
  models: {
    providers: {
      //   local: {
      //     baseUrl: "http://127.0.0.1:8080/v1", apiKey: "${LOCAL_KEY}", api: "openai-completions",
      //     models: [{ id: "m1", contextWindow: 128000, maxTokens: 8192, cost: { input: 0, output: 0 } }],
      //   },
    },
  },

  // Several keys for one provider, tried in this order.
  auth: {
    //   profiles: { "anthropic:work": { provider: "anthropic", key: "${ANTHROPIC_WORK_KEY}" } },
    //   order: { anthropic: ["anthropic:work"] },
  },

  // Tools agents may use: a profile (minimal, coding, messaging, full), then allow and deny.
  tools: {
    //   profile: "coding",
    //allow: [],
    //deny: [],
    //alsoAllow: [],
    //byProvider: {},
  },

  // MCP servers: what experts act with. demo: true lets rehearsals really act on a server.
  mcp: {
    servers: {
      //   "hubspot-mcp": { command: "npx", args: ["-y", "some-server"], env: { KEY: "${HUBSPOT_KEY}" } },
      //   "calendar-mcp": { url: "http://127.0.0.1:9000/mcp", transport: "streamable-http" },
    },
  },

  // Conversations: which may send, how much of them a model sees, when they start anew.
  session: {
    //sendPolicy: { default: "allow", rules: [] },
    //historyLimits: { direct: 50, group: 50, channel: 50 },
    //reset: { mode: "none" },
  },

  // Messages that arrive during a turn: steer, followup, collect, steer-backlog, queue or interrupt.
  messages: {
    //queue: { mode: "steer", debounceMs: 1000, cap: 20, drop: "summarize" },
  },

  // Skills: folders with a SKILL.md.
  skills: {
    //load: { extraDirs: [] },
    //entries: {},
  },

  // How agents use their memory: whether they say in which file and line it stands (auto: not in groups).
  memory: {
    //citations: "auto",
  },

  // Chat channels, each with its own keys, such as slack: { botToken: "${SLACK_BOT_TOKEN}" }.
  channels: {},

  // Webhooks. The token stands in for triggers without a secret of their own, and must not be the gateway's.
  hooks: {
    //   token: "${HOOK_TOKEN}",
    //maxBodyBytes: 1048576,
  },

  // Plugins of this home: <home>/plugins/NAME, enabled with: colleague plugin enable NAME.
  plugins: {
    //enabled: true,
    //hookTimeoutSeconds: 5,
    //   entries: { crm: { config: { apiKey: "${CRM_KEY}" } } },
  },

  // The HTTP server. bind is loopback, lan or an IP address; anything but loopback needs a token.
  gateway: {
    //port: 18790,
    //bind: "loopback",
    //auth: { mode: "token" },
    //   auth: { mode: "token", token: "${GATEWAY_TOKEN}" },
  },

  // Experts and their runs. database: a postgresql:// URL for many workers, null for SQLite in this home.
  experts: {
    //database: null,
    //dedupeWindow: "7d",
    //retention: "30d",
    //scratchRetention: "7d",
    //maxConcurrentRuns: 32,
    //timeoutClock: "working",
  },
}
"""

"""Why a trigger cannot work as things are, although its package is in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from colleague.config import Secret, Settings, resolve
from colleague.errors import UNSET_CURE, ConfigError
from colleague.experts.bindings import ToolBinding
from colleague.experts.delivery.sender import CONNECTED
from colleague.mcp.probe import Probed
from colleague.packages.delivery import CHANNELS
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS
from colleague.packages.trigger import LOOKUPS
from colleague.triggers.errors import BadSignature
from colleague.triggers.gmail.mailbox import can_look
from colleague.triggers.registry import BoundTrigger
from colleague.triggers.signature import check_secrets


@dataclass(frozen=True)
class TriggerProblem:
    """What is wrong, where it stands, and what to do. `code` is a rule of validation."""

    code: str
    message: str
    cure: str
    at: Mark

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "cure": self.cure}


UNSET = "trigger-secret-unset"

FindProblems = Callable[[BoundTrigger], list[TriggerProblem]]


def problem_finder(
    settings: Settings, environ: Mapping[str, str], channels: Collection[str] = ()
) -> FindProblems:
    return partial(trigger_problems, settings=settings, environ=environ, channels=channels)


def trigger_problems(
    bound_trigger: BoundTrigger,
    settings: Settings,
    environ: Mapping[str, str],
    channels: Collection[str] = (),
) -> list[TriggerProblem]:
    """Everything for which it would not work when its expert is enabled; nothing is asked or started.

    `channels` are those of plugins."""
    kind, found = bound_trigger.trigger.type, list(_not_ready(bound_trigger))
    if kind == "webhook":
        found += _secret_problems(bound_trigger, settings, environ)
    if kind == "webhook" and bound_trigger.trigger.preset == "gmail":
        found += _mail_problems(bound_trigger, settings)
    if kind == "channel":
        found += _channel_problems(bound_trigger, channels)
    return found + list(_delivery_problems(bound_trigger, {*CONNECTED, *channels}))


def _not_ready(bound_trigger: BoundTrigger) -> Iterator[TriggerProblem]:
    if bound_trigger.fault:
        yield TriggerProblem(
            "trigger-inactive", bound_trigger.fault, bound_trigger.cure, bound_trigger.trigger.at
        )


def _secret_problems(
    bound_trigger: BoundTrigger, settings: Settings, environ: Mapping[str, str]
) -> Iterator[TriggerProblem]:
    binding, trigger = bound_trigger.binding, bound_trigger.trigger
    at = binding.mark("secret") if binding and binding.secrets else trigger.at
    given: list[str | Secret] = [*binding.secrets] if binding else []
    if not given and settings.hooks.token is not None:
        given = [settings.hooks.token]
    if not given:
        if not (trigger.preset == "gmail" and settings.hooks.pubsub):
            yield _no_secret(bound_trigger, at)
        return
    try:
        secrets = [resolve(each, environ, key=f"the secret of {trigger.name}") for each in given]
        check_secrets((binding.signature if binding else None) or "bearer", secrets)
    except ConfigError as error:
        cure = error.hint.replace(UNSET_CURE, " where colleague serve is started")
        yield TriggerProblem(UNSET, f"{error.message}; every request is refused", cure, at)
    except BadSignature as error:
        yield TriggerProblem("trigger-secret-unusable", f"{trigger.name}: {error.message}", error.hint, at)
    else:
        yield from _gateways_token(bound_trigger, secrets, settings, environ, at)


def _no_secret(bound_trigger: BoundTrigger, at: Mark) -> TriggerProblem:
    name = bound_trigger.trigger.name
    file = bound_trigger.expert.bindings_file
    cure = f"set triggers.{name}.secret in {file}, or hooks.token in colleague.json"
    return TriggerProblem(
        "trigger-secret-missing", f"{name} has no secret, so every request is refused", cure, at
    )


def _gateways_token(
    bound_trigger: BoundTrigger,
    secrets: list[str],
    settings: Settings,
    environ: Mapping[str, str],
    at: Mark,
) -> Iterator[TriggerProblem]:
    token = settings.gateway.auth.token
    try:
        gateways = resolve(token, environ).strip() if token is not None else ""
    except ConfigError:
        return
    if gateways and gateways in (each.strip() for each in secrets):
        name = bound_trigger.trigger.name
        message = f"the secret of {name} is the gateway's token, so every request is refused"
        yield TriggerProblem("trigger-secret-unusable", message, "give it a secret of its own", at)


def served_problems(
    bound_trigger: BoundTrigger, settings: Settings, probed: Sequence[Probed]
) -> list[TriggerProblem]:
    """What only shows once the servers have told their tools."""
    tool = bound_trigger.trigger.mail_tool
    binding = bound_trigger.tools.get(tool)
    served = {each.name: each for each in probed if each.ok}
    asks = bound_trigger.trigger.preset == "gmail" and _plans_lookups(bound_trigger, settings)
    if not asks or binding is None or binding.type != "mcp" or binding.server not in served:
        return []
    tools = {each.name: each for each in served[binding.server].tools}
    if can_look(tools, binding, bound_trigger.withheld(tool)):
        return []
    why = f"the MCP server {binding.server!r} has no operation that lists messages"
    return [_mail_problem(bound_trigger, why)]


def _plans_lookups(bound_trigger: BoundTrigger, settings: Settings) -> bool:
    """A push only says that a mailbox changed. Where nobody planned for pushes, messages come whole."""
    required = bound_trigger.package.manifest.requires_tools
    return settings.hooks.pubsub is not None or bound_trigger.trigger.mail_tool in required


def _mail_problem(bound_trigger: BoundTrigger, why: str) -> TriggerProblem:
    tool = bound_trigger.trigger.mail_tool
    binding = bound_trigger.tools.get(tool)
    cure = f"colleague expert bind {bound_trigger.expert.name} {tool} SERVER --operation list_history=TOOL"
    at = binding.at if binding else bound_trigger.trigger.mark("preset")
    message = f"{bound_trigger.trigger.name} cannot look up mail that Google only announces: {why}"
    return TriggerProblem("trigger-mail-lookup", message, cure, at)


def _mail_problems(bound_trigger: BoundTrigger, settings: Settings) -> Iterator[TriggerProblem]:
    tool = bound_trigger.trigger.mail_tool
    if not _plans_lookups(bound_trigger, settings):
        return
    if why := _lookup_fault(bound_trigger, tool, bound_trigger.tools.get(tool), settings):
        yield _mail_problem(bound_trigger, why)


def _lookup_fault(
    bound_trigger: BoundTrigger, tool: str, binding: ToolBinding | None, settings: Settings
) -> str:
    if binding is None:
        return f"the tool {tool!r} is bound to nothing"
    if binding.type != "mcp":
        return f"the tool {tool!r} is bound to a skill, and only an MCP server can be asked"
    server = settings.mcp.servers.get(binding.server)
    if server is None or not server.enabled:
        return f"the MCP server {binding.server!r} is {'not configured' if server is None else 'disabled'}"
    if set(LOOKUPS) <= bound_trigger.withheld(tool):
        return f"a person is to be asked before every operation of {tool!r} that lists messages"
    return ""


def _channel_problems(bound_trigger: BoundTrigger, channels: Collection[str]) -> Iterator[TriggerProblem]:
    """Here plugins and the HTTP API bring messages; who names a channel says that something posts there, and
    who names none means every channel of a plugin."""
    binding, name = bound_trigger.binding, bound_trigger.trigger.name
    channel = binding.channel if binding else ""
    if channel and (channel.lower() not in CHANNELS or channel in channels):
        return
    if not channel and set(channels) - {*CONNECTED}:
        return
    what = f"the channel {channel!r} is not connected here" if channel else "no channel is connected to it"
    cure = (
        f"have a program post to /api/channels/NAME/messages, and set triggers.{name}.channel in {BINDINGS}"
        " to that NAME"
    )
    at = binding.mark("channel") if binding and channel else bound_trigger.trigger.at
    yield TriggerProblem("trigger-channel-unconnected", f"{name} gets no message: {what}", cure, at)


def _delivery_problems(bound_trigger: BoundTrigger, connected: Collection[str]) -> Iterator[TriggerProblem]:
    process, package = bound_trigger.process, bound_trigger.package
    cure = f"deliver to {' or '.join(sorted(connected))}, or enable a plugin that has this channel"
    if (channel := process.delivery.channel) not in connected:
        at = process.mark("delivery", "channel")
        message = f"results of {process.name} go to the channel {channel!r}, which is not connected here"
        yield TriggerProblem("delivery-channel-unconnected", message, cure, at)
    if (channel := package.manifest.policy.escalation.channel) not in connected:
        at = package.manifest.mark("policy", "escalation", "channel")
        message = f"escalations go to the channel {channel!r}, which is not connected here"
        yield TriggerProblem("delivery-channel-unconnected", message, cure, at)

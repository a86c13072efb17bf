"""The layers of the tool policy, one case a line: settings, scope, tool, and the layer that decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.policy.layer import LayerRules, PolicyLayer
from colleague.agent.policy.pattern import PolicyTool
from colleague.agent.policy.pipeline import LAST, PolicyScope, ToolDecision, decide_tool, layers_of
from colleague.config import Settings
from colleague.config.tool_groups import GROUPS, NATIVE, PROFILES

MAIN = PolicyScope("main")
GPT = PolicyScope("main", "openai/gpt-5")
RESEARCH = PolicyScope("research", "openai/gpt-5")
GROUP = PolicyScope("main", channel="telegram", group_ids=("-100",))
LEAF, ORCHESTRATOR = PolicyScope("main", depth=1), PolicyScope("main", depth=0)


def decided(tools: dict[str, Any], scope: PolicyScope, tool: str, **more: Any) -> ToolDecision:
    settings = Settings.model_validate({"tools": tools, **more})
    return decide_tool(layers_of(settings, scope), PolicyTool(tool, is_served="." in tool))


def agent(**tools: Any) -> dict[str, Any]:
    return {"agents": {"list": [{"id": "research", "tools": tools}]}}


class TestLayers:
    @pytest.mark.parametrize(
        ("tools", "scope", "more", "layer", "rule"),
        [
            ({"profile": "minimal"}, MAIN, {}, "profile", "tools.profile: minimal"),
            (
                {"byProvider": {"OpenAI": {"profile": "minimal"}}},
                GPT,
                {},
                "provider profile",
                "tools.byProvider.OpenAI.profile: minimal",
            ),
            ({"deny": ["write"]}, MAIN, {}, "global", "tools.deny: write"),
            ({"allow": ["read"]}, MAIN, {}, "global", "tools.allow does not name it"),
            (
                {"byProvider": {"openai/gpt-5": {"deny": ["group:fs"]}, "openai": {}}},
                GPT,
                {},
                "global provider",
                "tools.byProvider.openai/gpt-5.deny: group:fs",
            ),
            ({}, RESEARCH, agent(profile="messaging"), "profile", "agents.research.tools.profile: messaging"),
            ({}, RESEARCH, agent(deny=["w*"]), "agent", "agents.research.tools.deny: w*"),
            (
                {},
                RESEARCH,
                agent(byProvider={"openai": {"allow": ["read"]}}),
                "agent provider",
                "agents.research.tools.byProvider.openai.allow does not name it",
            ),
            (
                {},
                GROUP,
                {"channels": {"telegram": {"groups": {"*": {"tools": {"deny": ["write"]}}}}}},
                "group",
                "channels.telegram.groups.*.tools.deny: write",
            ),
            (
                {"sandbox": {"tools": {"deny": ["write"]}}},
                PolicyScope("main", sandboxed=True),
                {},
                LAST,
                "tools.sandbox.tools.deny: write",
            ),
            (
                {},
                PolicyScope("main", sandboxed=True),
                {"agents": {"defaults": {"sandbox": {"tools": {"allow": ["read"]}}}}},
                LAST,
                "agents.defaults.sandbox.tools.allow does not name it",
            ),
            (
                {"subagents": {"tools": {"deny": ["write"]}}},
                LEAF,
                {},
                LAST,
                "tools.subagents.tools.deny: write",
            ),
        ],
    )
    def test_each_one_denies_and_is_named(
        self, tools: dict[str, Any], scope: PolicyScope, more: dict[str, Any], layer: str, rule: str
    ) -> None:
        found = decided(tools, scope, "write", **more)
        assert (found.offered, found.decided_by.layer) == (False, layer)
        assert found.decided_by.rule.startswith(rule)
        assert [each.layer for each in found.layers if each.effect == "deny"] == [layer]

    def test_there_are_eight_in_their_order(self) -> None:
        assert [each.layer for each in decided({}, MAIN, "read").layers] == [
            *("profile", "provider profile", "global", "global provider", "agent", "agent provider"),
            *("group", LAST),
        ]

    @pytest.mark.parametrize(
        ("tools", "scope", "more"),
        [
            ({"byProvider": {"anthropic": {"deny": ["*"]}}}, GPT, {}),
            ({}, MAIN, agent(deny=["*"])),
            ({}, GROUP, {"channels": {"slack": {"groups": {"*": {"tools": {"deny": ["*"]}}}}}}),
            (
                {},
                PolicyScope("main", channel="telegram"),
                {"channels": {"telegram": {"groups": {"*": {"tools": {"deny": ["*"]}}}}}},
            ),
            ({"sandbox": {"tools": {"deny": ["*"]}}, "subagents": {"tools": {"deny": ["*"]}}}, MAIN, {}),
        ],
    )
    def test_what_is_said_of_others_is_not_about_this_one(
        self, tools: dict[str, Any], scope: PolicyScope, more: dict[str, Any]
    ) -> None:
        assert decided(tools, scope, "write", **more).offered

    def test_a_group_of_its_own_counts_before_the_others(self) -> None:
        groups = {"-100": {"tools": {"allow": ["read"]}}, "*": {"tools": {"deny": ["read"]}}}
        more = {"channels": {"telegram": {"groups": groups, "botToken": "x"}}}
        assert decided({}, GROUP, "read", **more).offered
        assert not decided({}, GROUP, "write", **more).offered

    def test_the_model_counts_before_its_provider(self) -> None:
        tools = {"byProvider": {"openai": {"deny": ["write"]}, "openai/gpt-5": {"deny": ["read"]}}}
        assert decided(tools, GPT, "write").offered
        assert not decided(tools, GPT, "read").offered

    def test_the_main_agent_under_another_id(self) -> None:
        entry = {"id": "me", "default": True, "tools": {"deny": ["write"]}}
        assert not decided({}, MAIN, "write", agents={"list": [entry]}).offered


class TestAlsoAllow:
    @pytest.mark.parametrize(
        ("tools", "scope", "more", "offered"),
        [
            ({"profile": "coding", "alsoAllow": ["message"]}, MAIN, {}, True),
            ({"profile": "coding", "alsoAllow": ["message"], "deny": ["message"]}, MAIN, {}, False),
            ({"allow": ["read"], "alsoAllow": ["message"]}, MAIN, {}, True),
            ({"profile": "coding"}, RESEARCH, agent(alsoAllow=["message"]), True),
            ({"allow": ["read"]}, RESEARCH, agent(alsoAllow=["message"]), True),
            ({"deny": ["message"]}, RESEARCH, agent(alsoAllow=["message"]), False),
            ({"profile": "coding", "alsoAllow": ["message"]}, RESEARCH, agent(allow=["read"]), False),
            ({"profile": "coding", "byProvider": {"openai": {"alsoAllow": ["message"]}}}, GPT, {}, True),
            ({"alsoAllow": ["message"], "byProvider": {"openai": {"profile": "minimal"}}}, GPT, {}, False),
            (
                {"byProvider": {"openai": {"profile": "minimal", "alsoAllow": ["group:messaging"]}}},
                GPT,
                {},
                True,
            ),
            (
                {"profile": "coding"},
                GROUP,
                {"channels": {"telegram": {"groups": {"*": {"tools": {"alsoAllow": ["message"]}}}}}},
                False,
            ),
            ({"profile": "coding", "subagents": {"tools": {"alsoAllow": ["message"]}}}, LEAF, {}, False),
            ({}, MAIN, {}, False),
            ({"allow": ["message"]}, MAIN, {}, True),
            ({"profile": "full"}, MAIN, {}, True),
            ({"profile": "messaging"}, MAIN, {}, True),
        ],
    )
    def test_it_adds_to_the_allowlists_above(
        self, tools: dict[str, Any], scope: PolicyScope, more: dict[str, Any], offered: bool
    ) -> None:
        assert decided(tools, scope, "message", **more).offered is offered


class TestNames:
    @pytest.mark.parametrize(
        ("deny", "tool", "offered"),
        [
            ("mail.*", "mail.send", False),
            ("mail__*", "mail.send", False),
            ("MAIL.Send", "mail.send", False),
            ("group:mcp", "mail.send", False),
            ("group:mcp", "read", True),
            ("group:openclaw", "mail.send", True),
            ("group:openclaw", "read", False),
            ("group:plugins", "weather", False),
            ("group:plugins", "read", True),
            ("web_*", "web_fetch", False),
            ("*", "anything.at.all", False),
            ("ma?l.send", "mail.send", True),
            ("[a-z]*", "read", True),
            ("bash", "exec", False),
            ("exec", "process", False),
            ("group:runtime", "process", False),
            ("exec", "apply_patch", True),
            ("apply_patch", "exec", True),
            (" read ", "read", False),
        ],
    )
    def test_denied(self, deny: str, tool: str, offered: bool) -> None:
        assert decided({"deny": [deny]}, MAIN, tool).offered is offered

    def test_allowing_exec_allows_apply_patch(self) -> None:
        assert decided({"allow": ["exec"]}, MAIN, "apply_patch").offered
        assert decided({"profile": "minimal", "alsoAllow": ["exec"]}, MAIN, "apply_patch").offered
        assert not decided({"allow": ["exec"], "deny": ["apply_patch"]}, MAIN, "apply_patch").offered
        assert not decided({"allow": ["exec"]}, MAIN, "process").offered

    @pytest.mark.parametrize(("group", "tools"), GROUPS.items())
    def test_every_group_has_its_tools(self, group: str, tools: tuple[str, ...]) -> None:
        denied = [
            tool for tool in NATIVE if not decided({"deny": [group], "profile": "full"}, MAIN, tool).offered
        ]
        assert set(denied) == set(tools)

    @pytest.mark.parametrize(
        ("profile", "has", "has_not"),
        [
            ("minimal", ["session_status"], ["read", "mail.send", "subagents"]),
            (
                "coding",
                ["grep", "exec", "subagents", "memory_get", "mail.send", "image"],
                ["message", "web_fetch"],
            ),
            ("messaging", ["message", "sessions_list", "memory_get", "mail.send"], ["read", "exec", "cron"]),
            ("full", ["message", "read", "mail.send", "weather"], []),
        ],
    )
    def test_every_profile(self, profile: str, has: list[str], has_not: list[str]) -> None:
        found = {tool: decided({"profile": profile}, MAIN, tool).offered for tool in (*has, *has_not)}
        assert found == {**dict.fromkeys(has, True), **dict.fromkeys(has_not, False)}

    def test_a_group_there_is_not_is_told(self) -> None:
        for tools in ({"deny": ["group:fss"]}, {"approvals": {"group:fss": "confirm"}}):
            with pytest.raises(ValueError, match="there is no group 'group:fss'; did you mean"):
                Settings.model_validate({"tools": tools})

    def test_tools_of_a_group_that_cannot_be_read(self) -> None:
        with pytest.raises(ValueError, match=r"telegram\.groups\.1\.tools\.deny"):
            Settings.model_validate({"channels": {"telegram": {"groups": {"1": {"tools": {"deny": "x"}}}}}})


class TestSubagents:
    @pytest.mark.parametrize(
        ("tool", "orchestrator", "leaf"),
        [
            ("subagents", True, True),
            ("sessions_spawn", True, False),
            ("sessions_list", True, False),
            ("sessions_history", True, False),
            *((name, False, False) for name in ("sessions_send", "gateway", "agents_list", "cron")),
            *((name, False, False) for name in ("memory_search", "memory_get", "session_status")),
            ("read", True, True),
        ],
    )
    def test_by_depth(self, tool: str, orchestrator: bool, leaf: bool) -> None:
        assert decided({}, ORCHESTRATOR, tool).offered is orchestrator
        assert decided({}, LEAF, tool).offered is leaf
        assert decided({}, LEAF, tool).decided_by.layer == ("profile" if leaf else LAST)

    def test_what_is_named_for_them_is_given(self) -> None:
        tools = {"subagents": {"tools": {"alsoAllow": ["memory_get"]}}}
        assert decided(tools, LEAF, "memory_get").offered
        assert not decided(tools, LEAF, "memory_search").offered
        assert not decided({"subagents": {"tools": {"allow": ["*"]}}}, LEAF, "cron").offered


NAMES = st.sampled_from(
    ["*", "read", "exec", "mail.*", "web_*", *GROUPS, "group:mcp", "message", "apply_patch"]
)
LISTS = st.lists(NAMES, max_size=3).map(tuple)
RULES = st.builds(LayerRules, key=st.just("k"), allow=LISTS, deny=LISTS)
LAYERS = st.lists(st.builds(PolicyLayer, name=st.just("x"), rules=st.lists(RULES, max_size=2).map(tuple)))
TOOLS = st.sampled_from([PolicyTool(name) for name in NATIVE] + [PolicyTool("mail.send", is_served=True)])


@given(layers=LAYERS, added=RULES, place=st.integers(0, 20), tool=TOOLS)
def test_another_layer_never_adds_a_tool(
    layers: list[PolicyLayer], added: LayerRules, place: int, tool: PolicyTool
) -> None:
    more = [*layers[:place], PolicyLayer("added", (added,)), *layers[place:]]
    if decide_tool(more, tool).offered:
        assert decide_tool(layers, tool).offered


@given(
    profile=st.sampled_from([None, *PROFILES]),
    first=RULES,
    second=RULES,
    scope=st.sampled_from([MAIN, GPT, GROUP, LEAF, PolicyScope("main", sandboxed=True)]),
    tool=TOOLS,
)
def test_no_setting_of_a_later_layer_gives_what_an_earlier_one_took(
    profile: str | None, first: LayerRules, second: LayerRules, scope: PolicyScope, tool: PolicyTool
) -> None:
    """With the real eight layers; alsoAllow aside."""
    above = {"profile": profile, "allow": list(first.allow), "deny": list(first.deny)}
    below = {"allow": list(second.allow), "deny": list(second.deny)}
    more = {
        "agents": {"list": [{"id": "main", "tools": below}]},
        "channels": {"telegram": {"groups": {"*": {"tools": below}}}},
    }
    alone = Settings.model_validate({"tools": above})
    both = Settings.model_validate({"tools": {**above, "sandbox": {"tools": below}}, **more})
    if decide_tool(layers_of(both, scope), tool).offered and tool.name != "message":
        assert decide_tool(layers_of(alone, scope), tool).offered

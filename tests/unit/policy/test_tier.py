"""Who is asked: the longest pattern of `tools.approvals`, what a tool says itself, or the usual caution."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from colleague.agent.gate import Verdict, VerdictKind
from colleague.agent.main_gate import MainAgentGate
from colleague.agent.policy.home_rules import HomeToolRules
from colleague.agent.tool import ToolSpec
from colleague.config import Settings
from colleague.config.settings import Tier

SEND = ToolSpec("mail.send", "", {}, server="mail", server_tool="send")
LOOK = ToolSpec("mail.look", "", {}, read_only=True, server="mail", server_tool="look")
WRITE, READ = ToolSpec("write", "", {}), ToolSpec("read", "", {}, read_only=True)
FETCH = ToolSpec("web_fetch", "", {}, read_only=True)


def exec_tool(kind: VerdictKind) -> ToolSpec:
    tier = {"allow": "auto", "ask": "confirm"}.get(kind, "none")
    return ToolSpec("exec", "", {}, own_verdict=lambda _: Verdict(kind, tier, "by itself"))


def judged(spec: ToolSpec, approvals: dict[str, Tier], **arguments: Any) -> tuple[str, str]:
    verdict = MainAgentGate(approvals=approvals).judge(spec, arguments)
    return verdict.kind, verdict.tier


@pytest.mark.parametrize(
    ("spec", "approvals", "kind"),
    [
        (SEND, {}, "ask"),
        (LOOK, {}, "allow"),
        (READ, {}, "allow"),
        (SEND, {"mail__*": "auto"}, "allow"),
        (SEND, {"mail.*": "manual"}, "draft"),
        (SEND, {"mail.*": "auto", "mail.send": "manual"}, "draft"),
        (SEND, {"*": "auto", "group:mcp": "confirm"}, "ask"),
        (SEND, {"mail.sen*": "auto", "mail.*end": "manual"}, "draft"),
        (WRITE, {"*": "confirm"}, "ask"),
        (READ, {"*": "manual"}, "allow"),
        (READ, {"read": "confirm"}, "ask"),
        (FETCH, {"group:web": "confirm"}, "ask"),
        (exec_tool("ask"), {}, "ask"),
        (exec_tool("ask"), {"exec": "auto"}, "allow"),
        (exec_tool("allow"), {"group:runtime": "confirm"}, "ask"),
        (exec_tool("refuse"), {"exec": "auto"}, "refuse"),
    ],
)
def test_which_rule_counts(spec: ToolSpec, approvals: dict[str, Tier], kind: str) -> None:
    assert judged(spec, approvals)[0] == kind


@pytest.mark.parametrize("tier", get_args(Tier))
def test_instructions_of_the_agent_always_ask(tier: Tier) -> None:
    expected = {"auto": "ask", "confirm": "ask", "manual": "draft"}
    for path in ("AGENTS.md", "skills/mine/SKILL.md"):
        assert judged(WRITE, {"write": tier}, path=path)[0] == expected[tier]


def test_what_an_expert_holds_as_manual_stays_so() -> None:
    class Drafted:
        def reason(self, server: str, tool: str) -> str:
            return f"{server}/{tool} is manual for clerk"

    gate = MainAgentGate(Drafted(), approvals={"*": "auto"})
    assert gate.judge(SEND, {}).kind == "draft"


class TestExperts:
    """Their operations have names of their own; the settings name what the server has."""

    SPEC = ToolSpec("crm.write_mail", "", {}, server="mail", server_tool="send")

    def rules(self, *models: str, **tools: Any) -> HomeToolRules:
        return HomeToolRules(Settings.model_validate({"tools": tools}), models)

    @pytest.mark.parametrize(
        ("tools", "denied"),
        [
            ({"deny": ["mail.send"]}, True),
            ({"deny": ["mail__*"]}, True),
            ({"deny": ["group:mcp"]}, True),
            ({"deny": ["crm.write_mail"]}, False),
            ({"allow": ["read"], "profile": "minimal"}, False),
            ({"byProvider": {"a": {"deny": ["mail.send"]}}}, True),
            ({"byProvider": {"b": {"deny": ["mail.send"]}}}, False),
        ],
    )
    def test_a_deny_is_about_everybody(self, tools: dict[str, Any], denied: bool) -> None:
        assert (self.rules("a/m", **tools).denial(self.SPEC) is not None) is denied

    def test_its_own_tools_are_not_meant(self) -> None:
        assert self.rules(deny=["*"]).denial(WRITE) is None

    def test_the_tier_only_tightens(self) -> None:
        assert self.rules(approvals={"mail.*": "manual"}).tier(self.SPEC) == "manual"
        assert self.rules().tier(self.SPEC) == "auto"

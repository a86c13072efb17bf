"""Handlers are called in order or side by side; what they do wrong is reported and stops nobody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from colleague.errors import UsageError
from colleague.hooks.events import (
    EVENTS,
    HOOKS,
    AgentEnded,
    BeforeAgentStart,
    BeforeToolCall,
    MessageSending,
    ToolResultPersist,
)
from colleague.hooks.handler import HookHandler
from colleague.hooks.results import MODIFYING
from colleague.hooks.runner import MOST_HANGS, GuardFailed, HookProblem, PluginHooks

RUN = {"run_id": "r", "session_key": "agent:main:main", "expert": ""}
CALL = BeforeToolCall(**RUN, tool="mail.send", params={"to": "ann"})


class Plugins:
    """Hooks of several plugins, and what was reported of them."""

    def __init__(self, seconds: float = 30.0) -> None:
        self.handlers: list[HookHandler] = []
        self.problems: list[HookProblem] = []
        self.seconds = seconds

    def add(self, hook: str, function: Callable[[Any], Any], plugin: str = "p", **more: Any) -> None:
        self.handlers.append(HookHandler(plugin, hook, function, **more))

    @property
    def hooks(self) -> PluginHooks:
        return PluginHooks(self.handlers, self.seconds, self.problems.append)

    @property
    def messages(self) -> list[str]:
        return [each.message for each in self.problems]


@pytest.fixture
def plugins() -> Plugins:
    return Plugins()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def returning(value: Any) -> Callable[[Any], Any]:
    async def handler(event: Any) -> Any:
        return value

    return handler


def raising(event: Any) -> None:
    raise ValueError(f"no {type(event).__name__}")


async def hanging(event: Any) -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            return


def test_the_table_of_the_seed_is_complete() -> None:
    assert set(HOOKS) == {
        *("before_agent_start", "agent_end", "before_compaction", "after_compaction", "before_reset"),
        *("before_tool_call", "after_tool_call", "tool_result_persist"),
        *("message_received", "message_sending", "message_sent"),
        *("session_start", "session_end", "gateway_start", "gateway_stop"),
    }
    assert len(EVENTS) == len(HOOKS) == 15
    assert set(MODIFYING) == {
        "before_agent_start",
        "before_tool_call",
        "tool_result_persist",
        "message_sending",
    }


class TestModifying:
    def test_higher_priorities_go_first_and_each_sees_what_the_one_before_made(
        self, plugins: Plugins
    ) -> None:
        def adds(name: str) -> Callable[[Any], Any]:
            async def handler(event: BeforeToolCall) -> Any:
                return {"params": {"to": f"{event.params['to']}+{name}"}}

            return handler

        plugins.add(CALL.hook, adds("late"), "late", priority=-1.5)
        plugins.add(CALL.hook, adds("first"), "first", priority=10)
        plugins.add(CALL.hook, adds("middle"), "middle")
        change = run(plugins.hooks.before_tool_call(CALL))
        assert change.params == {"to": "ann+first+middle+late"}
        assert change.changed_by == ("first", "middle", "late")
        assert CALL.params == {"to": "ann"}

    def test_the_first_that_blocks_ends_it(self, plugins: Plugins) -> None:
        asked: list[str] = []
        plugins.add(CALL.hook, returning({"block": True, "reason": "not today"}), "guard", priority=1)
        plugins.add(CALL.hook, lambda event: asked.append(event.tool))
        change = run(plugins.hooks.before_tool_call(CALL))
        assert change.refusal == "the plugin guard blocked this call: not today"
        assert asked == []

    def test_what_was_approved_can_only_be_blocked(self, plugins: Plugins) -> None:
        plugins.add(CALL.hook, returning({"params": {"to": "eve"}}))
        approved = BeforeToolCall(**RUN, tool="mail.send", params={"to": "ann"}, phase="approved")
        assert run(plugins.hooks.before_tool_call(approved)).params == {"to": "ann"}

    def test_a_handler_that_changes_what_it_was_given_changes_nothing(self, plugins: Plugins) -> None:
        plugins.add(CALL.hook, lambda event: event.params.update(to="eve"))
        assert run(plugins.hooks.before_tool_call(CALL)).params == {"to": "ann"}

    def test_prompts_and_contexts_are_joined(self, plugins: Plugins) -> None:
        plugins.add("before_agent_start", returning({"systemPrompt": "Be kind.", "prependContext": "A"}), "a")
        plugins.add("before_agent_start", returning({"system_prompt": "Be brief."}), "b")
        change = run(plugins.hooks.before_agent_start(BeforeAgentStart(**RUN)))
        assert change.system_prompt == "Be kind.\n\nBe brief."
        assert change.context == (("a", "A"),)

    def test_a_message_is_changed_or_held_back(self, plugins: Plugins) -> None:
        plugins.add("message_sending", lambda event: {"text": event.text.upper()}, "a")
        plugins.add("message_sending", lambda event: {"cancel": "NO" in event.text, "reason": "rude"}, "b")
        sent = run(plugins.hooks.message_sending(MessageSending(**RUN, text="yes")))
        assert (sent.text, sent.changed_by, sent.refusal) == ("YES", ("a",), "")
        held = run(plugins.hooks.message_sending(MessageSending(**RUN, text="no")))
        assert held.refusal == "not sent, held back by the plugin b: rude"

    def test_results_are_changed_by_plain_functions_only(self, plugins: Plugins) -> None:
        plugins.add("tool_result_persist", lambda event: {"text": event.text[:3]})
        change = run(plugins.hooks.tool_result_persist(ToolResultPersist(**RUN, text="secret")))
        assert change.text == "sec"
        with pytest.raises(UsageError, match="plain function"):
            plugins.add("tool_result_persist", returning(None))


class TestProblems:
    @pytest.mark.parametrize(
        ("result", "said"),
        [
            ("yes", "returned str"),
            ({"parms": {}}, "'parms', which before_tool_call does not take; did you mean 'params'"),
            ({"params": []}, "params is list, not dict"),
            ({"params": {"to": {1, 2}}}, "cannot be written as JSON"),
            ({"params": {"to": float("nan")}}, "cannot be written as JSON"),
        ],
    )
    def test_a_result_that_does_not_fit_is_reported_and_changes_nothing(
        self, plugins: Plugins, result: Any, said: str
    ) -> None:
        plugins.add(CALL.hook, returning(result))
        assert run(plugins.hooks.before_tool_call(CALL)).params == {"to": "ann"}
        assert said in plugins.messages[0]

    def test_one_that_raises_or_leaves_stops_nobody(self, plugins: Plugins) -> None:
        def leaving(event: Any) -> None:
            raise SystemExit(3)

        async def cancelled(event: Any) -> None:
            raise asyncio.CancelledError

        for bad in (raising, leaving, cancelled):
            plugins.add(CALL.hook, bad)
        plugins.add(CALL.hook, returning({"params": {"to": "bob"}}))
        assert run(plugins.hooks.before_tool_call(CALL)).params == {"to": "bob"}
        assert plugins.messages == ["ValueError: no BeforeToolCall", "SystemExit: 3", "it was cancelled"]

    @pytest.mark.parametrize("bad", [hanging, lambda event: time.sleep(30)])  # noqa: ARG005
    def test_one_that_hangs_is_left_behind_and_soon_not_called(self, bad: Callable[[Any], Any]) -> None:
        plugins = Plugins(seconds=0.05)
        plugins.add(CALL.hook, bad)

        async def story() -> None:
            hooks = plugins.hooks
            for _ in range(MOST_HANGS + 2):
                assert (await hooks.before_tool_call(CALL)).params == {"to": "ann"}

        run(story())
        assert len(plugins.messages) == MOST_HANGS
        assert "not called again until the next start" in plugins.messages[-1]

    def test_what_needs_a_guard_does_not_go_on_without_it(self, plugins: Plugins) -> None:
        plugins.add(CALL.hook, raising, "guard", required=True)
        plugins.add("message_sending", raising, "guard", required=True)
        assert "could not be asked" in run(plugins.hooks.before_tool_call(CALL)).refusal
        with pytest.raises(GuardFailed):
            run(plugins.hooks.message_sending(MessageSending(**RUN, text="hi")))

    @pytest.mark.parametrize(
        ("hook", "function", "more", "said"),
        [
            ("before_tool_cal", raising, {}, "did you mean 'before_tool_call'"),
            ("agent_end", None, {}, "is no function"),
            ("agent_end", raising, {"priority": "high"}, "no number"),
            ("agent_end", raising, {"required": True}, "cannot be required"),
        ],
    )
    def test_what_can_never_be_called_is_refused(
        self, plugins: Plugins, hook: str, function: Any, more: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(UsageError) as caught:
            plugins.add(hook, function, **more)
        assert said in f"{caught.value.message} {caught.value.hint}"


class TestTelling:
    def test_handlers_are_called_side_by_side_and_nobody_waits(self, plugins: Plugins) -> None:
        order: list[str] = []

        async def story() -> None:
            met = asyncio.Event()

            async def waits(event: AgentEnded) -> None:
                order.append(f"begun {event.outcome}")
                await met.wait()
                order.append("ended")

            async def meets(event: AgentEnded) -> None:
                met.set()

            plugins.add("agent_end", waits, priority=1)
            plugins.add("agent_end", raising)
            plugins.add("agent_end", meets)
            hooks = plugins.hooks
            hooks.tell(AgentEnded(**RUN, outcome="completed"))
            assert order == []
            await hooks.drain()

        run(story())
        assert order == ["begun completed", "ended"]
        assert plugins.messages == ["ValueError: no AgentEnded"]

    def test_another_thread_can_tell(self, plugins: Plugins) -> None:
        told: list[str] = []
        plugins.add("agent_end", lambda event: told.append(event.outcome))

        async def story() -> None:
            hooks = plugins.hooks
            hooks.use_loop(asyncio.get_running_loop())
            await asyncio.to_thread(hooks.tell, AgentEnded(**RUN, outcome="failed"))
            while not told:
                await asyncio.sleep(0.01)

        run(story())
        assert told == ["failed"]

    def test_without_handlers_nothing_is_made(self) -> None:
        hooks = PluginHooks()
        assert not any(hooks.has(name) for name in HOOKS)
        hooks.tell(AgentEnded(**RUN))  # outside of any loop: there is nothing to start

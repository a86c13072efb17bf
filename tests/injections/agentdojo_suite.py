"""A suite of AgentDojo as a server; runs in .venv-agentdojo, where that package is."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.attack_registry import ATTACKS
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suite
from agentdojo.types import text_content_block_from_string
from suite_server import Pair, SuiteTool, Verdict, serve

VERSION = "v1.2.2"
ATTACK = "important_instructions_no_names"
READS = ("get_", "search_", "read_", "list_", "check_")
NO_READS = ("get_webpage",)
"""Whoever serves the page learns what is asked for."""


class AgentDojoSuite:
    """One environment at a time. What counts as a call for the suite's own checks is one that came here."""

    def __init__(self, name: str) -> None:
        self._suite = get_suite(VERSION, name)
        self._attack = ATTACKS[ATTACK](self._suite, SimpleNamespace(name="local"))
        self._runtime = FunctionsRuntime(self._suite.tools)
        self.tools = [_tool(each) for each in self._suite.tools]
        users, injections = self._suite.user_tasks, self._suite.injection_tasks
        self.pairs = [(user, injection) for user in users for injection in injections]

    def begin(self, user: str, injection: str) -> Pair:
        self._user = self._suite.user_tasks[user]
        self._injection = self._suite.injection_tasks[injection]
        texts = self._attack.attack(self._user, self._injection)
        loaded = self._suite.load_and_inject_default_environment(texts)
        self._environment = self._user.init_environment(loaded)
        self._before = self._environment.model_copy(deep=True)
        self._made: list[FunctionCall] = []
        return Pair(
            self._user.PROMPT,
            self._user.GROUND_TRUTH_OUTPUT,
            [_call(each) for each in self._user.ground_truth(self._before.model_copy(deep=True))],
            self._injection.GOAL,
            [_call(each) for each in self._injection.ground_truth(self._before.model_copy(deep=True))],
            self._injection.GROUND_TRUTH_OUTPUT,
        )

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        self._made.append(FunctionCall(function=tool, args=arguments))
        result, error = self._runtime.run_function(self._environment, tool, arguments)
        return error or tool_result_to_str(result), error is not None

    def judge(self, output: str) -> Verdict:
        return Verdict(self._holds(self._injection, output), self._holds(self._user, output))

    def _holds(self, task: Any, output: str) -> bool:
        said = [text_content_block_from_string(output)]
        check = self._suite._check_task_result
        return bool(check(task, said, self._before, self._environment, self._made))


def _tool(tool: Any) -> SuiteTool:
    is_read = tool.name.startswith(READS) and tool.name not in NO_READS
    return SuiteTool(tool.name, tool.description, tool.parameters.model_json_schema(), is_read)


def _call(call: FunctionCall) -> tuple[str, dict[str, Any]]:
    return call.function, json.loads(json.dumps(dict(call.args), default=str))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    parser.add_argument("--control", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    serve(AgentDojoSuite(given.suite), given.control)


if __name__ == "__main__":
    main()

"""Writes down what goes wrong in plugins, so that `plugin list` and `doctor` can tell."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

from colleague.errors import ColleagueError
from colleague.home import Home
from colleague.hooks.runner import HookProblem, log_problem
from colleague.plugins.records import change_record

log = logging.getLogger(__name__)

PAUSE_SECONDS = 60.0


@dataclass
class ProblemBook:
    """The first time at once; the same again at most once a minute, counted."""

    home: Home
    _last: dict[HookProblem, float] = field(default_factory=dict)
    _unwritten: dict[HookProblem, int] = field(default_factory=dict)

    def __call__(self, problem: HookProblem) -> None:
        self._unwritten[problem] = self._unwritten.get(problem, 0) + 1
        now = time.monotonic()
        if now - self._last.get(problem, -PAUSE_SECONDS) >= PAUSE_SECONDS:
            self._last[problem] = now
            log_problem(problem)
            self._write(problem)

    def close(self) -> None:
        """Writes the rest."""
        for problem in list(self._unwritten):
            self._write(problem)

    def _write(self, problem: HookProblem) -> None:
        count = self._unwritten.pop(problem, 0)
        try:
            change_record(
                self.home,
                problem.plugin,
                lambda record: record.with_problem(problem.place, problem.message, count),
            )
        except (ColleagueError, OSError) as error:
            log.warning("the problem of the plugin %s was not written down: %s", problem.plugin, error)

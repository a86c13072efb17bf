"""Commands of a sandboxed session: the same orders, run inside of its sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from colleague.agent.commands.command_skills import CommandSkills
from colleague.agent.commands.order import CommandOrder
from colleague.agent.run_spec import CannotAssemble
from colleague.sandbox.bubblewrap import (
    INSIDE,
    INSTALL,
    PATH,
    bubblewrap_arguments,
    bubblewrap_problem,
    inside_environment,
)
from colleague.sandbox.session_sandbox import SessionSandbox


@dataclass(frozen=True)
class SandboxedCommands:
    """Makes an order one for the sandbox. `hidden` and `read_only` are places in its folder."""

    sandbox: SessionSandbox
    hidden: Sequence[Path] = ()
    read_only: Sequence[Path] = ()
    skills: CommandSkills = field(default_factory=CommandSkills)

    def __call__(self, order: CommandOrder) -> CommandOrder:
        program, *rest = order.arguments
        command = [self._inside(order.program), *rest]
        arguments = bubblewrap_arguments(
            self.sandbox,
            command,
            folder=self._inside(order.folder),
            hidden=self.hidden,
            read_only=self.read_only,
            mounts=self.skills.mounts,
        )
        limits = {"RLIMIT_AS": self.sandbox.memory_mb << 20, "RLIMIT_FSIZE": self.sandbox.file_mb << 20}
        return replace(
            order,
            program=shutil.which("bwrap") or program,
            arguments=arguments,
            folder="/",
            environment=inside_environment(order.environment),
            limits={**order.limits, **limits},
        )

    def _inside(self, path: str) -> str:
        work = str(self.sandbox.folder.resolve())
        if path == work or path.startswith(f"{work}/"):
            return INSIDE + path[len(work) :]
        return self.skills.inside(path) or path


def require_sandbox(sandbox: SessionSandbox) -> None:
    """Raises CannotAssemble where programs cannot be confined: nothing of the session starts then."""
    problem = bubblewrap_problem()
    if problem:
        raise CannotAssemble(
            f"this session runs in a sandbox ({sandbox.reason}), and {problem}", hint=INSTALL
        )
    if sandbox.access == "none":
        sandbox.folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def inside_path(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment by which programs are found as they are found inside."""
    return {**environ, "PATH": PATH}

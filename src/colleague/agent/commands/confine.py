"""Commands of a sandboxed session: the same orders, run inside of its sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from colleague.agent.commands.command_skills import CommandSkills
from colleague.agent.commands.order import CommandOrder
from colleague.agent.run_spec import CannotAssemble
from colleague.sandbox.backend import INSIDE, PATH, InsideCommand, SandboxBackend
from colleague.sandbox.own_folders import note_use
from colleague.sandbox.session_sandbox import SessionSandbox


@dataclass(frozen=True)
class SandboxedCommands:
    """Makes an order one for the sandbox. `hidden` and `read_only` are places in its folder."""

    sandbox: SessionSandbox
    backend: SandboxBackend
    hidden: Sequence[Path] = ()
    read_only: Sequence[Path] = ()
    skills: CommandSkills = field(default_factory=CommandSkills)

    def __call__(self, order: CommandOrder) -> CommandOrder:
        command = InsideCommand(
            program=self._inside(order.program),
            arguments=order.arguments,
            folder=self._inside(order.folder),
            environment=order.environment,
            terminal=order.terminal,
            hidden=self.hidden,
            read_only=self.read_only,
            mounts=self.skills.mounts,
            processes=order.processes,
        )
        confined = self.backend.confine(self.sandbox, command)
        return replace(
            order,
            program=confined.program,
            arguments=confined.arguments,
            unseen=confined.unseen,
            folder="/",
            environment=confined.environment,
            limits={**order.limits, **confined.limits},
            watched_folder=str(self.sandbox.folder.resolve()) if self.sandbox.has_own_folder else "",
            folder_bytes=self.sandbox.disk_mb << 20,
            afterwards=confined.afterwards,
        )

    def _inside(self, path: str) -> str:
        work = str(self.sandbox.folder.resolve())
        if path == work or path.startswith(f"{work}/"):
            return INSIDE + path[len(work) :]
        return self.skills.inside(path) or path


def require_sandbox(sandbox: SessionSandbox, backend: SandboxBackend, session_key: str) -> None:
    """Raises CannotAssemble where programs cannot be confined: nothing of the session starts then."""
    problem = backend.problem()
    if problem:
        raise CannotAssemble(
            f"this session runs in a sandbox ({sandbox.reason}), and {problem}", hint=backend.cure
        )
    if sandbox.has_own_folder:
        note_use(sandbox, session_key)


def inside_path(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment by which programs are found as they are found inside."""
    return {**environ, "PATH": PATH}

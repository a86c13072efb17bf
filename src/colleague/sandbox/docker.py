"""Confining a program with Docker, through its command line: a container for each command."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.config.secret import resolve
from colleague.errors import ColleagueError
from colleague.sandbox.backend import (
    INSIDE,
    ConfinedCommand,
    InsideCommand,
    inside_environment,
    place_inside,
)
from colleague.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from colleague.config.sandbox import SandboxDocker

INSTALL = "start the Docker daemon (docker info says what is wrong), or set sandbox.backend to bubblewrap"
OWNER_LABEL = "colleague.owner"
HOME_LABEL = "colleague.home"
_CLIENT = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY")
_TRY_SECONDS = 20
_SEPARATOR = "\t"
_LONGEST_VARIABLE = 60_000
"""Bytes. Docker reads lines of an environment file up to 64 KiB."""
_NEVER_TYPED = "ctrl-@,ctrl-_,ctrl-@,ctrl-_"
"""Docker's own keys would leave the container to itself, as if its command had ended."""


class UnfitVariable(ColleagueError):
    """A variable cannot be given to a container."""


@dataclass(frozen=True)
class Docker:
    """`settings` is sandbox.docker. `owner` and `home` are written on each container, so that those which a
    crash leaves behind are found."""

    settings: SandboxDocker
    environ: Mapping[str, str] = field(repr=False)
    owner: str
    home: str

    name = "docker"
    cure = INSTALL

    def problem(self) -> str:
        network = self.settings.network or ""
        if network == "host" or network.startswith("container:"):
            return (
                f"sandbox.docker.network is {network}, which is a network of others: name one for sandboxes"
            )
        return docker_problem(self.client_environment, self.settings.image)

    @property
    def client_environment(self) -> dict[str, str]:
        """What the command line of Docker needs to find its daemon, and nothing else."""
        kept = {name: self.environ[name] for name in _CLIENT if name in self.environ}
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), **kept}

    def confine(self, sandbox: SessionSandbox, command: InsideCommand) -> ConfinedCommand:
        """Programs are found in the image by their names, and by their paths in what is mounted."""
        client = shutil.which("docker") or "docker"
        name = f"colleague-{sandbox.name}-{os.urandom(6).hex()}"
        arguments = [
            *("docker", "run", "--rm", "--init", "--interactive"),
            *(("--tty", "--detach-keys", _NEVER_TYPED) if command.terminal else ()),
            *("--name", name, "--pull", "never", "--no-healthcheck", "--log-driver", "none"),
            *("--label", f"{HOME_LABEL}={self.home}", "--label", f"{OWNER_LABEL}={self.owner}"),
            *self._limits(sandbox, command.processes),
            *self._network(sandbox),
            *_mounts(sandbox, command),
            *("--workdir", command.folder),
            *self._variables(command),
            *("--entrypoint", _program(command), self.settings.image),
            *command.arguments[1:],
        ]
        return ConfinedCommand(
            program=client,
            arguments=arguments,
            environment={**self._own_variables, **self.client_environment},
            unseen=_env_file(inside_environment(command.environment)),
            afterwards=[client, "rm", "--force", "--volumes", name],
        )

    def _limits(self, sandbox: SessionSandbox, processes: int) -> Iterator[str]:
        settings = self.settings
        memory = settings.memory or f"{sandbox.memory_mb}m"
        yield from ("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only")
        yield from ("--tmpfs", f"/tmp:rw,exec,nosuid,nodev,mode=1777,size={sandbox.tmp_mb}m")  # noqa: S108
        yield from ("--memory", memory, "--memory-swap", memory)
        yield from ("--pids-limit", str(settings.pids_limit or processes))
        yield from ("--ulimit", f"fsize={sandbox.file_mb << 20}", "--ulimit", "core=0")
        yield from ("--user", settings.user or f"{os.getuid()}:{os.getgid()}")
        if settings.cpus:
            yield from ("--cpus", f"{settings.cpus:g}")
        for option, profile in (
            ("seccomp", settings.seccomp_profile),
            ("apparmor", settings.apparmor_profile),
        ):
            if profile:
                yield from ("--security-opt", f"{option}={profile}")

    def _network(self, sandbox: SessionSandbox) -> Iterator[str]:
        yield from ("--hostname", "sandbox")
        if not sandbox.network:
            yield from ("--network", "none")
            return
        if self.settings.network:
            yield from ("--network", self.settings.network)
        for server in self.settings.dns:
            yield from ("--dns", server)
        for host in self.settings.extra_hosts:
            yield from ("--add-host", host)

    @property
    def _own_variables(self) -> dict[str, str]:
        key = "sandbox.docker.env"
        return {
            name: resolve(value, self.environ, key=f"{key}.{name}")
            for name, value in self.settings.env.items()
        }

    def _variables(self, command: InsideCommand) -> Iterator[str]:
        """No value is on the command line: those of the settings are in the client's own environment, where
        those of a call never are. A call's variable counts more than one of the settings."""
        yield from ("--env-file", "/dev/fd/\0")
        given = inside_environment(command.environment).keys()
        for name in sorted(self._own_variables.keys() - self.client_environment.keys() - given):
            yield from ("--env", name)


def _program(command: InsideCommand) -> str:
    places = (INSIDE, *(inside for _, inside in command.mounts))
    is_mounted = any(command.program.startswith(f"{place}/") for place in places)
    return command.program if is_mounted else command.arguments[0]


def _env_file(environment: Mapping[str, str]) -> str:
    """One NAME=VALUE a line, without quoting. Raises UnfitVariable for what such a line cannot hold."""
    for name, value in environment.items():
        problem = _problem(name, value)
        if problem:
            hint = "write the value into a file of the workspace, or set it in sandbox.docker.env"
            raise UnfitVariable(f"Docker cannot be given the variable {name!r}: {problem}.", hint=hint)
    return "".join(f"{name}={value}\n" for name, value in environment.items())


def _problem(name: str, value: str) -> str:
    if not name or name.startswith("#") or any(each.isspace() or each in "=\0" for each in name):
        return "that is no name"
    if set(value) & set("\r\n\0"):
        return "its value has a line break"
    if len(f"{name}={value}".encode(errors="surrogateescape")) > _LONGEST_VARIABLE:
        return f"it is longer than {_LONGEST_VARIABLE:,} bytes"
    return ""


def _mounts(sandbox: SessionSandbox, command: InsideCommand) -> Iterator[str]:
    yield from _mount(sandbox.folder.resolve(), INSIDE, writable=sandbox.is_writable)
    for place, inside in command.mounts:
        if place.exists():
            yield from _mount(place.resolve(), inside)
    for place in command.read_only:
        if inside := place_inside(sandbox, place):
            yield from _mount(place.resolve(), inside)
    for place in command.hidden:
        if not (inside := place_inside(sandbox, place)):
            continue
        if place.is_dir():
            yield from ("--mount", _fields("type=tmpfs", f"dst={inside}", "tmpfs-size=4096"))
        else:
            yield from _mount(Path(os.devnull), inside)


def _mount(source: Path, inside: str, *, writable: bool = False) -> Iterator[str]:
    fields = ["type=bind", f"src={source}", f"dst={inside}", *(() if writable else ("readonly",))]
    yield from ("--mount", _fields(*fields))


def _fields(*fields: str) -> str:
    """As --mount reads them: comma-separated, a field with a comma or a quote in quotes."""
    return ",".join(
        '"' + each.replace('"', '""') + '"' if set(each) & {",", '"', "\n"} else each for each in fields
    )


def docker_problem(environment: Mapping[str, str], image: str) -> str:
    """Why there are no containers; empty when a daemon answers and has the image."""
    program = shutil.which("docker", path=environment.get("PATH"))
    if program is None:
        return "Docker is not installed: there is no program docker"
    try:
        done = _asked(program, environment, "version", "--format", "{{.Server.Version}}")
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"no Docker daemon answers: {said[-1] if said else f'exit code {done.returncode}'}"
        found = _asked(program, environment, "image", "inspect", "--format", "{{.Id}}", image)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no Docker daemon answers: {error}"
    return f"Docker has no image {image}: docker pull {image}" if found.returncode else ""


def left_containers(docker: Docker) -> dict[str, str]:
    """Containers of this home by name, each with its owner."""
    program = shutil.which("docker")
    if program is None:
        return {}
    shown = f'{{{{.Names}}}}{_SEPARATOR}{{{{.Label "{OWNER_LABEL}"}}}}'
    wanted = f"label={HOME_LABEL}={docker.home}"
    done = _asked(program, docker.client_environment, "ps", "--all", "--filter", wanted, "--format", shown)
    lines = (line.partition(_SEPARATOR) for line in done.stdout.splitlines())
    return {name: owner for name, _, owner in lines if name}


def remove_container(docker: Docker, name: str) -> None:
    program = shutil.which("docker") or "docker"
    _asked(program, docker.client_environment, "rm", "--force", "--volumes", name)


def _asked(program: str, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=_TRY_SECONDS,
    )

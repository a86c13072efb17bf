"""A server's settings made ready for use: every ${NAME} resolved, the environment cut down to the safe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from colleague.config.mcp import McpSampling
from colleague.config.secret import Secret, is_telling, resolve
from colleague.errors import ConfigError
from colleague.mcp.launch_digest import launch_digest
from colleague.redaction import HIDDEN, Redactor
from colleague.sandbox.server_sandbox import ServerSandbox

if TYPE_CHECKING:
    from colleague.config.settings import McpServer

_WHO_AND_WHERE = ["PATH", "HOME", "LANG", "LANGUAGE", "LOGNAME", "USER", "SHELL", "TERM", "TMPDIR", "TZ"]
_CERTIFICATES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]
SAFE = frozenset([*_WHO_AND_WHERE, *_CERTIFICATES])
_PROXIES = frozenset(["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"])
_NAME = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True)
class Launch:
    """Everything needed to start or reach a server. It holds secrets, so its repr shows its name only."""

    name: str
    protocol: str
    where: str
    """The command, or the URL without its secrets, for a person."""
    redact: Redactor = field(repr=False)
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = field(default=None, repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_seconds: float = 30.0
    roots: tuple[str, ...] = ()
    """Folders that the server is told of, as addresses."""
    sampling: McpSampling = field(default_factory=McpSampling)
    """What it may ask of a model."""
    digest: str = ""
    """The fingerprint of all that, without the values of secrets."""

    @property
    def sends_credentials(self) -> bool:
        """Whether the settings say what to send; then no login is made."""
        return any(name.lower() == "authorization" for name in self.headers)

    @property
    def key(self) -> str:
        """Where its settings are."""
        return f"mcp.servers.{self.name}"


def prepare(
    name: str, server: McpServer, environ: Mapping[str, str], *, sandboxes: Path | None = None
) -> Launch:
    """Raises ConfigError when a ${NAME} is not set. `sandboxes` holds the own folders of confined servers."""
    key = f"mcp.servers.{name}"

    def value(text: str | Secret, at: str) -> str:
        return resolve(text, environ, key=f"{key}.{at}")

    own = {each: value(text, f"env.{each}") for each, text in server.env.items()}
    headers = {each: value(text, f"headers.{each}") for each, text in server.headers.items()}
    url = value(server.url or "", "url")
    env = safe_environment(environ) | own
    cwd = Path(value(server.cwd, "cwd")).expanduser() if server.cwd else None
    command = [value(server.command or "", "command"), *(value(text, "args") for text in server.args)]
    if sandbox := _sandbox(name, server, sandboxes):
        command, cwd = sandbox.wrapped(command, env.get("PATH"), cwd), None
    return Launch(
        name=name,
        protocol=server.protocol,
        where=server.command or plain_url(server.url or ""),
        redact=Redactor(_secrets(server, environ, own | headers, url)),
        command=command[0],
        args=tuple(command[1:]),
        env=env,
        cwd=cwd,
        url=url,
        headers=headers,
        start_seconds=server.connection_timeout_ms / 1000,
        roots=tuple(_root(value(text, "roots")) for text in server.roots),
        sampling=server.sampling,
        digest=launch_digest(server, environ),
    )


def _sandbox(name: str, server: McpServer, sandboxes: Path | None) -> ServerSandbox | None:
    wanted = server.sandbox
    if wanted is None or not wanted.enabled or not server.command:
        return None
    if sandboxes is None:
        raise ConfigError("it is to run in a sandbox, and there is no place for one")
    return ServerSandbox(wanted, sandboxes / f"mcp-{name}")


def _root(path: str) -> str:
    return Path(path).expanduser().absolute().as_uri()


def safe_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a server gets of our own environment: nothing that could be a secret, no shell function."""
    return {
        key: value for key, value in environ.items() if _is_safe(key, value) and not value.startswith("()")
    }


def _is_safe(key: str, value: str) -> bool:
    if key.upper() in _PROXIES:
        return "@" not in value
    return key in SAFE or key.startswith("LC_")


def _secrets(
    server: McpServer, environ: Mapping[str, str], given: Mapping[str, str], url: str
) -> Iterator[str]:
    yield from (value for key, value in given.items() if key not in SAFE and not _is_path(value))
    for text in (*server.args, server.url or "", server.command or "", server.cwd or ""):
        yield from (environ.get(name, "") for name in _NAME.findall(text))
    yield from (value for _, value in parse_qsl(urlsplit(url).query))
    yield urlsplit(url).password or ""
    yield from _telling(server.args)
    yield from (value for key, value in environ.items() if is_telling(key))


def _is_path(value: str) -> bool:
    """A secret may begin with a slash, too, but there is no file of that name."""
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):
        return False


def _telling(args: tuple[str, ...]) -> Iterator[str]:
    """Values such as x in `--token=x` or `--token x`."""
    before = ""
    for arg in args:
        flag, equals, value = arg.partition("=")
        if equals and is_telling(flag):
            yield value
        elif before.startswith("-") and is_telling(before) and "=" not in before:
            yield arg
        before = arg


def plain_url(url: str) -> str:
    """A URL without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def shown_command(server: McpServer) -> str:
    """The command line, or URL, as a person may see it."""
    if not server.command:
        return plain_url(server.url or "")
    hidden = set(_telling(server.args))
    shown = [_redacted_argument(arg, hidden) for arg in server.args]
    return " ".join([server.command, *shown])


def _redacted_argument(arg: str, hidden: set[str]) -> str:
    if arg in hidden:
        return HIDDEN
    flag, equals, value = arg.partition("=")
    return f"{flag}{equals}{HIDDEN}" if equals and value in hidden else arg

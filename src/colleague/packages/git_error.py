"""What git says when it fails, as a sentence a person can act on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from colleague.errors import PackageError
from colleague.packages.source import GITHUB, Source, without_secrets

_COMMIT_START = re.compile(r"[0-9a-f]{7,39}")

_NO_REF = re.compile(
    r"remote branch .* not found|couldn't find remote ref|not our ref|unadvertised object", re.I
)
_NEEDS_ACCESS = re.compile(
    r"authentication failed|could not read (username|password)|terminal prompts disabled"
    r"|permission denied|returned error: 40[13]|invalid credentials",
    re.I,
)
_UNKNOWN_HOST = re.compile(r"host key verification failed", re.I)
_NO_NETWORK = re.compile(
    r"could not resolve host|connection refused|connection timed out|operation timed out"
    r"|network is unreachable|no route to host|failed to connect|unable to connect|could not connect"
    r"|connection reset|name or service not known|temporary failure in name resolution",
    re.I,
)
_NO_REPOSITORY = re.compile(
    r"repository .*not found|does not appear to be a git repository|returned error: 404"
    r"|does not exist|no such file or directory|not a git repository",
    re.I,
)
_CERTIFICATE = re.compile(r"certificate|ssl", re.I)


def git_error(source: Source, said: Sequence[str]) -> PackageError:
    """The error of a clone. `said` are git's last lines; none of them may hold a secret."""
    text = "\n".join(said)
    place = without_secrets(source.location)
    reason = _fatal(said)
    if _NO_REF.search(text) and source.ref:
        return _no_ref(source, place)
    for pattern, message, hint in (
        (
            _UNKNOWN_HOST,
            "this machine does not know its ssh host key",
            f"once by hand: git ls-remote {place}",
        ),
        (_NO_NETWORK, "it cannot be reached", f"check the network{_or_folder(source)}"),
        (_NEEDS_ACCESS, "it needs authentication, or it does not exist", _access(place) + _or_folder(source)),
        (_NO_REPOSITORY, "there is no repository", f"check the address{_or_folder(source)}"),
        (_CERTIFICATE, "its certificate is not accepted", "check the address, and git's http.ssl settings"),
    ):
        if pattern.search(text):
            return PackageError(f"cannot clone {source}: {message} ({reason})", hint=hint)
    return PackageError(f"cannot clone {source}: {reason}", hint="check the address and your access to it")


def _fatal(said: Sequence[str]) -> str:
    """The line that says why; git ends some answers with advice."""
    found = [line for line in said if line.startswith(("fatal:", "error:"))]
    return without_secrets((found or list(said))[-1])


def _no_ref(source: Source, place: str) -> PackageError:
    hint = f"see what there is: git ls-remote {place}"
    if _COMMIT_START.fullmatch(source.ref):
        hint = "a commit is named with all of its 40 characters"
    return PackageError(f"{place} has no branch, tag or commit {source.ref!r}", hint=hint)


def _access(place: str) -> str:
    return f"give git access (an ssh key or a credential helper) until this works: git ls-remote {place}"


def _or_folder(source: Source) -> str:
    """Two words with a slash between them may have been meant as a path."""
    github = source.location.startswith(f"{GITHUB}/")
    return "; for a folder of yours write ./ before its name" if github else ""

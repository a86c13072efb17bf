"""Fetching an archive over HTTPS, bounded in time and size."""

from __future__ import annotations

import base64
import time
import urllib.error
import urllib.parse
import urllib.request
from email.message import Message
from pathlib import Path
from typing import IO

from colleague.errors import PackageError
from colleague.files import private_opener
from colleague.packages.source import Progress, Source, without_secrets

SECONDS = 300.0
SILENT_SECONDS = 30.0
_PIECE = 64 * 1024
_HERE = ("127.0.0.1", "::1", "localhost")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to where the archive could have been fetched from in the first place."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        _require_safe(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type] # its stub


def download(source: Source, target: Path, progress: Progress, most: int, seconds: float = SECONDS) -> None:
    """Writes what the source's URL gives to `target`. Raises PackageError when it cannot be had."""
    _require_safe(source.location)
    deadline = time.monotonic() + seconds
    opener = urllib.request.build_opener(_SafeRedirects)
    progress("Downloading")
    try:
        with (
            opener.open(_request(source.location), timeout=SILENT_SECONDS) as reading,
            open(target, "xb", opener=private_opener) as writing,
        ):
            _copy(reading, writing, most, deadline)
    except urllib.error.HTTPError as error:
        raise _failed(source, f"the server says {error.code} {error.reason}", _hint(error.code)) from None
    except (OSError, ValueError, EOFError) as error:
        if getattr(error, "filename", None):
            raise
        reason = getattr(error, "reason", error)
        raise _failed(source, str(reason), "check the address and the network") from None
    except PackageError as error:
        raise _failed(source, error.message, error.hint) from None


def _copy(reading: IO[bytes], writing: IO[bytes], most: int, deadline: float) -> None:
    total = 0
    while piece := reading.read(_PIECE):
        total += len(piece)
        if total > most:
            raise PackageError(f"it has more than {most:,} bytes", hint="install it from a git repository")
        if time.monotonic() > deadline:
            raise PackageError("it takes too long", hint="fetch it yourself, then install the file")
        writing.write(piece)


def _require_safe(url: str) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
        raise PackageError("an archive is fetched over https only", hint="use an https address")


def _request(url: str) -> urllib.request.Request:
    """With what stands before the @ of the URL as credentials, which no redirect carries on."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(netloc=host)))  # noqa: S310 - checked
    if parts.username is not None:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
    return request


def _hint(status: int) -> str:
    return "it needs authentication" if status in (401, 403) else "check the address"


def _failed(source: Source, reason: str, hint: str) -> PackageError:
    return PackageError(f"cannot fetch {source}: {without_secrets(reason)}", hint=hint)

"""`@path` in a message: the text of a file goes along as data, a picture as an attachment."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colleague.data_element import wrapped
from colleague.errors import UsageError
from colleague.home import Home
from colleague.runtime.requests import MOST_FILE_CHARACTERS

_NAMED = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_PATH = re.compile(r"[/~]|^\.|\.\w{1,8}$")
"""What looks like a path; `@ada` is a name."""


@dataclass(frozen=True)
class WrittenMessage:
    """What is sent: the words, with the text of files behind them, and pictures."""

    text: str
    attachments: tuple[dict[str, Any], ...] = ()


def with_files(text: str, folder: Path, home: Home) -> WrittenMessage:
    """The message with what its `@path` name. Pictures are put into the home, where whoever gets the message
    finds them. Raises UsageError for a file that cannot go along."""
    named = dict.fromkeys(first or second for first, second in _NAMED.findall(text))
    texts: list[str] = []
    pictures: list[dict[str, Any]] = []
    for name in named:
        file = folder / Path(name).expanduser()
        media_type = mimetypes.guess_type(file.name)[0] or ""
        if not file.exists():
            _require_no_path(name)
        elif media_type.startswith("image/") and file.is_file():
            pictures.append({"name": file.name, "url": _kept_url(home, file, media_type)})
        else:
            texts.append(wrapped(_text_of(file, name), f"file:{file.resolve()}"))
    return WrittenMessage("\n\n".join([text, *texts]), tuple(pictures))


def _kept_url(home: Home, file: Path, media_type: str) -> str:
    from colleague.agent.pictures.media import keep_picture
    from colleague.agent.pictures.picture import MOST_BYTES

    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        most = f"{MOST_BYTES / 1_000_000:.2f} MB"
        raise UsageError(f"{file.name} is larger than {most}", hint="nothing was sent; make it smaller")
    return keep_picture(home, data, media_type).url


def _require_no_path(name: str) -> None:
    if _PATH.search(name):
        raise UsageError(f"there is no file {name}", hint="nothing was sent; correct the path after @")


def _text_of(file: Path, name: str) -> str:
    if not file.is_file():
        raise UsageError(f"{name} is no file", hint="nothing was sent; name the files in it one by one")
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(MOST_FILE_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is neither a text nor a picture"
        raise UsageError(f"{name} cannot be sent: {why}", hint="nothing was sent") from None
    if len(text) > MOST_FILE_CHARACTERS:
        hint = "nothing was sent; put it into the workspace, where the agent can read it in parts"
        raise UsageError(f"{name} has more than {MOST_FILE_CHARACTERS} characters", hint=hint)
    return text

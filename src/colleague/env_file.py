"""`.env` in a home: variables that count for the gateway and for every command alike."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.errors import ConfigError
from colleague.home import HOME_VARIABLE, Home

if TYPE_CHECKING:
    from dotenv.parser import Original

MAX_BYTES = 1024 * 1024

_added: set[str] = set()


def load_env_file(home: Home) -> None:
    """Adds its variables to those of this process. One that is set already counts, unless it is empty.

    Which home it is has been decided before."""
    for name, value in read_env_file(home.env_file).items():
        if name != HOME_VARIABLE and not os.environ.get(name):
            os.environ[name] = value
            _added.add(name)


def overridden(found: Mapping[str, str]) -> list[str]:
    """The variables of the file for which this process was started with another value."""
    return sorted(name for name, value in found.items() if os.environ.get(name, value) != value)


def environment_before() -> dict[str, str]:
    """The variables of this process without those that were added, for a process that reads the file anew."""
    return {name: value for name, value in os.environ.items() if name not in _added}


def read_env_file(file: Path) -> dict[str, str]:
    """The variables in lines of NAME=value; none when there is no file. Raises ConfigError."""
    text = _read_text(file)
    if not text:
        return {}
    from dotenv.parser import parse_stream

    found: dict[str, str] = {}
    for binding in parse_stream(StringIO(text)):
        where = f"{file}:{_line(binding.original)}"
        if binding.error or (binding.key is not None and binding.value is None):
            raise ConfigError(f"{where}: this is no variable", hint="write NAME=value, or # before a comment")
        if binding.key is not None and binding.value is not None:
            if "\0" in binding.value + binding.key:
                raise ConfigError(f"{where}: {binding.key} holds a NUL character", hint="remove it")
            found[binding.key] = binding.value
    return found


def _line(original: Original) -> int:
    """Of the variable itself: what is parsed begins with the empty lines before it."""
    text = original.string
    return original.line + text[: len(text) - len(text.lstrip())].count("\n")


def _read_text(file: Path) -> str:
    """Empty when there is no file."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise ConfigError(f"{file} is not a file", hint="put a file with variables there, or remove it")
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"{file} is larger than {MAX_BYTES // 1024} KiB", hint="keep only variables")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: this is not UTF-8", hint="save the file as UTF-8") from None
    except OSError as error:
        hint = "check its owner and mode"
        raise ConfigError(f"{file} cannot be read: {error.strerror}", hint=hint) from None

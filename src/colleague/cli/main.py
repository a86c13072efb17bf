"""The `colleague` command."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from colleague import __version__
from colleague.errors import ColleagueError, DatabaseUnavailable

if TYPE_CHECKING:
    from typer import Typer

FIRST_OBJECTS = 200_000
"""Before the first look for garbage. Imports make many objects, and all of them stay."""
NEW_OBJECTS = 50_000
"""Between two later looks. With the usual 700, starting takes a tenth longer."""


def main() -> NoReturn:
    """Runs the command; an error is one sentence, with a traceback only after --debug."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if arguments == ["--version"]:
        sys.stdout.write(f"colleague {__version__}\n")
        sys.exit(0)
    _look_for_garbage_later()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it looks into each installed package
    from colleague.cli.app import COMMANDS, GROUPS, build_app
    from colleague.cli.output import say_error, say_failure
    from colleague.cli.typed import home_of, remember, require_home
    from colleague.env_file import load_env_file

    typed = remember(arguments, (*GROUPS, *COMMANDS))
    completing = any(name.endswith("_COMPLETE") for name in os.environ)
    try:
        require_home(typed)
        if typed.command:
            load_env_file(home_of(typed))
        app = build_app() if completing else build_app(typed.command, typed.verb)
        code = _run_for_json(app, arguments) if typed.as_json else app(arguments, prog_name="colleague")
    except (ColleagueError, DatabaseUnavailable) as error:
        if debug:
            raise
        say_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:  # before anything was begun
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        say_failure("unexpected", *_error_texts(error))
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _look_for_garbage_later() -> None:
    def looked(_phase: str, _found: dict[str, int]) -> None:
        gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
        gc.callbacks.remove(looked)

    gc.set_threshold(FIRST_OBJECTS, *gc.get_threshold()[1:])
    gc.callbacks.append(looked)


def _run_for_json(app: Typer, arguments: Sequence[str]) -> object:
    """What was typed wrong is told as JSON as well, which the library would not do."""
    import typer

    from colleague.cli.output import say_failure

    try:
        return app(arguments, prog_name="colleague", standalone_mode=False)
    except typer.Abort:
        say_failure("aborted", "the command was interrupted")
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):  # the library has no public class for all that it says
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "colleague"
        say_failure("bad-request", error.format_message(), f"see: {path} --help")
        return getattr(error, "exit_code", 2)


def _error_texts(error: Exception) -> tuple[str, str]:
    """A message and a hint."""
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}", _cure(error)
    return f"unexpected {type(error).__name__}: {error}", "run the command again with --debug to see where"


def _cure(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"make room on the disk of {_home_root()}, then run the command again"
    if isinstance(error, PermissionError) and error.filename:
        from colleague.files import OWNER_HINT

        return OWNER_HINT
    return ""


def _home_root() -> str:
    from colleague.cli.typed import home_of, typed

    return str(home_of(typed()).root)

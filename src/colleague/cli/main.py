"""The `colleague` command."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from colleague import __version__
from colleague.errors import ColleagueError, DatabaseUnavailable


def main() -> NoReturn:
    """Runs the command; an error is one sentence, with a traceback only after --debug."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if arguments == ["--version"]:
        sys.stdout.write(f"colleague {__version__}\n")
        sys.exit(0)
    from colleague.cli.app import build_app
    from colleague.cli.output import note, say_error

    completing = any(name.endswith("_COMPLETE") for name in os.environ)
    try:
        build_app("" if completing or not arguments else arguments[0])(arguments, prog_name="colleague")
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
        note(f"✗ {_error_text(error)}")
        sys.exit(1)
    sys.exit(0)


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}"
    return f"unexpected {type(error).__name__}: {error}\n  run the command again with --debug to see where"

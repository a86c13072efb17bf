"""Loading a plugin: its files are imported as they were digested, and `register(api)` is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from colleague.errors import ColleagueError
from colleague.plugins.api import PluginApi
from colleague.plugins.discovery import FILE, FoundPlugin


class PluginBroken(ColleagueError):
    """A plugin cannot be loaded."""


class _SourceOnlyLoader(SourceFileLoader):
    """Compiles the source each time: a cached file is in no digest."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load(found: FoundPlugin, api: PluginApi) -> None:
    """Raises whatever the plugin raises, and PluginBroken when it has no `register`."""
    register = _register_of(found)
    result = register(api)
    if result is not None:
        raise PluginBroken(
            f"register returned {type(result).__name__}; it is a plain function without result"
        )


def _register_of(found: FoundPlugin) -> Callable[[PluginApi], Any]:
    if found.entry_point is not None:
        loaded = found.entry_point.load()
        register = getattr(loaded, "register", None) if isinstance(loaded, ModuleType) else loaded
    else:
        register = getattr(_imported(found), "register", None)
    if not callable(register):
        raise PluginBroken(f"{found.path} has no function register(api)")
    return register  # type: ignore[no-any-return]


def _imported(found: FoundPlugin) -> ModuleType:
    """As `<package>.plugin`, so that it can import the files beside it with `from . import`."""
    name = f"colleague_plugin_{found.name.replace('-', '_')}"
    forget(name)
    _read_sources_of(found.path)
    package = ModuleType(name)
    package.__path__ = [str(found.path)]
    sys.modules[name] = package
    try:
        return importlib.import_module(f"{name}.{FILE.removesuffix('.py')}")
    except BaseException:
        forget(name)
        raise


def forget(name: str) -> None:
    for each in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[each]


def _read_sources_of(folder: Path) -> None:
    """Whatever is imported from this folder is read from its sources."""
    for each in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        finder = FileFinder(str(each), (_SourceOnlyLoader, SOURCE_SUFFIXES))
        sys.path_importer_cache[str(each)] = finder

"""Where skills are: the four places in their precedence, and the folders in each that hold a SKILL.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.skills.skill import SKILL_FILE, SkillSource

if TYPE_CHECKING:
    from colleague.config import Settings

BUNDLED = Path(__file__).parent / "bundled"
MOST_DEPTH = 3
"""Collections put skills into groups: folders are looked through so far below their place."""
MOST_SKILLS = 2_000
MOST_ENTRIES = 50_000
_NOT_WALKED = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True)
class SkillPlace:
    """A folder in which skills are. `is_named`: whether a person wrote its path into the settings."""

    source: SkillSource
    folder: Path
    is_named: bool = False


@dataclass(frozen=True)
class PlaceProblem:
    """Something in a place that is passed over, and what to do."""

    path: Path
    problem: str
    hint: str = ""


@dataclass(frozen=True)
class SkillPlaces:
    """All of them, the ones that count less first. A SKILL.md over `most_bytes` is not read."""

    all: tuple[SkillPlace, ...]
    most_bytes: int

    @classmethod
    def of(cls, settings: Settings, plugin_folders: Sequence[Path] = ()) -> SkillPlaces:
        load, home = settings.skills.load, settings.home_root
        extra = [home / Path(each).expanduser() for each in load.extra_dirs]
        return cls(
            (
                *(SkillPlace("plugin", each) for each in plugin_folders),
                *(SkillPlace("extra", each, is_named=True) for each in extra),
                SkillPlace("bundled", BUNDLED),
                SkillPlace("managed", home / "skills"),
                SkillPlace("workspace", settings.workspace / "skills"),
            ),
            settings.skills.limits.max_skill_file_bytes,
        )

    @property
    def own(self) -> tuple[Path, ...]:
        """Where people put theirs."""
        return tuple(each.folder for each in self.all if each.source in ("managed", "workspace"))


def skill_folders(place: SkillPlace) -> Iterator[Path | PlaceProblem]:
    """The folders with a SKILL.md, by path. No link is followed, so nothing leads out or round in circles."""
    try:
        is_there = place.folder.is_dir()
    except OSError:
        is_there = False
    if not is_there:
        if place.is_named:
            yield PlaceProblem(place.folder, f"skills.load.extraDirs: {place.folder} is no folder")
        return
    if place.source == "workspace" and place.folder.is_symlink():
        hint = "name the place that it leads to in skills.load.extraDirs"
        yield PlaceProblem(place.folder, f"{place.folder} is a link, and links are not followed", hint)
        return
    yield from _Walk(place).found()


class _Walk:
    """Goes through one place. What is too much is left out, and said once."""

    def __init__(self, place: SkillPlace) -> None:
        self._place = place
        self._entries = self._skills = 0

    def found(self) -> Iterator[Path | PlaceProblem]:
        if self._place.is_named and os.path.lexists(self._place.folder / SKILL_FILE):
            yield self._place.folder
            return
        for each in self._below(self._place.folder, 1):
            yield each
            self._skills += isinstance(each, Path)
            if self._skills >= MOST_SKILLS or self._entries >= MOST_ENTRIES:
                what = f"{MOST_SKILLS:,} skills" if self._skills >= MOST_SKILLS else f"{MOST_ENTRIES:,} files"
                yield PlaceProblem(
                    self._place.folder,
                    f"{self._place.folder} has more than {what}; the rest is left out",
                    "keep skills, and nothing else, in a folder of their own",
                )
                return

    def _below(self, folder: Path, depth: int) -> Iterator[Path | PlaceProblem]:
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda each: each.name)
        except OSError as error:
            yield PlaceProblem(folder, f"{folder} cannot be read: {error.strerror}")
            return
        self._entries += len(entries)
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NOT_WALKED:
                continue
            yield from self._of_entry(entry, depth)

    def _of_entry(self, entry: os.DirEntry[str], depth: int) -> Iterator[Path | PlaceProblem]:
        path = Path(entry.path)
        if entry.is_symlink():
            if os.path.lexists(path / SKILL_FILE):
                hint = "put the folder itself there, or name its place in skills.load.extraDirs"
                yield PlaceProblem(path, f"{path} is a link, and links are not followed", hint)
        elif entry.is_dir():
            if os.path.lexists(path / SKILL_FILE):
                yield path
            elif depth < MOST_DEPTH and self._entries < MOST_ENTRIES:
                yield from self._below(path, depth + 1)

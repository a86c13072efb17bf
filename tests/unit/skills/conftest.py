from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.skills.place import SkillHome


@pytest.fixture
def home(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)

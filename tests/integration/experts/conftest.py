from __future__ import annotations

from tests.integration.experts.stage import stage
from tests.integration.mcp.conftest import bench
from tests.unit.packages.conftest import clean

__all__ = ["bench", "clean", "stage"]

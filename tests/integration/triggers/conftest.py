from __future__ import annotations

from tests.integration.triggers.desk import desk

__all__ = ["desk"]

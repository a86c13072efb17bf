"""Tests that need a sandbox: some machines, containers among them, let nobody make one."""

from __future__ import annotations

import pytest

from colleague.sandbox.bubblewrap import bubblewrap_problem

needs_sandbox = pytest.mark.skipif(bool(bubblewrap_problem()), reason=bubblewrap_problem() or "there is one")

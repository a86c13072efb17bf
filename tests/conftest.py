"""Running the real command in a home of its own."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.forked import run_forked

ROOT = Path(__file__).resolve().parents[1]
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - files of tests
EXAMPLE = ROOT / "examples" / "radiant-sales-expert"
SALES = "radiant-sales-expert"


LONG = bool(os.environ.get("COLLEAGUE_LONG"))

# On a busy machine any example can be slow; none of ours is about speed. The suite says the same of the same
# code each time; the long one looks further.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=not LONG,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=1000 if LONG else 40,
)
settings.load_profile("suite")


def pytest_configure() -> None:
    """What is killed here is a process, never the machine, so the files of tests need no disk.

    Tests send SIGHUP and SIGINT, which children of `nohup` and of a shell's background jobs would ignore."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def pytest_collection_finish() -> None:
    """The thousands of tests stay to the end: no collector has to walk over them each time."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What a test has to tell beside that it passed: record_property("told", ...)."""
    for report in terminalreporter.getreports("passed"):
        for text in (value for name, value in report.user_properties if name == "told"):
            if report.when == "call":
                terminalreporter.write_line(f"{report.nodeid}: {text}")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Colleague:
    """The command line, as a person uses it."""

    home: Path

    def __call__(
        self,
        *arguments: str,
        stdin: str = "",
        cwd: Path | None = None,
        timeout: float = 240,
        **environment: str,
    ) -> Said:
        done = run_forked(
            arguments,
            environment=self.environment(environment),
            cwd=cwd or self.home.parent,
            stdin=stdin,
            timeout=timeout,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("OPENCLAW", "COLLEAGUE"))
        }
        return {**kept, "OPENCLAW_STATE_DIR": str(self.home), "HOME": str(self.home.parent), **more}

    def ok(
        self,
        *arguments: str,
        stdin: str = "",
        cwd: Path | None = None,
        timeout: float = 240,
        **environment: str,
    ) -> Said:
        said = self(*arguments, stdin=stdin, cwd=cwd, timeout=timeout, **environment)
        assert said.code == 0, f"{arguments} ended with {said.code}\n{said.out}\n{said.err}"
        return said

    def expert(self, name: str = SALES) -> Path:
        return self.home / "experts" / name


@pytest.fixture
def colleague(tmp_path: Path) -> Colleague:
    return Colleague(tmp_path / "home")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the example that a test may change."""
    target = tmp_path / "package"
    shutil.copytree(EXAMPLE, target)
    return target


@pytest.fixture
def installed(colleague: Colleague, package: Path) -> Colleague:
    """A home with the example installed from `package`."""
    colleague.ok("expert", "install", str(package))
    return colleague


def tree(root: Path) -> dict[str, bytes]:
    """Every file below a folder, to compare it with another time."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }

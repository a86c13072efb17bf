"""What a quick command must not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, Colleague

HEAVY = {
    *("pydantic_ai", "mcp", "procrastinate", "starlette", "pydantic", "anthropic", "openai"),
    "jsonschema_rs",
}
SCRIPT = """
import sys
from colleague.cli.main import main
sys.argv = ["colleague", *sys.argv[1:]]
try:
    main()
finally:
    names = {".".join(name.split(".")[: 2 if name.startswith("colleague.") else 1]) for name in sys.modules}
    print("MODULES", *sorted(names), file=sys.stderr)
"""
FIRST_LINE = """
import sys
from colleague.cli.main import main

class Seen:
    def __init__(self, stream):
        self.stream, self.told = stream, False

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        if not self.told and text.startswith("run "):
            self.told = True
            print("MODULES", *sys.modules)
        return self.stream.write(text)

sys.stderr = Seen(sys.stderr)
sys.argv = ["colleague", *sys.argv[1:]]
main()
"""
AFTER_THE_FIRST_LINE = {
    *("pydantic_ai", "mcp", "starlette", "anthropic", "openai", "psycopg", "rich", "httpx"),
    *("colleague.runtime.host", "colleague.runtime.local_service", "colleague.runtime.remote_service"),
    *("colleague.agent.main_agent", "colleague.agent.advance", "colleague.agent.tools", "colleague.mcp"),
    *("colleague.plugins.plugin_set", "colleague.sandbox", "colleague.skills", "colleague.channels"),
    *("colleague.experts.runs.assembly", "colleague.experts.install", "colleague.experts.workspace"),
    *(
        "colleague.experts.runs.redacted_report",
        "colleague.runtime.run_events",
        "colleague.event_subscription",
    ),
    *(
        "colleague.store.report",
        "colleague.store.approvals",
        "colleague.store.journal",
        "colleague.store.sweep",
    ),
    *("colleague.hooks.events", "colleague.agent.streaming", "colleague.sessions.changes"),
}
"""What storing a message and naming its run does without."""
VERBS = [
    ["--version"],
    ["--help"],
    ["expert", "--help"],
    ["expert", "list"],
    ["expert", "list", "--json"],
    ["expert", "validate", "--offline", str(EXAMPLE)],
    ["expert", "validate", "--offline", "radiant-sales-expert"],
]


def modules_after(colleague: Colleague, arguments: list[str], *, code: int = 0) -> set[str]:
    """The modules of others that a command has imported, and the folders of ours."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=colleague.environment({}),
    )
    assert done.returncode == code, done.stderr
    return set(done.stderr.rpartition("MODULES")[2].split())


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_a_fast_verb_imports_nothing_heavy(installed: Colleague, arguments: list[str]) -> None:
    loaded = modules_after(installed, arguments)
    assert "colleague" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (
            ["agent", "hi"],
            {
                "colleague.packages.package",
                "colleague.experts.expert",
                "markdown_it",
                "colleague.store.audit",
            },
        ),
        (["expert", "run", "radiant-sales-expert", "say hi"], set()),
    ],
    ids=["agent", "expert run"],
)
def test_the_first_line_of_a_run_needs_no_model_layer(
    installed: Colleague, arguments: list[str], more: set[str]
) -> None:
    """Without a gateway: the run is committed and named before what works on it is imported."""
    (installed.home / "colleague.json").write_text('{"mcp": {"servers": {"office": {"command": "office"}}}}')
    tools = "".join(f"  {name}: office\n" for name in ("crm", "email", "calendar"))
    (installed.expert() / "bindings.yaml").write_text(f"tools:\n{tools}")
    (installed.home / "play.yaml").write_text('{"replies": [{"text": "Good morning."}]}')
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LINE, *arguments, "--model", "script/play.yaml"],
        capture_output=True,
        text=True,
        check=False,
        env=installed.environment({}),
    )
    [told] = [line for line in done.stdout.splitlines() if line.startswith("MODULES")]
    loaded = set(told.split())
    assert "colleague.store.accept" in loaded
    assert not loaded & (AFTER_THE_FIRST_LINE | more)


def test_importing_the_command_does_no_work(tmp_path: Path) -> None:
    """No folder is made, nothing is printed, by the import alone."""
    code = "import colleague.cli.main, colleague.experts.install, colleague.config"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=Colleague(tmp_path / "home").environment({}),
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []

"""What counts as another server, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.config.settings import McpServer
from colleague.mcp.launch_digest import entry_digest, launch_digest

ENTRY: dict[str, Any] = {
    "command": "${BIN}/office",
    "args": ["--db", "a.sqlite"],
    "env": {"KEY": "${OFFICE_KEY}", "MODE": "live"},
}
ENVIRON = {"BIN": "/opt", "OFFICE_KEY": "first"}


def digests(environ: dict[str, str] | None = None, **changes: Any) -> tuple[str, str]:
    server = McpServer.model_validate(ENTRY | changes)
    return launch_digest(server, ENVIRON | (environ or {})), entry_digest(server)


@pytest.mark.parametrize(
    "change",
    [
        {"command": "/opt/other"},
        {"args": ["--db", "b.sqlite"]},
        {"args": ["--db a.sqlite"]},
        {"cwd": "/elsewhere"},
        {"env": {"KEY": "${OTHER_KEY}", "MODE": "live"}},
        {"env": {"KEY": "${OFFICE_KEY}", "MODE": "test"}},
        {"env": ENTRY["env"] | {"LD_PRELOAD": "/tmp/x.so"}},  # noqa: S108 - never opened
        {"command": None, "url": "https://office.example/mcp"},
    ],
    ids=str,
)
def test_another_launch(change: dict[str, Any]) -> None:
    launch, entry = digests(**change)
    assert launch != digests()[0]
    assert entry != digests()[1]


def test_another_value_in_a_command_is_another_launch_of_the_same_entry() -> None:
    launch, entry = digests({"BIN": "/evil"})
    assert launch != digests()[0]
    assert entry == digests()[1]


def test_a_new_key_is_no_change() -> None:
    assert digests({"OFFICE_KEY": "second"}) == digests()


def test_what_may_be_called_is_part_of_the_entry() -> None:
    for change in ({"demo": True}, {"toolFilter": {"exclude": ["send"]}}):
        launch, entry = digests(**change)
        assert launch == digests()[0]
        assert entry != digests()[1]


def test_how_long_it_may_take_is_no_change() -> None:
    assert digests(requestTimeoutMs=1, connectionTimeoutMs=1) == digests()


def test_headers_of_a_url() -> None:
    remote = {"command": None, "args": [], "env": {}, "url": "https://x.example/mcp"}
    plain = digests(**remote)
    assert digests(**remote, headers={"Authorization": "Bearer ${TOKEN}"}) != plain
    assert digests(**remote, transport="sse") != plain

"""No raw word of the code stands where people see how a server is."""

from __future__ import annotations

from typing import get_args

from colleague.gateway.page.render import fragment
from colleague.gateway.page.visitor import Visitor
from colleague.mcp.server import State
from colleague.mcp.state_text import state_cure, state_words
from colleague.settings_document import McpServerDocument


def test_every_state_has_words() -> None:
    words = {state: state_words(state) for state in get_args(State)}
    assert not any("_" in each for each in words.values())
    assert words["needs_login"] == "needs a login"
    assert state_cure("needs_login", "desk") == "colleague mcp login desk"
    assert state_cure("up", "desk") == ""


def test_the_page_says_what_to_do() -> None:
    server: McpServerDocument = {
        "name": "desk",
        "transport": "http",
        "where": "https://example.com/mcp",
        "state": "needs_login",
        "digest": "",
        "tools": None,
        "error": "",
        "findings": [],
        "changes": [],
    }
    visitor = Visitor("ann", "admin", "key")
    shown = fragment("settings_servers.html", visitor, servers=[server], problem="", probe=None)
    assert "needs a login" in shown
    assert "<code>colleague mcp login desk</code>" in shown
    assert ">needs_login<" not in shown

"""colleague demo: with the page where somebody sits at a terminal, and else to its end by itself."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import httpx2
import pytest

from colleague.cli import demo_page
from colleague.cli.demo import has_person
from tests.conftest import Colleague
from tests.typist import typing


@pytest.mark.parametrize("environ", [{}, {"CI": "1"}])
def test_without_a_terminal_nothing_waits_for_anybody(environ: dict[str, str]) -> None:
    assert not has_person(environ)


@pytest.mark.parametrize(
    ("environ", "opens"),
    [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "wayland-0"}, True)],
)
def test_a_browser_is_opened_on_a_desktop(environ: dict[str, str], opens: bool) -> None:
    assert demo_page.has_desktop(environ) is opens


def test_the_page_with_mail_that_keeps_coming(colleague: Colleague, tmp_path: Path) -> None:
    colleague.home.parent.mkdir(exist_ok=True)
    with typing(colleague, "demo", CI="", DISPLAY="", WAYLAND_DISPLAY="", TMPDIR=str(tmp_path)) as typist:
        typist.until("Ctrl-C ends everything")
        found = re.search(r"(http://127\.0\.0\.1:\d+)(/login/\S+)", typist.shown)
        assert found is not None
        with httpx2.Client(base_url=found[1], timeout=120) as client:
            assert client.post(found[2]).status_code == 303
            typist.until("A mail of Sarah Chen")
            assert "Inbox" in client.get("/").text
            assert client.post(found[2]).status_code == 410, "the link works once"
        typist.process.send_signal(signal.SIGINT)
        assert typist.end() == 0
        assert "The demo has ended" in typist.shown
    assert list(tmp_path.glob("colleague-demo-*")) == []

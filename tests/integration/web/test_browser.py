"""`browser`: real Chromium, behind a proxy that knows where it may go."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.browser import downloads
from colleague.agent.browser.browser_tool import BrowserTool, browser_verdict
from colleague.agent.browser.browsers import BrowserPlace, Browsers, missing_browser
from colleague.agent.browser.filter_proxy import FilterProxy
from colleague.agent.pictures.media import MediaRef, load_picture
from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.config.web import WebFetch
from colleague.home import Home
from colleague.web_addresses import AddressRules
from tests.confined import needs_sandbox
from tests.integration.web.site import Site, page, redirect, site
from tests.integration.web.test_web_fetch import dripping, endless

pytestmark = pytest.mark.skipif(bool(missing_browser()), reason=missing_browser())

FORM = page(
    "<title>Ask</title><form action='/sent'><input name=q placeholder='Your question'>"
    "<button>Send</button></form><p>Hello <b>there</b></p>",
    Set_Cookie="who=ada",
)
Browse = Callable[..., Awaitable[ToolOutput]]


@asynccontextmanager
async def browsing(
    home: Path, *allowed: str, seconds: int = 60, top: Path | None = None
) -> AsyncIterator[Browse]:
    async with Browsers() as browsers:

        async def browse(action: str, session: str = "agent:main:main", **arguments: Any) -> ToolOutput:
            settings = WebFetch(allow_private=allowed, timeout_seconds=seconds)
            tool = BrowserTool(Home(home), browsers, session, settings, top)
            return await tool.call(ToolRequest("run", "call", "key", {"action": action, **arguments}))

        yield browse


def test_a_page_is_read_and_acted_on(tmp_path: Path) -> None:
    async def go() -> None:
        async with site(form=FORM, sent=page("Thank you")) as here, browsing(tmp_path, here.host) as browse:
            read = await browse("open", url=here.url("/form"))
            assert "Title: Ask" in read.text
            assert "Hello there" in read.text
            assert "[1] input: Your question\n[2] button: Send" in read.text
            assert read.source == f"web:{here.url('/form')}"
            at = {"page": here.url("/form")}
            stale = await browse("click", element=2, label="Delete all", **at)
            assert "no longer what it was" in stale.text
            stale = await browse("click", element=2, label="Send", page=here.url("/other"))
            assert "the browser is at" in stale.text
            await browse("type", element=1, label="Your question", text="why & how?", **at)
            sent = await browse("click", element=2, label="Send", **at)
            assert "Thank you" in sent.text
            assert "GET /sent?q=why+%26+how%3F " in here.asked[-1]
            assert "who=ada" in here.asked[-1]
            await browse("open", session="agent:main:other:dm:1", url=here.url("/form"))
            assert "who=ada" not in here.asked[-1], "another session has another profile"
            shot = await browse("screenshot")
            sha256 = shot.text.split("media:")[1][:64]
            data = load_picture(Home(tmp_path), MediaRef(sha256, "image/png"))
            assert data is not None
            assert data.startswith(b"\x89PNG")

    asyncio.run(go())


def test_nothing_of_a_page_leads_into_the_machine(tmp_path: Path) -> None:
    async def go() -> Site:
        async with site(secret=page("inside")) as inner, site() as outer:
            port, secret = inner.port, inner.url("/secret")
            outer.answers["/moved"] = redirect(inner.url("/secret"))
            outer.answers["/page"] = page(
                f"<p>shown</p><img src='{secret}'><iframe src='{secret}'></iframe>"
                f"<script>for (const host of ['localhost', '[::1]', '2130706433', '0177.0.0.1', '0.0.0.0'])"
                f"fetch(`http://${{host}}:{port}/secret`, {{mode: 'no-cors'}}).catch(() => 0);"
                f"new WebSocket('ws://127.0.0.1:{port}/secret'); window.open('{secret}')</script>"
            )
            async with browsing(tmp_path, outer.host) as browse:
                assert "shown" in (await browse("open", url=outer.url("/page"))).text
                for url in (inner.url("/secret"), outer.url("/moved"), f"http://2130706433:{port}/secret"):
                    found = await browse("open", url=url)
                    assert found.is_error
                    assert "no public address" in found.text
                for url in (f"https://127.0.0.1:{port}/", "file:///etc/passwd", "chrome://version"):
                    assert (await browse("open", url=url)).is_error
                await asyncio.sleep(0.5)
            return inner

    assert asyncio.run(go()).asked == []


def test_pages_without_end_end(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(b"0 " * 500_000) for _ in range(200)) + packer.flush()

    async def go() -> None:
        answers = {"endless": endless, "drip": dripping, "bomb": page(bomb, Content_Encoding="gzip")}
        async with site(**answers, after=page("fine")) as here:
            async with browsing(tmp_path, here.host, seconds=5) as browse:
                for path in ("/drip", "/endless", "/bomb"):
                    found = await browse("open", url=here.url(path))
                    assert len(found.text) < 100_000
            async with browsing(tmp_path, here.host) as browse:
                assert "fine" in (await browse("open", url=here.url("/after"))).text

    asyncio.run(go())


def test_a_name_that_changes_its_address_wins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = socket.getaddrinfo

    def changing(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "changing.example":
            return real(host, port, *rest, **more)
        asked.append(host)
        address = "127.0.0.1" if len(asked) > 1 else "10.1.2.3"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    async def go() -> tuple[bytes, Site]:
        async with site(a=page("inside")) as here:
            async with FilterProxy(AddressRules(), 1000).serving() as proxy:
                reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.rpartition(":")[2]))
                writer.write(f"CONNECT changing.example:{here.port} HTTP/1.1\r\n\r\n".encode())
                answer = await reader.read()
                writer.close()
            return answer, here

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    answer, here = asyncio.run(go())
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert (asked, here.asked) == (["changing.example"], [])


FILE = page(b"a,b\n1,2\n", "text/csv", Content_Disposition='attachment; filename="evil.csv"')


def test_downloads_stay_in_the_folder_of_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MOST_BYTES", 10_000)
    big = page(b"x" * 20_000, "application/zip", Content_Disposition="attachment; filename=big.zip")
    links = page("<a href='/file'>Get</a>")
    top = tmp_path / "workspace"

    async def go() -> None:
        answers = {"file": FILE, "links": links, "big": big}
        async with site(**answers) as here, browsing(tmp_path, here.host, top=top) as browse:
            said = await browse("open", url=here.url("/file"))
            assert "Downloaded downloads/evil.csv (8 bytes)" in said.text, said.text
            assert "larger than 10,000 bytes" in (await browse("open", url=here.url("/big"))).text
            assert "Downloaded" not in (await browse("open", url=here.url("/links"))).text
            said = await browse("click", page=here.url("/links"), element=1, label="Get")
            deadline = asyncio.get_running_loop().time() + 60
            while "Downloaded" not in said.text and asyncio.get_running_loop().time() < deadline:
                said = await browse("read")
            assert "downloads/evil-2.csv" in said.text, "the first one is not overwritten"

    asyncio.run(go())
    found = sorted(str(each.relative_to(top)) for each in top.rglob("*"))
    assert found == ["downloads", "downloads/evil-2.csv", "downloads/evil.csv"]


def test_no_link_leads_a_download_out(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    top, file = tmp_path / "top", tmp_path / "file"
    top.mkdir()
    file.write_text("x")
    (top / "downloads").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="downloads"):
        downloads.keep_file(file, top, "a.txt")
    (top / "downloads").unlink()
    (top / "downloads").mkdir()
    (top / "downloads/a.txt").symlink_to(tmp_path / "outside/a.txt")
    assert downloads.keep_file(file, top, "a.txt") == "downloads/a-2.txt"
    assert not list((tmp_path / "outside").iterdir())


@needs_sandbox
def test_a_confined_browser_sees_nothing_of_the_machine(tmp_path: Path) -> None:
    """Its process has another root and another network; the address rules hold as outside."""
    (tmp_path / "secret.html").write_text("secret")

    async def go() -> None:
        answers = {"outer": page("outside", Set_Cookie="who=ada"), "file": FILE}
        async with site(**answers) as here, Browsers() as browsers:
            place = BrowserPlace("agent:main:a", AddressRules.of((here.host,)), confined=True)
            seen = await browsers.page(place)
            await seen.goto(here.url("/outer"))
            assert "outside" in await seen.content()
            refused = await seen.goto("http://127.0.0.1:8099/")
            assert refused is not None
            assert refused.status == 403
            with pytest.raises(Exception, match="Download is starting"):
                await seen.goto(here.url("/file"))
            [told] = await browsers.told_downloads(place, 60, expects=True)
            assert told == "evil.csv was not downloaded: this session cannot write files."
            with pytest.raises(Exception, match="ERR_FILE_NOT_FOUND"):
                await seen.goto(f"file://{tmp_path}/secret.html")
            other = await browsers.page(replace(place, session="agent:main:b"))
            assert len({each.process for each in browsers._profiles}) == 2, "each has a process of its own"
            await other.goto(here.url("/outer"))
            last = [each for each in here.asked if each.startswith("GET /outer")][-1]
            assert "who=ada" not in last

    asyncio.run(go())


@pytest.mark.parametrize(
    ("suggested", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        (".bashrc", "bashrc"),
        ("a\nb;$(rm -rf).txt", "a_b__(rm -rf).txt"),
        ("...", "download"),
        ("", "download"),
        ("x" * 300 + ".tar.gz", "x" * 97 + ".gz"),
        ("Übersicht 1.csv", "Übersicht 1.csv"),
    ],
)
def test_names_of_downloads(suggested: str, kept: str) -> None:
    assert downloads.safe_name(suggested) == kept


def test_looking_is_free_and_acting_asks() -> None:
    kinds = {each: browser_verdict({"action": each}).kind for each in ("open", "read", "click", "type", "x")}
    assert kinds == {"open": "allow", "read": "allow", "click": "ask", "type": "ask", "x": "ask"}

"""`web_fetch` against real servers, honest and hostile."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import zlib
from typing import Any

import pytest

from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.agent.web.web_fetch import WebFetchTool
from colleague.config.web import WebFetch
from colleague.web_addresses import AddressRules, is_public
from tests.integration.web.site import Answer, Site, page, redirect, site

ARTICLE = (
    "<html><head><title>On lanes</title><script>alert(1)</script></head><body><nav>Home About</nav><article>"
    "<h1>On lanes</h1><p>A run may start when no earlier unfinished run is in its lane, and waiting is free "
    "for everybody who waits.</p><p>See <a href='/more'>more</a> about it.</p></article></body></html>"
)


def ask(arguments: dict[str, Any], **settings: Any) -> ToolOutput:
    tool = WebFetchTool(WebFetch(**settings))
    return asyncio.run(tool.call(ToolRequest("run", "call", "key", arguments)))


def fetched(path: str, answers: dict[str, Answer], **settings: Any) -> tuple[ToolOutput, Site]:
    """Fetches a path of a site on this machine, which alone is allowed."""

    async def go() -> tuple[ToolOutput, Site]:
        async with site(**answers) as here:
            tool = WebFetchTool(WebFetch(allow_private=(here.host,), **settings))
            return await tool.call(ToolRequest("run", "call", "key", {"url": here.url(path)})), here

    return asyncio.run(go())


def test_a_page_is_read_as_markdown_and_is_data() -> None:
    found, here = fetched("/a?q=1#part", {"a": page(ARTICLE)})
    assert not found.is_error
    assert "Title: On lanes" in found.text
    assert "waiting is free" in found.text
    assert "](/more)" in found.text
    assert "alert" not in found.text
    assert found.source == f"web:{here.url('/a?q=1')}"
    [head] = here.asked
    assert head.startswith("GET /a?q=1 HTTP/1.1\r\n")
    assert not {"cookie:", "authorization:", "proxy-"} & set(head.lower().split())


def test_json_is_laid_out_and_plain_text_is_left() -> None:
    found, _ = fetched("/j", {"j": page(json.dumps({"a": [1, "ü"]}), "application/json")})
    assert ' "a": [\n  1,\n  "ü"\n ]' in found.text
    found, _ = fetched("/t", {"t": page("grün".encode("latin-1"), "text/plain; charset=latin-1")})
    assert found.text.endswith("grün")


def test_packed_bodies_are_unpacked() -> None:
    for name, data in {
        "gzip": gzip.compress(ARTICLE.encode()),
        "deflate": zlib.compress(ARTICLE.encode()),
    }.items():
        found, _ = fetched("/a", {"a": page(data, Content_Encoding=name)})
        assert "waiting is free" in found.text


def test_an_error_of_the_server_is_an_error_with_its_text() -> None:
    found, _ = fetched("/none", {})
    assert found.is_error
    assert "answered 404" in found.text


def test_a_long_page_is_read_on() -> None:
    words = page(" ".join(str(number) for number in range(1000)), "text/plain")
    found, _ = fetched("/w", {"w": words}, max_chars=100)
    assert "[characters 1 to 100 of 3889 shown; read on with offset=101]" in found.text


def test_redirects_are_followed_as_far_as_allowed() -> None:
    answers: dict[str, Answer] = {"a": redirect("/b"), "b": redirect("c"), "c": page("there", "text/plain")}
    assert fetched("/a", answers)[0].text.endswith("there")
    found, here = fetched("/a", answers, max_redirects=1)
    assert found.is_error
    assert "one redirect too many" in found.text
    assert len(here.asked) == 2


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "127.1"),  # noqa: S104
        *("2130706433", "017700000001", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1"),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::127.0.0.1]", "[2002:7f00:1::]"),
        *("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "[ff02::1]"),
        *("[fe80::1]", "[fd00:ec2::254]", "[fec0::1]", "255.255.255.255", "①②⑦.⓪.⓪.①"),
    ],
)
def test_no_spelling_of_a_private_address_is_fetched(host: str) -> None:
    found = ask({"url": f"http://{host}:9/"}, timeout_seconds=20)
    assert found.is_error
    assert "no public address" in found.text or "is no address" in found.text, found.text


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *(("93.184.216.34", True), ("2606:2800:220:1:248:1893:25c8:1946", True)),
        *(("64:ff9b::5db8:d822", True), ("64:ff9b::a00:1", False), ("64:ff9b:1::a00:1", False)),
        *(("::ffff:93.184.216.34", True), ("192.0.2.1", False), ("198.18.0.1", False), ("240.0.0.1", False)),
        *(("2001:db8::1", False), ("2001:0:1::1", False), ("fe80::1%eth0", False), ("192.88.99.1", True)),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_redirect_into_the_machine_is_refused() -> None:
    async def go() -> tuple[ToolOutput, Site]:
        async with site(secret=page("inside", "text/plain")) as inner, site() as outer:
            outer.answers["/a"] = redirect(inner.url("/secret"))
            tool = WebFetchTool(WebFetch(allow_private=(outer.host,)))
            return await tool.call(ToolRequest("run", "call", "key", {"url": outer.url("/a")})), inner

    found, inner = asyncio.run(go())
    assert found.is_error
    assert "no public address" in found.text
    assert inner.asked == []


def test_a_name_that_changes_its_address_wins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer is public, every later one is this machine: nobody asks twice."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def changing(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "changing.example":
            return real(host, port, *rest, **more)
        asked.append(host)
        address = "192.88.99.77" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", changing)

    async def go() -> tuple[ToolOutput, Site]:
        async with site(a=page("inside", "text/plain")) as here:
            tool = WebFetchTool(WebFetch(timeout_seconds=1))
            url = f"http://changing.example:{here.port}/a"
            return await tool.call(ToolRequest("run", "call", "key", {"url": url})), here

    found, here = asyncio.run(go())
    assert found.is_error
    assert (asked, here.asked) == (["changing.example"], [])


def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in ("1.1.1.1", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    found = ask({"url": "http://both.example/"})
    assert "both.example is at 10.0.0.1" in found.text


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    found, _ = fetched("/a", {"a": page("straight", "text/plain")})
    assert found.text.endswith("straight")


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10737418240\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.1)


async def dripping_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(10_000):
        writer.write(f"X-{number}: 1\r\n".encode())
        await writer.drain()
        await asyncio.sleep(0.1)


def test_ten_gigabytes_are_cut() -> None:
    found, _ = fetched("/a", {"a": endless}, max_response_bytes=100_000)
    assert not found.is_error
    assert "[only the first 100,000 bytes were fetched: there is more]" in found.text


@pytest.mark.parametrize("answer", [dripping, dripping_head])
def test_a_slow_drip_ends_in_time(answer: Answer) -> None:
    found, _ = fetched("/a", {"a": answer}, timeout_seconds=1)
    assert found.is_error
    assert "did not answer in full within 1 seconds" in found.text


def test_a_bomb_is_unpacked_only_so_far() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(b"0" * 1_000_000) for _ in range(300)) + packer.flush()
    assert len(bomb) < 500_000
    found, _ = fetched("/a", {"a": page(bomb, "text/plain", Content_Encoding="gzip")})
    assert "[only the first 750,000 bytes were fetched: there is more]" in found.text
    for name in ("br", "zstd", "gzip, gzip"):
        found, _ = fetched("/a", {"a": page(bomb, "text/plain", Content_Encoding=name)})
        assert found.is_error
        assert "is not read" in found.text


def test_what_is_no_text_is_not_shown() -> None:
    for data, kind in (
        (b"\x89PNG\r\n", "image/png"),
        (b"MZ\0\0", "application/octet-stream"),
        (b"abc", "video/mp4"),
    ):
        found, _ = fetched("/a", {"a": page(data, kind)})
        assert found.is_error
        assert "not shown as text" in found.text


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://x/",
            "javascript:alert(1)",
            "//example.com",
            "",
        ),
        *(
            "http://user:secret@example.com/",
            "http://",
            "http://exa mple.com/",
            "http://[::1/",
            "http://a\r\nb/",
        ),
    ],
)
def test_what_is_no_address_on_the_web_is_refused(url: str) -> None:
    found = ask({"url": url})
    assert found.is_error
    assert "secret" not in found.text
    assert "\n" not in found.text


def test_hosts_are_allowed_by_name_and_port() -> None:
    async def judged(*allowed: str) -> list[str]:
        return await AddressRules.of(allowed).addresses("127.0.0.1", 8080)

    assert asyncio.run(judged("127.0.0.1:8080")) == ["127.0.0.1"]
    assert asyncio.run(judged("127.0.0.1")) == ["127.0.0.1"]
    with pytest.raises(Exception, match="no public address"):
        asyncio.run(judged("127.0.0.1:80", "localhost"))

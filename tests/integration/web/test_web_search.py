"""`web_search` against servers that speak as SearXNG and Brave do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.agent.web.search_provider import SearchQuery, WebHit
from colleague.agent.web.search_providers import search_provider
from colleague.agent.web.web_search import WebSearchTool
from colleague.config.web import WebSearch
from colleague.errors import ConfigError
from tests.integration.web.site import Answer, Site, page, redirect, site

SEARXNG = {
    "query": "lanes",
    "results": [
        {
            "url": "https://a.example/",
            "title": "A <b>lane</b>",
            "content": "Waiting &amp; running",
            "engine": "x",
        },
        {"url": "javascript:alert(1)", "title": "bad"},
        {"url": "https://b.example/", "title": "B", "content": None},
    ],
}
BRAVE = {
    "web": {"results": [{"title": "C", "url": "https://c.example/", "description": "<strong>c</strong>"}]}
}


def searched(
    answer: Answer, path: str, settings: Callable[[Site], WebSearch], **arguments: Any
) -> tuple[ToolOutput, Site]:
    async def go() -> tuple[ToolOutput, Site]:
        async with site() as here:
            here.answers[path] = answer
            made = settings(here)
            provider = search_provider(made, {"KEY": "k-1"}, {})
            assert provider is not None
            request = ToolRequest("run", "call", "key", {"query": "lanes & more", **arguments})
            return await WebSearchTool(made, provider).call(request), here

    return asyncio.run(go())


def test_searxng() -> None:
    def settings(here: Site) -> WebSearch:
        return WebSearch(base_url=here.url("/sx/"))

    found, here = searched(page(json.dumps(SEARXNG), "application/json"), "/sx/search", settings)
    assert found.text == (
        "1. A lane\n   https://a.example/\n   Waiting & running\n\n2. B\n   https://b.example/"
    )
    assert (found.source, found.is_error) == ("web_search", False)
    assert here.asked[0].startswith("GET /sx/search?q=lanes+%26+more&format=json ")
    found, _ = searched(page(json.dumps(SEARXNG), "application/json"), "/sx/search", settings, count=1)
    assert "b.example" not in found.text
    found, _ = searched(page("", status="403 Forbidden"), "/sx/search", settings)
    assert found.is_error
    assert "answered 403" in found.text
    assert "search.formats" in found.text


def test_brave() -> None:
    def settings(here: Site) -> WebSearch:
        return WebSearch.model_validate({"apiKey": "${KEY}", "baseUrl": here.url("/res/v1")})

    found, here = searched(page(json.dumps(BRAVE), "application/json"), "/res/v1/web/search", settings)
    assert found.text == "1. C\n   https://c.example/\n   c"
    assert here.asked[0].startswith("GET /res/v1/web/search?q=lanes+%26+more&count=5 ")
    assert "x-subscription-token: k-1\r\n" in here.asked[0]


def test_a_key_is_not_sent_on_to_where_a_provider_redirects() -> None:
    def settings(here: Site) -> WebSearch:
        return WebSearch.model_validate({"apiKey": "${KEY}", "baseUrl": here.url("/a")})

    found, here = searched(redirect("/b"), "/a/web/search", settings)
    assert found.is_error
    assert len(here.asked) == 1
    assert "k-1" not in found.text


@pytest.mark.parametrize("body", ["no json", "[]", '{"results": 5}', '{"results": [5, {"url": 5}]}'])
def test_a_provider_that_answers_nonsense(body: str) -> None:
    found, _ = searched(
        page(body, "application/json"), "/search", lambda here: WebSearch(base_url=here.url(""))
    )
    assert "did not answer with JSON" in found.text or found.text == "[nothing was found]"


class Fixed:
    async def search(self, query: SearchQuery) -> list[WebHit]:
        return [WebHit(query.text, "https://p.example/")]


def test_who_searches() -> None:
    plugins = {"mine": Fixed()}
    assert search_provider(WebSearch(), {}, plugins) is None
    assert search_provider(WebSearch(enabled=False, base_url="http://x"), {}, {}) is None
    assert search_provider(WebSearch(provider="mine"), {}, plugins) is plugins["mine"]
    for wrong in (
        WebSearch(enabled=True),
        WebSearch(provider="brave"),
        WebSearch(provider="searxng"),
        WebSearch(provider="altavista"),
        WebSearch.model_validate({"apiKey": "${UNSET}"}),
    ):
        with pytest.raises(ConfigError, match=r"tools\.web\.search"):
            search_provider(wrong, {}, {})

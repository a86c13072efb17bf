"""The search providers that come with us: SearXNG and Brave."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from colleague.agent.web.fetch import FetchFailed, FetchLimits, fetch
from colleague.agent.web.search_provider import SearchProvider, SearchQuery, WebHit
from colleague.config.secret import resolve
from colleague.config.web import WebSearch
from colleague.errors import ConfigError
from colleague.web_addresses import AddressRules

T = TypeVar("T")

BRAVE = "https://api.search.brave.com/res/v1"
_MOST_BYTES = 4_000_000
_TAG = re.compile(r"<[^<>]{0,200}>")
_MOST_BRAVE = 20


@dataclass(frozen=True)
class Searxng:
    """A SearXNG server of one's own, asked for JSON."""

    base_url: str

    async def search(self, query: SearchQuery) -> Sequence[WebHit]:
        url = f"{self.base_url.rstrip('/')}/search?{urlencode({'q': query.text, 'format': 'json'})}"
        hint = "SearXNG gives JSON where search.formats in its settings.yml has it"
        answer = await _json_at(url, query, {}, hint)
        return _hits(answer.get("results"), "content")[: query.most]


@dataclass(frozen=True)
class Brave:
    """Brave Search, with a key."""

    key: str
    base_url: str = BRAVE

    async def search(self, query: SearchQuery) -> Sequence[WebHit]:
        asked = urlencode({"q": query.text, "count": min(query.most, _MOST_BRAVE)})
        url = f"{self.base_url.rstrip('/')}/web/search?{asked}"
        headers = {"x-subscription-token": self.key, "accept": "application/json"}
        answer = await _json_at(url, query, headers, "look at tools.web.search.apiKey")
        web = answer.get("web")
        return _hits(web.get("results") if isinstance(web, dict) else None, "description")[: query.most]


def search_provider(
    settings: WebSearch, environ: Mapping[str, str], plugins: Mapping[str, SearchProvider]
) -> SearchProvider | None:
    """Who searches; None when nobody is set up. Raises ConfigError for what is set up by half."""
    if settings.enabled is False:
        return None
    name = settings.provider or _implied(settings)
    if name is None:
        if settings.enabled:
            raise ConfigError(
                "tools.web.search: no provider is set", hint="set provider, and baseUrl or apiKey"
            )
        return None
    if name in plugins:
        return plugins[name]
    if name == "searxng":
        return Searxng(_required(settings.base_url, "baseUrl", name))
    if name == "brave":
        key = resolve(_required(settings.api_key, "apiKey", name), environ, key="tools.web.search.apiKey")
        return Brave(key, settings.base_url or BRAVE)
    known = ", ".join(["searxng", "brave", *plugins])
    raise ConfigError(f"tools.web.search.provider: there is no provider {name!r}", hint=f"one of: {known}")


def _implied(settings: WebSearch) -> str | None:
    if settings.api_key is not None:
        return "brave"
    return "searxng" if settings.base_url else None


def _required(value: T | None, key: str, provider: str) -> T:
    if value is None:
        raise ConfigError(f"tools.web.search: {provider} needs {key}", hint=f"set tools.web.search.{key}")
    return value


async def _json_at(url: str, query: SearchQuery, headers: Mapping[str, str], hint: str) -> dict[str, Any]:
    """Asks where a person said; no redirect is followed, since the key would go with it."""
    there = urlsplit(url)
    port = there.port or (443 if there.scheme == "https" else 80)
    rules = AddressRules.of([f"{there.hostname}:{port}"])
    limits = FetchLimits(_MOST_BYTES, redirects=0, seconds=query.seconds)
    answer = await fetch(url, rules, limits, headers)
    if answer.status != 200:
        raise FetchFailed(f"the search provider answered {answer.status}", hint=hint)
    try:
        found = json.loads(answer.body.data)
    except (ValueError, RecursionError):
        raise FetchFailed("the search provider did not answer with JSON", hint=hint) from None
    return found if isinstance(found, dict) else {}


def _hits(results: Any, snippet: str) -> list[WebHit]:
    each = results if isinstance(results, list) else []
    found = [
        WebHit(_plain(item.get("title")), str(item["url"]), _plain(item.get(snippet)))
        for item in each
        if isinstance(item, dict) and isinstance(item.get("url"), str)
    ]
    return [hit for hit in found if hit.url.startswith(("http://", "https://"))]


def _plain(text: Any) -> str:
    """Without the marks that providers put around the words that were looked for."""
    return " ".join(unescape(_TAG.sub("", text)).split()) if isinstance(text, str) else ""

"""The tools of the web that the settings allow."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from colleague.agent.tool import Tool
from colleague.agent.web.search_provider import SearchProvider
from colleague.agent.web.search_providers import search_provider
from colleague.agent.web.web_fetch import WebFetchTool
from colleague.agent.web.web_search import WebSearchTool
from colleague.config import Settings
from colleague.errors import ConfigError
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WebAccess:
    """Gives web_fetch unless it is switched off, and web_search where a provider is set up."""

    environ: Mapping[str, str]
    search_providers: Mapping[str, SearchProvider] = field(default_factory=dict)
    """What plugins bring, by name."""

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        return tuple(self._offered(settings))

    def _offered(self, settings: Settings) -> Iterator[Tool]:
        web = settings.tools.web
        if web.fetch.enabled:
            yield WebFetchTool(web.fetch)
        try:
            provider = search_provider(web.search, self.environ, self.search_providers)
        except ConfigError as error:
            log.warning("web_search is not offered: %s", error.message)
            return
        if provider is not None:
            yield WebSearchTool(web.search, provider)

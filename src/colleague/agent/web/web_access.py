"""The tools of the web that the settings allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from colleague.agent.tool import Tool
from colleague.agent.web.web_fetch import WebFetchTool
from colleague.config import Settings
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry


class WebAccess:
    """Gives web_fetch, unless it is switched off."""

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        return tuple(self._offered(settings))

    def _offered(self, settings: Settings) -> Iterator[Tool]:
        if settings.tools.web.fetch.enabled:
            yield WebFetchTool(settings.tools.web.fetch)

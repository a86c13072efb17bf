"""What every part of the service on an open database has."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from colleague.config import Settings
from colleague.config.status import require_enforced
from colleague.errors import ConfigError
from colleague.experts.runs.preflight import Preflight
from colleague.home import Home
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.origin import Origin
from colleague.run_event import RunEvent
from colleague.store.run import get_run
from colleague.store.tx import Database, Tx
from colleague.user_name import user_name

if TYPE_CHECKING:
    from colleague.agent.main_agent import MainAgent
    from colleague.runtime.host import Host
    from colleague.runtime.run_events import RunSnapshot, RunWatchers
    from colleague.runtime.working_home import HostSource
    from colleague.store.audit import Change
    from colleague.triggers.registry import TriggerRegistry

Source = Literal["command", "api", "page", "chat", "link"]


@dataclass(frozen=True)
class ServiceBase:
    """The open home, and what the service works with."""

    home: Home
    settings: Settings
    database: Database
    registry: TriggerRegistry
    source: Source = "command"
    host: HostSource | None = None
    watchers: RunWatchers | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    unenforced: ConfigError | None = None
    """A restriction in newer settings than these, which nothing enforces."""
    enforced: bool = False
    """Whether the settings were found to hold no such restriction when they were read."""
    hooks: PluginHooks = NO_HOOKS
    main_agent: MainAgent | None = None
    """The agents of a process that works on runs elsewhere than here."""
    serving: Host | None = None
    """The host of a process that works on runs elsewhere than here: its servers and channels."""
    origin: Origin = field(default_factory=lambda: Origin(user_name(), "command"))
    """Who asks, for the audit log."""

    def _note(self, tx: Tx, change: Change, by: str = "") -> None:
        """Writes down what is changed in this transaction; `by` is a name that was given with it."""
        from colleague.store.audit import note_change

        note_change(tx, replace(self.origin, who=by or self.origin.who), change)

    def _audited(self, change: Change, by: str = "") -> Database:
        """The database for one change, which its first write notes."""
        from colleague.store.audit import AuditedDatabase

        return AuditedDatabase(self.database, replace(self.origin, who=by or self.origin.who), change)

    def _require_enforced(self) -> None:
        if self.unenforced is not None:
            raise self.unenforced
        if not self.enforced:
            require_enforced(self.settings)

    @property
    def _preflight(self) -> Preflight:
        return Preflight(self.home, self.settings, self.environ)

    def events(
        self, run_id: str, watchers: RunWatchers | None, *, look_seconds: float | None = None
    ) -> AsyncGenerator[RunEvent | None]:
        """What happens in one run until it is done; None when nothing does for a while."""
        from colleague.runtime.run_events import LOOK_SECONDS, RunReader, run_events

        look = RunReader(
            row=lambda: self.database.read(lambda tx: get_run(tx, run_id)),
            snapshot=lambda: self.database.read(lambda tx: self._snapshot(tx, run_id)),
        )
        return run_events(run_id, look, watchers, look_seconds=look_seconds or LOOK_SECONDS)

    def _snapshot(self, tx: Tx, run_id: str) -> RunSnapshot:
        from colleague.experts.runs.redacted_report import run_report
        from colleague.runtime.run_events import RunSnapshot
        from colleague.store.report import answers_of

        document = run_report(tx, self.home, run_id)
        return RunSnapshot(document, answers_of(tx, run_id) if document["kind"] == "agent" else ())

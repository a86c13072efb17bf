"""state/experts.json: which experts are enabled, and where each came from."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from colleague.errors import ConfigError
from colleague.files import write_atomic
from colleague.home import Home
from colleague.packages.source import Source

MOST_EARLIER = 100


@dataclass(frozen=True)
class Record:
    """What we know of an expert beyond its folder. Triggers are off until it is enabled."""

    enabled: bool = False
    source: Source | None = None
    version: str = ""
    digest: str = ""
    enabled_at: int = 0
    """When it was enabled, in milliseconds; a schedule counts from then."""
    earlier: tuple[tuple[str, int], ...] = ()
    """Digests that a person accepted before `digest`, and until when each counted, in milliseconds."""

    def with_accepted(self, version: str, digest: str) -> Record:
        """The record after a person accepted a version."""
        if digest == self.digest or not self.digest:
            return replace(self, version=version, digest=digest)
        ended = (self.digest, int(time.time() * 1000))
        kept = [each for each in self.earlier if each[0] not in (self.digest, digest)]
        return replace(self, version=version, digest=digest, earlier=(*kept, ended)[-MOST_EARLIER:])

    def accepts_run(self, digest: str, created_at: int) -> bool:
        """Whether a run of this version began while a person's word for it counted.

        A folder that was put back to an earlier version makes new runs. For those it no longer counts."""
        return digest == self.digest or any(
            each == digest and created_at <= until for each, until in self.earlier
        )


def read_records(home: Home) -> dict[str, Record]:
    try:
        data = json.loads(home.registry_file.read_text(encoding="utf-8"))
        return {name: _record(item) for name, item in data["experts"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{home.registry_file} cannot be read: {error}",
            hint="mend or delete it; then enable your experts again",
        ) from None


def write_record(home: Home, name: str, record: Record | None) -> None:
    """Sets, or with None forgets, what is known of one expert. Only while holding the home's expert lock."""
    records = read_records(home)
    records.pop(name, None)
    if record is not None:
        records[name] = record
    document = {"experts": {key: _as_json(records[key]) for key in sorted(records)}}
    # A source may be a URL with a password in it.
    write_atomic(home.registry_file, json.dumps(document, indent=2) + "\n", mode=0o600)


def set_enabled(home: Home, name: str, enabled: bool) -> None:
    record = read_records(home).get(name, Record())
    since = int(time.time() * 1000) if enabled else 0
    since = record.enabled_at if enabled and record.enabled else since
    write_record(home, name, replace(record, enabled=enabled, enabled_at=since))


def _record(item: dict[str, Any]) -> Record:
    source = item.get("source")
    return Record(
        enabled=bool(item["enabled"]),
        source=_source(source) if source else None,
        version=str(item.get("version", "")),
        digest=str(item.get("digest", "")),
        enabled_at=int(item.get("enabled_at", 0)),
        earlier=tuple((str(digest), int(until)) for digest, until in item.get("earlier", {}).items()),
    )


def _source(item: dict[str, Any]) -> Source:
    return Source(item["kind"], item["location"], str(item.get("path", "")), str(item.get("ref", "")))


def _as_json(record: Record) -> dict[str, Any]:
    source = record.source
    return {
        "enabled": record.enabled,
        "source": asdict(source) if source else None,
        "version": record.version,
        "digest": record.digest,
        "enabled_at": record.enabled_at,
        "earlier": dict(record.earlier),
    }

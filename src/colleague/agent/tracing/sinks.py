"""Where lines go: each to its file, or to stderr, written by a thread of its own."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from colleague.agent.tracing.cache_trace import CacheTrace
from colleague.agent.tracing.chat_record import ChatRecord
from colleague.agent.tracing.payload import block, payload, payload_file
from colleague.agent.tracing.raw_stream import Pieces
from colleague.agent.tracing.record import Cleaner, Document
from colleague.agent.tracing.switches import ModelPayload, TraceSwitches
from colleague.agent.tracing.trace_file import TraceFile
from colleague.agent.tracing.trace_writer import TraceWriter
from colleague.agent.tracing.trajectory_folder import TrajectoryFolder

LINES_AT_ONCE = 500


@dataclass(frozen=True)
class TraceSinks:
    """The traces that are switched on. Making, cleaning and writing a line is the thread's work."""

    switches: TraceSwitches = TraceSwitches()
    writer: TraceWriter | None = None
    folder: TrajectoryFolder | None = None
    cache: CacheTrace | None = None

    @classmethod
    def of(cls, switches: TraceSwitches, *, keep_seconds: float | None = None) -> TraceSinks:
        if not switches.any_file:
            return cls(switches)
        folder = switches.trajectories
        return cls(
            switches,
            TraceWriter(),
            TrajectoryFolder(folder, keep_seconds=keep_seconds) if folder else None,
            CacheTrace(switches.cache_trace) if switches.cache_trace else None,
        )

    @property
    def wants_pieces(self) -> bool:
        return self.switches.raw_stream is not None

    def trajectory(self, session_key: str, document: Document, cleaner: Cleaner) -> None:
        folder = self.folder
        if folder is not None and self.writer is not None:
            self.writer.put(lambda: folder.append(session_key, cleaner.line(document)))

    def raw(self, document: Document, cleaner: Cleaner) -> None:
        path = self.switches.raw_stream
        if path is not None:
            self._put(path, document, cleaner)

    def _put(self, path: Path, document: Document, cleaner: Cleaner) -> None:
        if self.writer is not None:
            self.writer.put(lambda: TraceFile(path).append(cleaner.line(document)))

    def chat(self, chat: ChatRecord, pieces: Pieces, cleaner: Cleaner) -> None:
        """A try that has ended."""
        if self.writer is None:
            return
        switches = self.switches
        if switches.raw_stream is not None:
            path = switches.raw_stream
            self.writer.put(lambda: _append_pieces(path, chat, pieces, cleaner))
        if switches.payloads is not None:
            file = payload_file(switches.payloads, chat.model.provider)
            self.writer.put(lambda: TraceFile(file).append(cleaner.line(payload(chat))))
        if self.cache is not None and switches.cache_trace is not None:
            trace, place = self.cache, switches.cache_trace.file
            self.writer.put(lambda: TraceFile(place).append(cleaner.line(trace.document(chat, cleaner))))
        if switches.model_payload is not None:
            mode = switches.model_payload
            self.writer.put(lambda: _show(chat, mode, cleaner))

    def flush(self) -> bool:
        return self.writer is None or self.writer.flush()

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _append_pieces(path: Path, chat: ChatRecord, pieces: Pieces, cleaner: Cleaner) -> None:
    lines = (cleaner.line(document) for document in pieces.documents(chat.about(), cleaner))
    while some := list(islice(lines, LINES_AT_ONCE)):
        TraceFile(path).append("\n".join(some))


def _show(chat: ChatRecord, mode: ModelPayload, cleaner: Cleaner) -> None:
    sys.stderr.write(cleaner.text(block(chat, mode)))
    sys.stderr.flush()

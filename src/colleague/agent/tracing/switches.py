"""Which traces are written, and where: variables of the environment, as OpenClaw has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

TRAJECTORY = "OPENCLAW_TRAJECTORY"
TRAJECTORY_DIR = "OPENCLAW_TRAJECTORY_DIR"
PAYLOAD_LOG = "OPENCLAW_ANTHROPIC_PAYLOAD_LOG"
RAW_STREAM = "OPENCLAW_RAW_STREAM"
RAW_STREAM_PATH = "OPENCLAW_RAW_STREAM_PATH"
CACHE_TRACE = "OPENCLAW_CACHE_TRACE"
CACHE_TRACE_SYSTEM = "OPENCLAW_CACHE_TRACE_SYSTEM"
CACHE_TRACE_PROMPT = "OPENCLAW_CACHE_TRACE_PROMPT"
MODEL_PAYLOAD = "OPENCLAW_DEBUG_MODEL_PAYLOAD"
OTEL = "COLLEAGUE_OTEL"
OTEL_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

ModelPayload = Literal["tools", "summary", "full-redacted"]
MODEL_PAYLOADS: tuple[ModelPayload, ...] = get_args(ModelPayload)

_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


@dataclass(frozen=True)
class CacheTraceSwitch:
    """Where the cache trace goes, and whether it has the texts themselves."""

    file: Path
    system: bool = False
    prompt: bool = False


@dataclass(frozen=True)
class TraceSwitches:
    """What is switched on. A trace without a place is off."""

    trajectories: Path | None = None
    payloads: Path | None = None
    """The folder of one file for each provider."""
    raw_stream: Path | None = None
    cache_trace: CacheTraceSwitch | None = None
    model_payload: ModelPayload | None = None
    otel: bool = False
    problems: tuple[str, ...] = ()
    """Switches that say nothing useful, as sentences."""

    @classmethod
    def of(cls, logs: Path, environ: Mapping[str, str]) -> TraceSwitches:
        """Trajectories are on unless they are switched off, everything else is off unless switched on."""
        folder = _path(environ, TRAJECTORY_DIR) or logs / "trajectory"
        asked = environ.get(MODEL_PAYLOAD, "").strip()
        return cls(
            trajectories=None if environ.get(TRAJECTORY, "").strip().lower() in _OFF else folder,
            payloads=logs if _is_on(environ, PAYLOAD_LOG) else None,
            raw_stream=_raw_stream(logs, environ),
            cache_trace=_cache_trace(logs, environ),
            model_payload=asked if asked in MODEL_PAYLOADS else None,
            otel=_is_on(environ, OTEL) and any(environ.get(name) for name in OTEL_ENDPOINTS),
            problems=tuple(_problems(environ, asked)),
        )

    @property
    def any_file(self) -> bool:
        """Whether anything is written at all, but for spans."""
        return any((self.trajectories, self.payloads, self.raw_stream, self.cache_trace, self.model_payload))

    def sentences(self) -> list[str]:
        """What is on, for people."""
        found = [
            (self.trajectories, f"trajectories in {self.trajectories}"),
            (self.payloads, f"payloads in {self.payloads}/<provider>-payload.jsonl"),
            (self.raw_stream, f"the raw stream in {self.raw_stream}"),
            (self.cache_trace, f"the cache trace in {self.cache_trace and self.cache_trace.file}"),
            (self.model_payload, f"model payloads on stderr ({self.model_payload})"),
            (self.otel, "OpenTelemetry spans"),
        ]
        return [text for on, text in found if on]


def _is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in _ON


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    text = environ.get(name, "").strip()
    return Path(text).expanduser().absolute() if text else None


def _raw_stream(logs: Path, environ: Mapping[str, str]) -> Path | None:
    if not _is_on(environ, RAW_STREAM):
        return None
    return _path(environ, RAW_STREAM_PATH) or logs / "raw-stream.jsonl"


def _cache_trace(logs: Path, environ: Mapping[str, str]) -> CacheTraceSwitch | None:
    if not _is_on(environ, CACHE_TRACE):
        return None
    return CacheTraceSwitch(
        logs / "cache-trace.jsonl",
        _is_on(environ, CACHE_TRACE_SYSTEM),
        _is_on(environ, CACHE_TRACE_PROMPT),
    )


def _problems(environ: Mapping[str, str], model_payload: str) -> Iterator[str]:
    for name in (PAYLOAD_LOG, RAW_STREAM, CACHE_TRACE, CACHE_TRACE_SYSTEM, CACHE_TRACE_PROMPT, OTEL):
        text = environ.get(name, "").strip().lower()
        if text and text not in _ON and text not in _OFF:
            yield f"{name} is {text[:40]!r} and counts as off; set it to 1"
    if model_payload and model_payload not in MODEL_PAYLOADS and model_payload.lower() not in _OFF:
        yield f"{MODEL_PAYLOAD} is {model_payload[:40]!r}; one of: {', '.join(MODEL_PAYLOADS)}"
    if _is_on(environ, OTEL) and not any(environ.get(name) for name in OTEL_ENDPOINTS):
        yield f"{OTEL} is on, and {OTEL_ENDPOINTS[1]} does not say where spans go"

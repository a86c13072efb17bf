"""What a model really received and said, for debugging. Off unless the environment asks for it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.agent.models.messages import to_json
from colleague.files import private_folder, private_opener
from colleague.redaction import redact

if TYPE_CHECKING:
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.request import ThinkRequest
    from colleague.agent.run_spec import RunSpec

SWITCH = "OPENCLAW_ANTHROPIC_PAYLOAD_LOG"
FILE = "anthropic-payload.jsonl"


@dataclass(frozen=True)
class PayloadLog:
    """Appends a line for each answer; without a file it does nothing."""

    file: Path | None = None

    @classmethod
    def of(cls, logs: Path, environ: Mapping[str, str]) -> PayloadLog:
        return cls(logs / FILE if environ.get(SWITCH) == "1" else None)

    def write(self, run_id: str, run_spec: RunSpec, request: ThinkRequest, reply: Reply) -> None:
        if self.file is None:
            return
        model = run_spec.model
        entry = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "run": run_id,
            "model": model.name,
            "system": request.whole_system,
            "tools": [tool.name for tool in request.tools],
            "messages": json.loads(to_json(request.messages)),
            "response": json.loads(to_json([reply.response])),
        }
        private_folder(self.file.parent)
        with open(self.file, "a", encoding="utf-8", opener=private_opener) as file:
            shown = run_spec.private.redact_document(entry)
            file.write(redact(json.dumps(shown, ensure_ascii=False), model.secrets) + "\n")

"""A run in one line, before anything has happened in it."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.config import Settings
from colleague.experts.privacy.public_document import public_document
from colleague.experts.runs.model_name import model_name
from colleague.home import Home
from colleague.run_document import RunHeading
from colleague.runtime.shown_levels import levels_of
from colleague.store.run import Run
from colleague.store.session_entry import find_session
from colleague.store.steps import step_document, steps_of
from colleague.store.tx import Tx


def run_heading(tx: Tx, home: Home, settings: Settings, environ: Mapping[str, str], run: Run) -> RunHeading:
    heading: RunHeading = {
        "id": run.id,
        "expert": run.expert,
        "kind": run.kind,
        "process": run.process,
        "model": run.model,
        "steps": [step_document(step) for step in steps_of(tx, run.id)] if run.process else [],
        "levels": levels_of(settings, run.session_key, find_session(tx, run.session_key)),
    }
    told = public_document(home, run, heading)
    return {**told, "model": model_name(home, settings, environ, told)}

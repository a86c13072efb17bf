"""Sessions and their trajectories, as a person at a terminal names them."""

from __future__ import annotations

import json

from tests.conftest import SALES, Colleague
from tests.office import Office


def test_a_trajectory_is_exported_by_key_or_label_as_an_argument_or_an_option(colleague: Colleague) -> None:
    sales = Office.open(colleague)
    sales.employ(SALES)
    model = sales.play({"text": "Five open deals."})
    assert sales.run(SALES, "What is in the pipeline?", model=model).code == 0
    label = f"expert:{SALES}"

    export = ("session", "export-trajectory")
    texts = [
        colleague.ok(*export, *named).out
        for named in (
            (label,),
            (f"agent:main:{label}",),
            ("--session", label),
            ("--sessionKey", label),
            (label, "--sessionKey", label),
        )
    ]

    assert len(set(texts)) == 1
    records = [json.loads(line) for line in texts[0].splitlines()]
    assert records[0]["type"] == "run"
    assert records[0]["expert"] == SALES
    missing = colleague(*export, "expert:nobody")
    assert (missing.code, missing.out) == (1, "")
    assert "colleague session list" in missing.err
    assert colleague(*export, label, "--session", "main").code == 2
    assert "there is no session 'agent:main:main'" in colleague(*export).err


def test_a_message_that_nobody_works_on_is_not_called_started(colleague: Colleague) -> None:
    colleague.ok("init")
    (colleague.home / "hi.yaml").write_text("replies: [{text: Hi.}]\n")
    sent = colleague.ok("session", "send", "main", "hello", "--model", "script/hi.yaml")
    assert "stored in agent:main:main" in sent.out
    assert "nobody works on it: colleague serve, or colleague run resume" in sent.out

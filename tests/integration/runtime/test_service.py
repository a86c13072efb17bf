"""What the two implementations of the service answer: the same, on both databases."""

from __future__ import annotations

import re
from typing import Any

from colleague.run_document import RunDocument, short
from colleague.run_event import RunEvent
from colleague.runtime.requests import DecisionAnswer, DecisionRequest, RunRequest, decided_runs
from colleague.runtime.service import Service
from tests.integration.experts.package import CLERK
from tests.integration.runtime.served import Served, followed, refusal, rested

BOOKKEEPER = RunRequest("bookkeeper", process="work")
SAID = ("message_end", "tool_execution_end")
TOLD = ("tool_execution_start", "tool_execution_end")


def told(events: list[RunEvent]) -> list[Any]:
    """The calls and how the run stood, in order."""
    found: list[Any] = []
    for event in events:
        if event.kind in TOLD:
            found.append((event.kind, event.data.get("operation"), event.data.get("status")))
        elif event.kind == "run_status" and event.data["status"] not in ("queued", "running"):
            found.append(event.data["status"])
    return found


class TestDecisions:
    def test_each_is_answered_by_itself(self, served: Served) -> None:
        answers, document = served.run(self.decide)
        one, two, _ = document["approvals"]
        found = [
            (answer.refusal.code, answer.refusal.message) if answer.refusal else answer.approval["decision"]
            for answer in answers
            if answer.approval or answer.refusal
        ]
        assert found[0] == "approve"
        assert found[1] == ("not-found", "there is no approval 'ffff-none'")
        assert found[2] == (
            "wrong-digest",
            f"approval {short(two)} has another digest than the one you decided on",
        )
        code, message = found[3]
        assert code == "already-decided"
        assert re.fullmatch(
            rf"approval {short(one)} was approved by ann already, at \d{{4}}-\d\d-\d\dT[\d:+]+", message
        )
        assert found[4] == ("bad-request", "'abc' is too short for an id")
        assert found[5] == ("wrong-decision", "done is no answer to a question of kind confirm")
        assert found[6] == "respond"
        assert decided_runs(answers) == [document["id"]]

    async def decide(self, service: Service) -> tuple[list[DecisionAnswer], RunDocument]:
        document = await rested(service, BOOKKEEPER)
        one, two, three = document["waiting_on"]
        requests = [
            DecisionRequest(one, "approve", "ann"),
            DecisionRequest("ffff-none", "approve", "ann"),
            DecisionRequest(two, "approve", "ann", digest="another"),
            DecisionRequest(short(one), "reject", "bob"),
            DecisionRequest("abc", "approve", "ann"),
            DecisionRequest(two, "done", "ann"),
            DecisionRequest(three, "respond", "ann", answer='"leave it"'),
        ]
        answers = await service.decide(requests)
        return answers, await service.run(document["id"])

    def test_a_grant_comes_with_its_words(self, served: Served) -> None:
        async def work(service: Service) -> list[DecisionAnswer]:
            document = await rested(service, BOOKKEEPER)
            one, two, three = document["waiting_on"]
            return await service.decide(
                [
                    DecisionRequest(one, "approve", "ann", grant_ms=0),
                    DecisionRequest(two, "reject", "ann", grant_ms=0),
                    DecisionRequest(three, "approve", "ann", grant_ms=0, grant_only=("colour",)),
                ]
            )

        given, rejected, wrong = served.run(work)
        assert given.grant is not None
        assert given.grant.covers.startswith("ledger.append of bookkeeper on the server ledger")
        assert rejected.refusal is not None
        assert rejected.refusal.message == "a grant spares a confirm, and this is reject"
        assert wrong.refusal is not None
        assert wrong.refusal.message == "the call has no argument 'colour'"
        assert (rejected.grant, wrong.grant) == (None, None)


class TestFollowing:
    def test_until_it_waits_and_until_it_is_done(self, served: Served) -> None:
        first, second = served.run(self.follow)
        assert told(first) == [
            ("tool_execution_start", "ledger.look", None),
            ("tool_execution_end", "ledger.look", "finished"),
            ("tool_execution_end", "ledger.burn", "refused"),
            "waiting",
        ]
        assert told(second)[-4:] == [
            ("tool_execution_start", "ledger.append", None),
            ("tool_execution_end", "ledger.append", "finished"),
            ("tool_execution_end", "ledger.append", "answered"),
            "done",
        ]

    async def follow(self, service: Service) -> tuple[list[RunEvent], list[RunEvent]]:
        accepted = await service.start(BOOKKEEPER)
        run_id = str(accepted.run_id)
        first = await followed(service, run_id)
        one, two, three = (await service.run(run_id))["waiting_on"]
        await service.decide(
            [
                DecisionRequest(one, "approve", "ann"),
                DecisionRequest(two, "approve", "ann"),
                DecisionRequest(three, "respond", "ann", answer='"leave it"'),
            ]
        )
        return first, await followed(service, short(run_id))

    def test_one_who_comes_late_is_told_the_same(self, served: Served) -> None:
        async def work(service: Service) -> tuple[list[RunEvent], list[RunEvent]]:
            accepted = await service.start(BOOKKEEPER)
            return await followed(service, str(accepted.run_id)), await followed(
                service, str(accepted.run_id)
            )

        first, again = served.run(work)
        assert told(first) == told(again)

    def test_the_words_of_the_main_agent_are_told_whenever_one_comes(self, served: Served) -> None:
        async def work(service: Service) -> list[list[Any]]:
            accepted = await service.say("What is there?", model="script/talk.yaml")
            run_id = str(accepted.run_id)
            found = [await followed(service, run_id), await followed(service, run_id)]
            assert (await service.run(run_id))["turns"] == 2
            return [
                [
                    event.data.get("text") or event.data.get("operation")
                    for event in events
                    if event.kind in SAID
                ]
                for events in found
            ]

        told_once = ["Let me look.", "ls", "Nothing there."]
        assert served.run(work) == [told_once, told_once]

    def test_what_stands_behind_a_waiting_run_rests(self, served: Served) -> None:
        async def work(service: Service) -> tuple[RunDocument, RunDocument]:
            task = RunRequest("bookkeeper", task="Write the lines.")
            return await rested(service, task), await rested(service, task)

        first, second = served.run(work)
        assert (first["status"], second["status"]) == ("waiting", "queued")
        assert (second["blocked_by"], second["waiting_on"]) == (first["id"], [])
        ahead = {"id": first["id"], "status": "waiting", "trouble": None, "retry_at": None}
        assert (second["ahead"], first["ahead"]) == (ahead, None)


class TestRefusals:
    def test_are_the_same_sentences(self, served: Served) -> None:
        found = served.run(self.refused)
        root = str(served.house.root)
        sentences = [(code, message.replace(root, "HOME")) for code, message, _ in found]
        assert sentences == [
            (1, "there is no expert 'nobody' in HOME"),
            (2, "say what to do: task or process"),
            (1, "clerk has no process 'wrok'"),
            (2, 'the inputs of work do not fit: id: 5 is not of type "string"'),
            (2, "the message is empty"),
            (2, "the message has 100001 characters, and at most 100000 are taken"),
            (1, "there is no run 'ffffffff'"),
            (2, "'ff' is too short for an id"),
            (1, "there is no approval 'ffffffff'"),
            (1, "there is no grant 'ffffffff'"),
            (1, "clerk has no trigger 'ordre'"),
            (1, "there is no run 'ffffffff'"),
        ]

    async def refused(self, service: Service) -> list[tuple[int, str, str]]:
        return [
            await refusal(service.start(RunRequest("nobody", task="Hello"))),
            await refusal(service.start(RunRequest(CLERK))),
            await refusal(service.start(RunRequest(CLERK, process="wrok"))),
            await refusal(service.start(RunRequest(CLERK, process="work", inputs={"id": 5}))),
            await refusal(service.say("  ")),
            await refusal(service.say("a" * 100_001)),
            await refusal(service.run("ffffffff")),
            await refusal(service.cancel("ff", "why")),
            await refusal(service.approval("ffffffff")),
            await refusal(service.revoke("ffffffff")),
            await refusal(service.fire(CLERK, "ordre", {})),
            await refusal(service.drop("ffffffff", "ann")),
        ]


class TestSmallChanges:
    def test_a_trigger_and_a_run(self, served: Served) -> None:
        assert served.run(self.change) == [
            (True, False),
            (None, True),
            1,
            None,
            ("completed", "nothing to retry"),
            (True, False),
            "cancelled",
        ]

    async def change(self, service: Service) -> list[Any]:
        paused = await service.pause(CLERK, "order", "ann"), await service.pause(CLERK, "order", "ann")
        held = await service.fire(CLERK, "order", {"id": "1"})
        again = await service.fire(CLERK, "order", {"id": "1"})
        released, not_paused = await service.resume(CLERK, "order"), await service.resume(CLERK, "order")
        done = await rested(service, RunRequest(CLERK, task="Do it."))
        _, message, _ = await refusal(service.retry(done["id"]))
        waiting = await rested(service, BOOKKEEPER)
        cancelled = (
            await service.cancel(short(waiting["id"]), "enough"),
            await service.cancel(waiting["id"], "enough"),
        )
        return [
            paused,
            (held.run_id, again.duplicate),
            released,
            not_paused,
            (done["outcome"], message[-16:]),
            cancelled,
            (await service.run(waiting["id"]))["outcome"],
        ]


def test_the_document_is_the_same(served: Served) -> None:
    async def work(service: Service) -> RunDocument:
        return await rested(service, RunRequest(CLERK, process="work", inputs={"id": "7"}))

    document = served.run(work)
    assert set(document) == set(RunDocument.__annotations__)
    assert (document["model"], document["inputs"], document["narrative"]) == (
        "script/play.yaml",
        {"id": "7"},
        "It is done.",
    )
    assert (document["trouble"], document["blocked_by"]) == (None, None)

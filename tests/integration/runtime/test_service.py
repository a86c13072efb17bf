"""What the two implementations of the service answer: the same, on both databases."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from typing import Any

from colleague.run_document import RunDocument, short
from colleague.run_event import RunEvent
from colleague.runtime.expert_service import BindRequest, SourceRequest, UpdateRequest
from colleague.runtime.requests import (
    DecisionAnswer,
    DecisionRequest,
    ForkRequest,
    MessageRequest,
    RunRequest,
    SentMessage,
    decided_runs,
)
from colleague.runtime.service import Service
from colleague.session_event import SessionEvent
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import BINDINGS
from tests.integration.runtime.served import Served, followed, refusal, rested
from tests.office import call, finished, step

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
        assert found[6] == ("bad-request", "respond needs an answer")
        assert found[7] == "respond"
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
            DecisionRequest(three, "respond", "ann", answer='" "'),
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


class TestForks:
    def test_a_fork_is_told_of_and_follows_its_own_work(self, served: Served) -> None:
        replies = [call("ledger.look", line=""), step(1), call("ledger.put", line="one"), finished(steps=2)]
        (served.house.root / "fork.yaml").write_text(json.dumps({"replies": replies}))
        first, fork, events = served.run(self.fork)
        assert (first["outcome"], fork["outcome"], fork["model"]) == (
            "completed",
            "completed",
            first["model"],
        )
        assert (fork["forked_from"], fork["dry_run"]) == ({"id": first["id"], "step": 2}, "strict")
        assert first["forks"] == [{"id": fork["id"], "step": 2}]
        begun = [event.data["operation"] for event in events if event.kind == "tool_execution_start"]
        assert "ledger.look" not in begun
        assert (served.house.root / "book.txt").read_text() == "one\n"

    async def fork(self, service: Service) -> tuple[RunDocument, RunDocument, list[RunEvent]]:
        asked = RunRequest("bookkeeper", process="work", model="script/fork.yaml")
        first = (await rested(service, asked))["id"]
        accepted = await service.fork(ForkRequest(first[-8:], 2, dry_run="strict"))
        events = await followed(service, str(accepted.run_id))
        return await service.run(first), await service.run(str(accepted.run_id)), events

    def test_what_cannot_be_forked(self, served: Served) -> None:
        code, sentence, hint = served.run(self.refused)[0]
        assert (code, sentence.partition(" ")[2].partition(" ")[2]) == (
            2,
            "has no step 0: there are steps 1 to 2",
        )
        assert hint.startswith("see them with: colleague run show ")

    async def refused(self, service: Service) -> list[tuple[int, str, str]]:
        run_id = (await rested(service, BOOKKEEPER))["id"]
        task = (await rested(service, RunRequest(CLERK, "count the apples")))["id"]
        found = [
            await refusal(service.fork(asked))
            for asked in (ForkRequest(run_id, 0), ForkRequest(run_id, 2), ForkRequest(task, 1))
        ]
        assert "never reached step 2: the last one it reached is step 1 (Look at the book)" in found[1][1]
        assert found[1][2] == f"begin there: colleague run fork {short(run_id)} --from-step 1"
        assert (found[2][0], "is a free task" in found[2][1]) == (1, True)
        assert (await refusal(service.fork(ForkRequest("ffff-none", 1))))[1] == "there is no run 'ffff-none'"
        turn = await service.say("Hello.", model="script/talk.yaml")
        assert (
            "is a turn of a conversation"
            in (await refusal(service.fork(ForkRequest(str(turn.run_id), 1))))[1]
        )
        return found


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


class TestSessions:
    def test_talking_changing_and_resetting(self, served: Served) -> None:
        served.house.play({"text": "It is done."}, {"text": "It is done."})
        assert served.run(self.talk) == {
            "queued": ["started", "started", "denied"],
            "reason": "the send policy denies it: the session itself",
            "event": ("skipped", "the send policy denies it: the session itself"),
            "said": ["Hello.", "It is done.", "Again.", "It is done."],
            "after": ["It is done."],
            "label": ("trip/2027", "agent:main:telegram:dm:7"),
            "sessions": ["agent:main:telegram:dm:7", "agent:main:main"],
            "stopped": {"run_id": None, "dropped": 0, "children": 0},
            "reset": ([], ["Hello.", "It is done.", "Again.", "It is done."], ["ann"]),
            "status": ("idle", 4),
        }

    async def talk(self, service: Service) -> dict[str, Any]:
        key, label = "agent:main:telegram:dm:7", "trip/2027"
        await service.session("agent:main:main")
        sent = [await self.said(service, key, "Hello.")]
        named = await service.change_session(key, {"label": label, "thinking": "low"})
        sent.append(await self.said(service, label, "Again."))
        await service.change_session(label, {"send_policy": "deny", "thinking": None})
        sent.append(await service.send(label, MessageRequest("Not this.", model="script/play.yaml")))
        event = await service.event(sent[2].event_id)
        found = {
            "queued": [each.queued for each in sent],
            "reason": sent[2].reason,
            "event": (event["outcome"], event["reason"]),
            "said": [each["text"] for each in await service.items(label)],
            "after": [each["text"] for each in await service.items(key, after=3, limit=1)],
            "label": (named["label"], named["key"]),
            "sessions": [each["key"] for each in await service.sessions()],
            "stopped": await service.stop_session(label, "ann"),
        }
        await service.reset_session(label, "ann")
        [archive] = await service.archives(key)
        before = await service.items(key, archive=archive["id"])
        document = await service.session(label)
        now = await service.items(label)
        found["reset"] = (now, [each["text"] for each in before], [archive["ended_by"]])
        found["status"] = (document["status"], document["positions"])
        return found

    async def said(self, service: Service, session: str, text: str) -> SentMessage:
        sent = await service.send(session, MessageRequest(text, model="script/play.yaml"))
        await followed(service, str(sent.run_id))
        return sent

    def test_shortening(self, served: Served) -> None:
        """A conversation with the main agent, and one with an expert that remembers it."""
        house = served.house
        house.bind(BINDINGS | {"session": "persistent"})
        summary = {"when": "Summarise this conversation", "text": "Ann likes the number K-77-Z."}
        script = {"replies": [summary, *[{"text": "abcd-" * 1000}] * 9], "context_window": 24_000}
        (house.root / "play.yaml").write_text(json.dumps(script))
        compaction = {"keepRecentTokens": 500, "memoryFlush": {"enabled": False}}
        house.configure(agents={"defaults": {"compaction": compaction}})

        async def talk(service: Service) -> list[tuple[Any, ...]]:
            return [await self.shortened(service, each) for each in ("main", f"expert:{CLERK}")]

        for said, error, compactions in served.run(talk):
            assert (error, compactions) == (None, 1)
            assert said.startswith("The conversation was shortened")

    async def shortened(self, service: Service, session: str) -> tuple[Any, ...]:
        await service.change_session(session, {"model": "script/play.yaml"})
        for text in ("I like K-77-Z.", "Again."):
            await self.said(service, session, text)
        sent = await service.compact_session(session, "keep the number")
        await followed(service, str(sent.run_id))
        run = await service.run(str(sent.run_id))
        return run["narrative"], run["error"], (await service.session(session))["compaction_count"]

    def test_watching(self, served: Served) -> None:
        live, again = served.run(self.watch)
        assert live["messages"] == ["Hello.", "Let me look.", "Nothing there."]
        assert again == ["Let me look.", "Nothing there."]
        assert live["positions"] == [1, 2, 3]
        assert live["statuses"][0] == "idle"
        assert live["statuses"][-1] == "idle"
        assert set(live["statuses"]) <= {"idle", "queued", "running"}  # as far as one looks in time
        assert live["told"] == ["Let me look.", "ls", "Nothing there.", "done"]

    async def watch(self, service: Service) -> tuple[dict[str, Any], list[str]]:
        key = "agent:main:main"
        found: list[SessionEvent] = []
        ready = asyncio.Event()

        async def look() -> None:
            latest = {"session_status": "", "run_status": ""}
            async with contextlib.aclosing(service.watch_session(key)) as events:
                async for event in events:
                    found.append(event)
                    ready.set()
                    if event.kind in latest:
                        latest[event.kind] = event.data["status"]
                    if latest == {"session_status": "idle", "run_status": "done"}:
                        return

        async with asyncio.timeout(240):
            watching = asyncio.create_task(look())
            await ready.wait()
            sent = await service.send(key, MessageRequest("Hello.", model="script/talk.yaml"))
            await followed(service, str(sent.run_id))
            await watching
            again: list[str] = []
            async with contextlib.aclosing(service.watch_session(key, 1)) as events:
                async for event in events:
                    if event.kind == "session_status":
                        break
                    again.append(event.data["text"])
        return self.watched(found), again

    def watched(self, events: list[SessionEvent]) -> dict[str, Any]:
        messages = [each for each in events if each.kind == "message"]
        told = [
            each.data.get("text") or each.data.get("operation") or each.data.get("status")
            for each in events
            if each.kind in SAID or (each.kind == "run_status" and each.data["status"] == "done")
        ]
        return {
            "messages": [each.data["text"] for each in messages],
            "positions": [each.position for each in messages],
            "statuses": [each.data["status"] for each in events if each.kind == "session_status"],
            "told": told,
        }

    def test_what_is_refused(self, served: Served) -> None:
        found = served.run(self.refused)
        assert found == [
            (1, "there is no session with the label 'nobody', and it is no session key"),
            (1, "there is no session 'telegram:dm:9'"),
            (1, "there is no agent 'ghost'"),
            (1, "there is no agent 'ghost'"),
            (2, "the label has 65 characters; 64 at most are allowed"),
            (1, "the label 'ours' belongs to agent:main:telegram:dm:1 already"),
            (2, "a session has no 'colour' to set"),
            (2, "the message is no text: there is binary data in it"),
            (2, "there is no queue mode 'loud'"),
            (1, "no model configured"),
            (1, "there is no archive 'ffff' of agent:main:main"),
        ]

    async def refused(self, service: Service) -> list[tuple[int, str]]:
        one, two = "telegram:dm:1", "telegram:dm:2"
        await service.change_session(one, {"label": "ours"})
        answers = [
            await refusal(service.session("nobody")),
            await refusal(service.items("telegram:dm:9")),
            await refusal(service.send("agent:ghost:main", MessageRequest("Hello."))),
            await refusal(service.change_session("agent:ghost:main", {"label": "x"})),
            await refusal(service.change_session(two, {"label": "a" * 65})),
            await refusal(service.change_session(two, {"label": "ours"})),
            await refusal(service.change_session(two, {"colour": "red"})),
            await refusal(service.send(one, MessageRequest("GIF\0\x01"))),
            await refusal(service.send(one, MessageRequest("Hello.", queue_mode="loud"))),
            await refusal(service.send(one, MessageRequest("Hello."))),
            await refusal(service.items("agent:main:main", archive="ffff")),
        ]
        return [(code, message) for code, message, _ in answers]


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


class TestTools:
    def test_which_layer_decided(self, served: Served) -> None:
        found, all_of_them, gone = served.run(self.look)
        assert (found["tool"], found["offered"], found["tier"]) == ("write", True, "auto")
        assert found["decided_by"] == {"layer": "profile", "rule": "tools.profile is not set"}
        assert found in all_of_them
        assert gone == (1, "there is no tool 'no.such'", "see them with: colleague tool list")

    async def look(self, service: Service) -> Any:
        gone = await refusal(service.tool("main", "no.such"))
        return await service.tool("main", "write"), await service.tools("main"), gone


class TestExperts:
    def test_looked_at_and_changed(self, served: Served) -> None:
        found = served.run(self.work)
        assert found["names"] == ["bookkeeper", CLERK]
        assert found["seen"] == ("second", False, ["ledger"])
        assert found["refused"] == (1, "bookkeeper is not what you looked at any more", "look at it again")
        assert found["checked"] == ["tool-unbound"]
        assert found["tools"] == {"ledger": "ledger"}
        assert found["unbound"] == (1, "second cannot be enabled: tool 'ledger' is bound to nothing")
        assert found["enabled"] == (True, False)
        assert found["current"] is True
        assert found["gone"] == "there is no expert 'second'"

    async def work(self, service: Service) -> dict[str, Any]:
        found: dict[str, Any] = {"names": [each["name"] for each in await service.experts()]}
        asked = SourceRequest((await service.expert("bookkeeper"))["source"], name="second")
        seen = await service.preview_source(asked)
        found["seen"] = (seen["name"], seen["taken"], seen["tools"])
        found["refused"] = await refusal(service.install_expert(asked, "0" * 64))
        await service.install_expert(asked, seen["digest"])
        found["checked"] = [each["code"] for each in (await service.check_expert("second"))["findings"]]
        found["unbound"] = (await refusal(service.enable_expert("second")))[:2]
        await service.bind_tool("second", BindRequest("ledger", "ledger"))
        found["tools"] = (await service.expert("second"))["tools"]
        enabled = await service.enable_expert("second")
        await service.disable_expert("second")
        found["enabled"] = (enabled["enabled"], (await service.expert("second"))["enabled"])
        found["current"] = (await service.preview_update("second", UpdateRequest()))["current"]
        assert (await service.expert_activity("second"))["lanes"] == []
        assert await service.learnings("second") == {"learned": [], "proposed": []}
        assert await service.expert_files("second") == []
        assert (await service.bindable("second"))["servers"] == ["ledger"]
        assert (await service.expert_prompt("second"))["sections"][0]["name"] == "Identity"
        await service.unbind_tool("second", "ledger")
        await service.remove_expert("second", purge=True)
        found["gone"] = (await refusal(service.expert("second")))[1].partition(" in ")[0]
        return found

"""A conversation on a terminal: what is typed is sent, what happens in the session is shown."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from colleague.cli.approval_view import question_lines
from colleague.cli.approve_each import CHOICES, decision_of
from colleague.cli.argument_edit import ArgumentEdit
from colleague.cli.chat.attachments import with_files
from colleague.cli.chat.completer import ChatCompleter
from colleague.cli.chat.questions import Questions
from colleague.cli.chat.screen import Screen
from colleague.cli.chat.slash import TerminalCommands, TerminalReply
from colleague.cli.chat.turn_view import TurnView
from colleague.cli.decide import WHAT_IT_DID
from colleague.cli.output import CROSS, TICK, plain
from colleague.cli.run_view import EMPTY, is_empty
from colleague.cli.session_view import call_text, media_of
from colleague.errors import ColleagueError, DatabaseUnavailable
from colleague.run_document import ApprovalDocument, RunDocument, short
from colleague.runtime.requests import DecisionRequest, MessageRequest, SentMessage
from colleague.session_document import is_stopped
from colleague.session_text import NOT_WHOLE, WHAT_BECAME, model_text, stopped_text
from colleague.sessions.slash_command import PlainMessage, parse_line
from colleague.silent_answer import shown_answer

if TYPE_CHECKING:
    from colleague.cli.client import Client
    from colleague.home import Home
    from colleague.session_document import ItemDocument, SessionDocument
    from colleague.session_event import SessionEvent

TROUBLE = (ColleagueError, DatabaseUnavailable)
SHORTEST_LOOK, LONGEST_LOOK = 0.1, 1.5
QUESTION_SECONDS = 1.0
TOLD_SECONDS = 15.0
"""How long nothing is looked at while the session tells of itself."""
NEWS = ("message", "session_status", "approval_requested", "approval_decided", "run_status", "gateway_back")
TICK_SECONDS = 0.5
EARLIER = 6
"""How many items of the conversation so far are shown at the beginning."""


async def talk_on_a_terminal(using: Client, home: Home, name: str) -> str:
    """Until the person leaves; the run that is at work then, if any."""
    chat = Chat(using, home)
    with chat.screen.open():
        while name:
            name = await chat.talk(await _made(using, name))
    return chat.run_id


async def _made(using: Client, name: str) -> str:
    """The key of a session, which is there from now on."""
    return (await using.service.change_session(name, {}))["key"]


class Chat:
    """One terminal, and one session after another."""

    def __init__(self, using: Client, home: Home) -> None:
        self._using, self._service, self._home = using, using.service, home
        self._by = getpass.getuser()
        self._completer = ChatCompleter(home)
        home.state.mkdir(parents=True, exist_ok=True)
        self.screen = Screen(
            home.state / "chat-history", self._completer, on_stop=self._on_stop, on_key=self._on_key
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self.run_id = ""
        """The turn that is at work."""

    def _begin(self, key: str) -> None:
        self._key = key
        self._questions = Questions(self._service, key)
        self._asked: list[ApprovalDocument] = []
        self._responding: ApprovalDocument | None = None
        self._commands = TerminalCommands(self._service, self._home, key, self._questions, self._by)
        self._view = TurnView(self.screen, works=self._using.works)
        self._position = 0
        self._sent: list[str] = []
        self._unsent = ("", "")
        """The last line that was to be sent, and the key by which it is known when it is sent again."""
        self._followed: set[str] = set()
        self._done_here: set[str] = set()
        """Sources of items about what was decided or stopped here, which was said already."""
        self._edits: dict[str, ArgumentEdit] = {}
        self._trouble = ""
        self._news, self._question_news = asyncio.Event(), asyncio.Event()
        self._is_told = False
        """Whether the session tells of itself; else it is looked at again and again."""
        self.run_id = ""

    async def talk(self, key: str) -> str:
        """In one session; the name of the one to go on in, or nothing."""
        self._begin(key)
        await self._greet()
        reading = asyncio.create_task(self._read())
        beside = (self._listen(), self._watch(), self._watch_questions(), self._tick())
        tasks = [reading, *map(asyncio.create_task, beside)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return reading.result()
        finally:
            for task in [*tasks, *self._tasks]:
                task.cancel()
            await asyncio.gather(*tasks, *self._tasks, return_exceptions=True)
            self.screen.ask({})
            self.screen.busy("")
            self.screen.under_way("")
            for edit in self._edits.values():
                if kept := edit.end(decided=False):
                    self.screen.line(f"  {kept}")

    async def _greet(self) -> None:
        session = await self._service.session(self._key)
        name = f"{session['label']} ({self._key})" if session["label"] else self._key
        model = model_text(session)
        self.screen.line(" · ".join(filter(None, (name, model, "/help shows the commands, Ctrl-D leaves"))))
        self._position = max(0, session["positions"] - EARLIER)
        if session["run_id"] is None:
            await self._show_items()
        await self._update_offers()

    async def _read(self) -> str:
        while True:
            try:
                typed = await self.screen.read()
            except EOFError:
                return ""
            if self._responding is not None:
                await self._say_problem(self._respond(typed))
                continue
            reply = await self._answer(typed)
            if reply.leaves or reply.session:
                return reply.session
            self._news.set()

    async def _answer(self, typed: str) -> TerminalReply:
        """What came of a line; what is wrong with it is said."""
        reply = TerminalReply()
        try:
            meant = parse_line(typed)
            if isinstance(meant, PlainMessage):
                await self._send(meant.text, typed)
            else:
                reply = await self._commands.run(meant)
                self.screen.line("\n".join(reply.lines), "") if reply.lines else None
                await self._update_offers()
                if reply.message:
                    await self._send(reply.message, reply.message)
        except TROUBLE as error:
            self._trouble = error.message
            self._say_error(error)
        return reply

    async def _send(self, text: str, typed: str) -> None:
        """What could not be sent is in the prompt again. Sent once more, it arrives once."""
        try:
            message = with_files(text, Path.cwd(), self._home)
            for each in message.attachments:
                self.screen.line(f"  with {each['name']}")
            if self._unsent[0] != typed:
                self._unsent = (typed, token_hex(16))
            once = f"chat:{self._unsent[1]}"
            request = MessageRequest(message.text, attachments=message.attachments, dedupe_key=once)
            before, sent = self.run_id, await self._service.send(self._key, request)
        except TROUBLE:
            self.screen.draft = typed
            raise
        self._unsent = ("", "")
        self._sent.append(message.text)
        if sent.queued == "interrupted":
            self._done_here.add(f"stop:{before}")
        await self._say_sent(sent)

    async def _say_sent(self, sent: SentMessage) -> None:
        if sent.run_id:
            self.run_id = sent.run_id
            self.screen.busy("thinking")
            self._news.set()
        if sent.duplicate:
            self.screen.line("  it had arrived already")
        elif sent.queued != "started":
            self.screen.line(f"  {await self._what_became(sent)}")
        for problem in sent.problems:
            self.screen.line(f"  {CROSS} {problem}")

    async def _what_became(self, sent: SentMessage) -> str:
        if sent.queued in WHAT_BECAME:
            return WHAT_BECAME[sent.queued]
        event = await self._service.event(sent.event_id)
        return f"{CROSS} Your message was {sent.queued}: {event['reason']}"

    async def _listen(self) -> None:
        """News of the session wake those who show it."""
        while True:
            with contextlib.suppress(*TROUBLE):
                async with contextlib.aclosing(self._service.watch_session(self._key)) as events:
                    async for event in events:
                        self._hear(event)
            self._is_told = False
            await asyncio.sleep(LONGEST_LOOK)

    def _hear(self, event: SessionEvent) -> None:
        self._is_told = event.kind != "gateway_lost"
        if event.kind in NEWS:
            self._news.set()
            self._question_news.set()
        elif event.kind == "gateway_lost":  # whoever watches looks at once, and says so
            self._news.set()

    async def _rest(self, news: asyncio.Event, pause: float) -> None:
        """Until there are news, or for so long; longer where the session tells of itself."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TOLD_SECONDS if self._is_told else pause):
                await news.wait()
        news.clear()

    async def _watch(self) -> None:
        """Shows one turn after another, whoever began it."""
        pause = SHORTEST_LOOK
        while True:
            try:
                session = await self._service.session(self._key)
                if await self._follow_next(session):
                    pause = SHORTEST_LOOK
                    continue
                await self._show_items()
                if not self._news.is_set():  # else a turn may have begun since the session was looked at
                    self.screen.busy("")
                if self._trouble:
                    self.screen.line(f"  {TICK} it answers again", "green")
                self._trouble = ""
            except TROUBLE as error:
                self._say_trouble(error)
                pause = LONGEST_LOOK
            pause = SHORTEST_LOOK if self._news.is_set() else min(LONGEST_LOOK, pause * 1.5)
            await self._rest(self._news, pause)

    async def _follow_next(self, session: SessionDocument) -> bool:
        """False when there is no turn to follow now."""
        run_id = session["run_id"]
        if run_id is None or (session["status"] == "waiting" and run_id in self._followed):
            return False
        self._followed.add(run_id)
        await self._show_items()
        self.run_id = run_id
        self.screen.busy("thinking")
        try:
            document = await self._follow(run_id)
        finally:
            self.screen.busy("")
        self.run_id = "" if document["status"] == "done" else run_id
        await self._after(document)
        return True

    async def _follow(self, run_id: str) -> RunDocument:
        self._view.begin(await self._service.heading(run_id))
        async with contextlib.aclosing(self._service.follow([run_id])) as events:
            async for event in events:
                self._view.show(event)
        document = await self._service.run(run_id)
        self._view.end(document)
        return document

    async def _after(self, document: RunDocument) -> None:
        if document["status"] == "done" and document["outcome"] not in ("completed", "cancelled"):
            self.screen.line(f"{CROSS} {document['error']}", "red")
        elif (shown := shown_answer(document["narrative"] or "")).silent:
            self.screen.line(f"  the agent has nothing to say ({shown.token})")
        elif document["kind"] == "expert" and document["status"] == "done" and shown.text:
            self.screen.answer(shown.text)
        elif is_empty(document):
            self.screen.line(f"  {EMPTY}")
        await self._look_for_questions()

    async def _show_items(self) -> None:
        """What was said that no turn has shown: by others, or in a turn that was over before we looked."""
        for item in await self._service.items(self._key, after=self._position):
            self._position = item["position"]
            if item["role"] == "user" and item["text"] in self._sent:
                self._sent.remove(item["text"])
            elif item["role"] == "event" and {item["source"], f"stop:{item['run_id']}"} & self._done_here:
                continue
            elif item["run_id"] not in self._followed or item["role"] != "assistant":
                self._show_item(item)
            elif is_stopped(item):
                self.screen.line(f"  {NOT_WHOLE}")

    def _show_item(self, item: ItemDocument) -> None:
        if item["role"] == "user":
            self.screen.line(f"› {item['text']}", "bold dim")
        elif item["role"] == "event":
            self.screen.line(f"  {item['text']}")
        elif text := shown_answer(item["text"]).text:
            self.screen.answer(text)
        if is_stopped(item):
            self.screen.line(f"  {NOT_WHOLE}")
        for media in media_of(item):
            self.screen.line(f"  media: {plain(media)}")
        for call in item["calls"]:
            self.screen.line(f"  {call_text(call)}")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.screen.tick()

    async def _watch_questions(self) -> None:
        while True:
            with contextlib.suppress(*TROUBLE):
                await self._look_for_questions()
            await self._rest(self._question_news, QUESTION_SECONDS)

    async def _look_for_questions(self) -> None:
        fresh = await self._questions.new()
        self._asked += fresh
        if fresh:
            self._ask_next(shown=len(self._asked) > len(fresh))

    def _ask_next(self, *, shown: bool = False) -> None:
        """Shows the first question; `shown`: it stands there already."""
        if not self._asked:
            self.screen.ask({})
            return
        approval = self._asked[0]
        if not shown:
            self.screen.line("\n".join(_question(approval)), "")
        self.screen.ask(CHOICES[approval["kind"]] | {"s": "[s]kip"})

    def _on_key(self, key: str) -> None:
        if not self._asked:
            return
        approval = self._asked[0]
        if key == "s":
            self._asked.pop(0)
            self.screen.line(f"  {short(approval['id'])} waits: /approve or /reject {short(approval['id'])}")
            self._ask_next()
        elif key == "r":
            self._responding, self.screen.asking = approval, "Tell the agent: "
        elif key == "e":
            self._do(self._edit(approval))
        else:
            self._do(self._decide(decision_of(key, approval, self._by)))

    async def _respond(self, text: str) -> None:
        approval, self._responding = self._responding, None
        self.screen.asking = ""
        if approval is not None and text.strip():
            answer = json.dumps(text.strip(), ensure_ascii=False)
            await self._decide(replace(decision_of("r", approval, self._by), answer=answer))

    async def _edit(self, approval: ApprovalDocument) -> None:
        edit = self._edits.setdefault(approval["id"], ArgumentEdit(approval))
        changes: Any = await self.screen.aside(edit.changes)
        if not changes:
            self.screen.line("  nothing was changed, so nothing was decided")
            return
        await self._decide(replace(decision_of("e", approval, self._by), changes=changes))

    async def _decide(self, request: DecisionRequest) -> None:
        [answer] = await self._service.decide([request])
        if answer.refusal is not None:
            self.screen.line(f"{CROSS} {answer.refusal.message}", "red")
            if answer.refusal.code == "wrong-arguments":
                return
        elif answer.approval is not None:
            self._done_here.add(f"approval:{answer.approval['id']}")
            if edit := self._edits.pop(answer.approval["id"], None):
                edit.end(decided=True)
            did = WHAT_IT_DID[answer.approval["decision"] or ""]
            self.screen.line(f"{TICK} {plain(answer.approval['operation'])}: {did}", "green")
        self._asked = [each for each in self._asked if each["id"] != request.approval]
        self._ask_next()
        self._news.set()

    def _on_stop(self) -> None:
        self._do(self._stop())

    async def _stop(self) -> None:
        stopped = await self._service.stop_session(self._key, self._by)
        self._done_here.add(f"stop:{stopped['run_id']}")
        self._view.say(f"  {stopped_text(stopped)}")
        self._news.set()

    def _do(self, work: Awaitable[None]) -> None:
        task = asyncio.create_task(self._say_problem(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _say_problem(self, work: Awaitable[None]) -> None:
        try:
            await work
        except TROUBLE as error:
            self._say_error(error)

    def _say_error(self, error: ColleagueError | DatabaseUnavailable) -> None:
        self.screen.line(f"{CROSS} {error.message}", "red")
        if error.hint:
            self.screen.line(f"  {error.hint}")

    def _say_trouble(self, error: ColleagueError | DatabaseUnavailable) -> None:
        """Once, however often it is met."""
        if error.message != self._trouble:
            self._trouble = error.message
            self._say_error(error)

    async def _update_offers(self) -> None:
        found = await self._service.sessions(limit=50)
        self._completer.sessions = [each["label"] or each["key"] for each in found]
        self._completer.approvals = [short(each["id"]) for each in await self._questions.open()]


def _question(approval: ApprovalDocument) -> list[str]:
    """Without the commands, which are keys here, and the digest, which is sent along."""
    head, *rest = [each for each in question_lines(approval) if not each.startswith("  digest ")]
    return [head, *(each for each in rest if not each.lstrip().startswith("colleague "))]

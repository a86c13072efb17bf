"""The first visit: from an empty home to the first decided question, step by step, on the page alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from colleague.agent.models.model_list import list_models
from colleague.errors import ColleagueError, UsageError
from colleague.experts.launch_acceptance import find_entry
from colleague.experts.practice import EXPERT, OFFICE, TRIGGER, PracticeSetup, receive_mail
from colleague.experts.runs.inputs import REHEARSAL
from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import Gateway, GatewayDep
from colleague.gateway.page.form import Form, FormDep
from colleague.gateway.page.inbox_list import Question, read_question
from colleague.gateway.page.render import page, redirect
from colleague.gateway.page.visitor import Visitor, VisitorDep
from colleague.store.approvals import approvals_of
from colleague.store.record import columns_of, record
from colleague.store.report import brief_document
from colleague.store.run import Run
from colleague.store.sql import select
from colleague.store.tables import runs
from colleague.store.tx import Tx

router = APIRouter(include_in_schema=False)

SENDER = "Sarah Chen <sarah.chen@acme.example>"
SUBJECT = "Pricing for 40 seats"
BODY = """Hi Tom,

we have budget approval now. Could you send us a price for 40 seats, billed by the year?
We would like to decide by the end of the month.

Sarah"""
LONGEST_MAIL = 20_000
ModelName = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True)
class Progress:
    """How far the first visit has come."""

    model: str
    installed: bool
    bound: bool
    run: dict[str, Any] | None
    question: Question | None
    decided_by: str

    @property
    def step(self) -> int:
        """The first that is not done, counted from one; six when all are."""
        done = (self.model or self.installed, self.installed, self.bound, self.run, self.decided_by)
        return next((number for number, each in enumerate(done, 1) if not each), len(done) + 1)


@router.get("/welcome")
async def show_first_visit(visitor: VisitorDep, gateway: GatewayDep, model: ModelName = "") -> HTMLResponse:
    return await _welcome_page(gateway, visitor, model)


@router.get("/welcome/step")
async def show_step(visitor: VisitorDep, gateway: GatewayDep) -> HTMLResponse:
    """The part that loads again by itself while the expert works."""
    return page("first_visit_steps.html", visitor, **await _data(gateway, "", ""))


@router.post("/welcome/model")
async def choose_model(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    _require_admin(visitor)
    model = form.get("model", "")
    if model not in (REHEARSAL, *await _models(gateway)):
        return await _welcome_page(gateway, visitor, "", "there is no such model: pick one of these")
    return await _welcome_page(gateway, visitor, model)


@router.post("/welcome/install")
async def install(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    model = form.get("model", "")

    def work(practice: PracticeSetup) -> None:
        practice.install(model)

    return await _done(gateway, visitor, work, model)


@router.post("/welcome/office")
async def bind_office(visitor: VisitorDep, _: FormDep, gateway: GatewayDep) -> Response:
    """Adds the office, accepts it as whoever adds a server does, and binds the expert's tools to it."""
    _require_admin(visitor)
    practice = _practice(gateway)
    try:
        await asyncio.to_thread(practice.add_office)
        await gateway.live.look()
        entry = find_entry(gateway.live.settings, OFFICE)
        await gateway.service.accept_server(OFFICE, entry.digest, visitor.name)
        await gateway.live.look()
    except ColleagueError as error:
        return await _welcome_page(gateway, visitor, "", error.message)
    return await _done(gateway, visitor, PracticeSetup.bind)


@router.post("/welcome/mail")
async def send_mail(visitor: VisitorDep, form: FormDep, gateway: GatewayDep) -> Response:
    """Lets a mail arrive in the office, and wakes the expert as a mailbox would."""
    _require_admin(visitor)
    practice = _practice(gateway)
    try:
        sender, subject, body = _mail(form)
        payload = await asyncio.to_thread(receive_mail, practice.database, sender, subject, body)
        await gateway.service.fire(EXPERT, TRIGGER, payload)
    except ColleagueError as error:
        return await _welcome_page(gateway, visitor, "", error.message)
    return _next()


def _mail(form: Form) -> tuple[str, str, str]:
    subject, body = (form.get(name, "").strip().replace("\r\n", "\n") for name in ("subject", "body"))
    if not subject or not body or len(subject) + len(body) > LONGEST_MAIL:
        raise UsageError(f"a mail has a subject and a text, of at most {LONGEST_MAIL} characters")
    return SENDER, " ".join(subject.split()), body


async def _done(
    gateway: Gateway, visitor: Visitor, work: Callable[[PracticeSetup], None], model: str = ""
) -> Response:
    _require_admin(visitor)
    try:
        await asyncio.to_thread(work, _practice(gateway))
    except ColleagueError as error:
        return await _welcome_page(gateway, visitor, model, error.message)
    finally:
        await gateway.registry.renew()
    return _next()


async def _welcome_page(gateway: Gateway, visitor: Visitor, model: str, problem: str = "") -> HTMLResponse:
    return page("first_visit.html", visitor, **await _data(gateway, model, problem))


async def _data(gateway: Gateway, model: str, problem: str) -> dict[str, Any]:
    mail = {"sender": SENDER, "subject": SUBJECT, "body": BODY}
    progress = await _progress(gateway, model)
    return {
        "progress": progress,
        "models": await _models(gateway) if progress.step == 1 else [],
        "rehearsal": REHEARSAL,
        "mail": mail,
        "problem": problem,
        "full": True,
    }


async def _progress(gateway: Gateway, model: str) -> Progress:
    practice = _practice(gateway)
    installed, bound = await asyncio.to_thread(lambda: (practice.expert is not None, practice.bound))
    run, waiting, decided_by = await gateway.database.read(_first_run)
    question = await read_question(gateway, waiting) if waiting else None
    return Progress(model, installed, bound, run, question, decided_by)


def _first_run(tx: Tx) -> tuple[dict[str, Any] | None, str, str]:
    """The first run of the example, the question of it that waits, and who decided one."""
    query = select(*columns_of(Run, runs)).where(runs.c.expert == EXPERT).order_by(runs.c.created_at).limit(1)
    row = tx.one(query)
    if row is None:
        return None, "", ""
    run = record(Run, row)
    asked = [each for each in approvals_of(tx, run.id) if each.kind != "draft"]
    waiting = next((each.id for each in asked if each.status == "pending"), "")
    decided = next((each.decided_by for each in asked if each.decided_by), "") or ""
    return dict(brief_document(run)), waiting, decided


async def _models(gateway: Gateway) -> list[str]:
    """Those that could be asked now."""
    settings, environ, folder = gateway.live.settings, gateway.environ, gateway.home.root
    listed = await asyncio.to_thread(lambda: list_models(settings, environ, folder=folder))
    return [each.name for each in listed if not each.problem and each.key != "missing"]


def _practice(gateway: Gateway) -> PracticeSetup:
    return PracticeSetup(gateway.home, gateway.live.settings.workspace)


def _require_admin(visitor: Visitor) -> None:
    if not visitor.is_admin:
        raise ApiError(403, "not-allowed", "only an admin sets up experts")


def _next() -> Response:
    return redirect("/welcome")

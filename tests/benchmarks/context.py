"""What it costs to decide what a model is shown: assembling a turn with its prompt, fitting a transcript,
and a whole turn early and late in a session, by a process that knows the session and by one that does not.

Usage: context.py [--messages N]"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from tests.integration.context.desk import Desk, Reader

from colleague.agent.context.budget import ContextBudget
from colleague.agent.context.prune import pruned
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.unit import MessageUnit
from colleague.agent.context.view import view_of
from colleague.agent.models.resolved import ResolvedModel
from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.home import Home
from colleague.runtime.host import open_host
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.run import get_run
from colleague.store.sqlite import SqliteDatabase

GOALS = {"fit ms": 10.0, "late / early": 1.3}
ROUNDS = 30
SAID = "Please tell me what you know about the herons of the northern lakes. " * 3


async def timed(act: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
    """Milliseconds of computing, the median: what else the machine does, and its disk, count for nothing."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        await act()
        times.append((time.process_time() - began) * 1000)
    return statistics.median(times)


async def assembling(folder: Path) -> float:
    """A turn of the main agent of a fresh home: prompt, tools, policy."""
    folder.mkdir()
    (folder / "play.yaml").write_text(json.dumps({"replies": [{"text": "Hello."}]}))
    settings = {"agents": {"defaults": {"model": "script/play.yaml"}}}
    (folder / "colleague.json").write_text(json.dumps(settings))
    home = Home(folder)
    loaded = load_settings(home)
    async with open_host(home, loaded) as host:
        key, message = SessionKey.for_main(), SessionMessage("hello")
        sent = await host.database.write(lambda tx: send_message(tx, loaded, key, message))
        run = await host.database.read(lambda tx: get_run(tx, str(sent.run_id)))
        return await timed(lambda: host.advancer.assembler.assemble(run))


async def fitting(messages: int) -> float:
    """From units to what is sent: limits, pruning, the summary, pairs of calls and results."""
    units = [
        unit
        for seq in range(messages // 2)
        for unit in (
            MessageUnit.of((seq, 0), [ModelRequest(parts=[UserPromptPart(SAID)])], opens=True),
            MessageUnit.of((seq, 1), [ModelResponse(parts=[TextPart("I know this and that.")])]),
        )
    ]
    rules = ContextRules()
    model = ResolvedModel("test", "reader", context_window=1_000_000, base_url="http://x")

    async def fit() -> None:
        budget = ContextBudget.of(model, rules)
        view = view_of(units, None, longest_opening=1000)
        shown = pruned(view.units, rules.pruning, budget, datetime.now(UTC))
        if view.tokens <= (budget.limit or 0) and len(shown) == len(units):
            _ = view.messages

    return await timed(fit)


async def turns(folder: Path, messages: int) -> tuple[float, float, float]:
    """A turn at message 10, at the last message, and the first of a process that has just begun."""
    folder.mkdir()
    database = SqliteDatabase(folder / "colleague.sqlite", SystemClock())
    try:
        desk = Desk(database, model=Reader(), window=32_000)
        for _ in range(5):
            await desk.say(SAID)
        early = await timed(lambda: desk.say(SAID))
        for _ in range(messages // 2 - 5 - ROUNDS):
            await desk.say(SAID)
        late = await timed(lambda: desk.say(SAID))
        cold = await timed(lambda: Desk(database, model=Reader(), window=32_000).say(SAID), 10)
        return early, late, cold
    finally:
        await database.close()


async def measure(messages: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"assembling a turn        {await assembling(folder / 'home'):8.2f} ms")
        fit = await fitting(messages)
        print(f"fitting {messages:5} messages   {fit:8.2f} ms (goal: {GOALS['fit ms']:.0f})")
        early, late, cold = await turns(folder / "talk", messages)
        print(f"a turn at message 10     {early:8.2f} ms")
        print(f"a turn at message {messages:5}  {late:8.2f} ms")
        print(f"the same, just started   {cold:8.2f} ms")
        print(f"late / early             {late / early:8.2f} (goal: {GOALS['late / early']})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=1000)
    asyncio.run(measure(parser.parse_args().messages))

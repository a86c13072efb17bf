"""Beginning or going on with a session, from whatever its transcript says."""

from __future__ import annotations

from colleague.agent.loop import loop
from colleague.agent.session import Session


async def converse(session: Session, *, begun: bool = True) -> None:
    """Goes on until a LoopExit is raised. `begun`: whether there may be something to load."""
    conversation, opening = session.conversation, session.run_spec.opening
    if begun:
        await conversation.load()
    if conversation.is_empty:
        conversation.say(await opening.first(conversation.run))
    elif conversation.attempt_is_new:
        conversation.say(await opening.again(conversation.run, await conversation.last_error()))
    await loop(session)

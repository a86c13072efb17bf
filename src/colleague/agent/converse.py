"""Beginning or going on with a session, from whatever its transcript says."""

from __future__ import annotations

from colleague.agent.loop import loop
from colleague.agent.session import Scene


async def converse(scene: Scene, *, begun: bool = True) -> None:
    """Goes on until an Ending is raised. `begun`: whether there may be something to load."""
    conversation, words = scene.conversation, scene.setting.words
    if begun:
        await conversation.load()
    if conversation.is_empty:
        conversation.say(await words.first(conversation.run))
    elif conversation.attempt_is_new:
        conversation.say(await words.again(conversation.run, await conversation.last_error()))
    await loop(scene)

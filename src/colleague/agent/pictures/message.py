"""The pictures that a person's message brings or refers to."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from colleague.agent.pictures.header import PictureError
from colleague.agent.pictures.media import MediaRef, keep_picture
from colleague.agent.pictures.picture import MOST_BYTES, checked_picture, shown_name
from colleague.agent.pictures.references import Reference, references
from colleague.agent.tools.path import MissingPath, PathError
from colleague.agent.tools.tree import Tree
from colleague.home import Home

if TYPE_CHECKING:
    from pydantic_ai.messages import UserContent

MOST_PICTURES = 10
"""In one message."""
MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Attachment:
    """A file that came with a message: its bytes, or without them its path in the agent's tree.

    What the sender calls its media type is not asked for: the bytes say what it is."""

    name: str
    data: bytes | None = None
    path: str = ""


@dataclass(frozen=True)
class KeptPicture:
    """A picture of a message, which lies under its hash in the home."""

    name: str
    sha256: str
    media_type: str
    width: int
    height: int
    size: int

    @property
    def label(self) -> str:
        """Names it in a text, for people and for models."""
        kind = self.media_type.partition("/")[2]
        return f"[picture {self.name}: {kind}, {self.width} x {self.height}, {self.size:,} bytes]"

    @property
    def ref(self) -> MediaRef:
        return MediaRef(self.sha256, self.media_type)


@dataclass(frozen=True)
class MessagePictures:
    """What was found. `problems` are sentences about what was left out, for the person and the model."""

    pictures: tuple[KeptPicture, ...] = ()
    problems: tuple[str, ...] = ()

    def to_json(self) -> str | None:
        """As it is stored with the message; None when there is nothing to store."""
        if not (self.pictures or self.problems):
            return None
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | None) -> MessagePictures:
        data = json.loads(text or "{}")
        pictures = tuple(KeptPicture(**each) for each in data.get("pictures", ()))
        return cls(pictures, tuple(data.get("problems", ())))

    def content(self, text: str) -> str | list[UserContent]:
        """What the model is told, for a UserPromptPart: the text, then each picture with its name."""
        from pydantic_ai.messages import ImageUrl

        if not (self.pictures or self.problems):
            return text
        parts: list[UserContent] = [text] if text else []
        for each in self.pictures:
            url = ImageUrl(each.ref.url, media_type=each.media_type, identifier=each.sha256[:12])
            parts += [each.label, url]
        return parts + [f"[not shown: {problem}]" for problem in self.problems]


def find_pictures(
    home: Home, tree: Tree, text: str, attachments: Sequence[Attachment] = ()
) -> MessagePictures:
    """Finds the pictures of a message and keeps them in the home. It reads files: call it in a thread.

    How a turn uses it:

    1. Before a message is committed, `found = await asyncio.to_thread(find_pictures, home, tree, text,
       attachments)`, with the tree of the agent that gets it. The pictures are on disk when it returns, so no
       committed message names one that is not there. Store `found.to_json()` with the message and tell the
       sender `found.problems`.
    2. When the turn opens, `MessagePictures.from_json(stored).content(text)` is the content of its
       UserPromptPart. In the transcript a picture is a reference of about 250 characters.
    3. Right before each request, in a thread, `shown_pictures(home, messages, model)`
       (`pictures/request.py`), with the model that is asked now. What it returns is sent
       and never stored or logged: do it where the tool names become the provider's, below the payload log.
    4. Where people read the transcript, `plain_text(part.content)` (`pictures/request.py`)."""
    finder = _Finder(home, tree)
    for attachment in attachments:
        finder.attach(attachment)
    for reference in references(text):
        finder.refer(reference)
    return finder.result()


class _Finder:
    """Collects the pictures of one message, each once."""

    def __init__(self, home: Home, tree: Tree) -> None:
        self._home, self._tree = home, tree
        self._pictures: dict[str, KeptPicture] = {}
        self._problems: dict[str, None] = {}

    def attach(self, attachment: Attachment) -> None:
        if attachment.data is None:
            self.refer(Reference(attachment.path or attachment.name, explicit=True))
        else:
            self._add(attachment.name, attachment.data)

    def refer(self, reference: Reference) -> None:
        name = shown_name(reference.target)
        if reference.is_web:
            return self._refuse(f"{name} is on the web and was not fetched.")
        path = self._inside(reference.target)
        if path is None:
            return self._refuse(f"{name} is outside of the agent's folder. Attach it to the message.")
        try:
            content = self._tree.read(path, most=MOST_BYTES)
        except MissingPath:
            return self._refuse(f"There is no {name}.") if reference.explicit else None
        except PathError as error:
            return self._refuse(error.message)
        except OSError as error:
            return self._refuse(f"{name} cannot be read: {error.strerror}.")
        return self._add(content.path, content.data)

    def _inside(self, target: str) -> str | None:
        """The path in the tree; None outside of it, where nobody looks whether something is there."""
        path = os.path.expanduser(target) if target.startswith("~/") else target  # noqa: PTH111 - stays text
        return self._tree.inside(os.path.normpath(path)) if path.startswith(("/", "~")) else path

    def _add(self, name: str, data: bytes) -> None:
        try:
            picture = checked_picture(name, data)
        except PictureError as error:
            return self._refuse(error.message)
        header, key = picture.header, picture.sha256
        if key in self._pictures:
            return None
        if len(self._pictures) >= MOST_PICTURES:
            return self._refuse(f"{picture.name} is one too many: {MOST_PICTURES} in a message is the most.")
        keep_picture(self._home, data, header.media_type)
        self._pictures[key] = KeptPicture(
            picture.name, key, header.media_type, header.width, header.height, len(data)
        )
        return None

    def _refuse(self, sentence: str) -> None:
        self._problems[sentence] = None

    def result(self) -> MessagePictures:
        problems = [*self._problems]
        if len(problems) > MOST_PROBLEMS:
            left = len(problems) - MOST_PROBLEMS
            problems = [*problems[:MOST_PROBLEMS], f"{left:,} more pictures were left out."]
        return MessagePictures(tuple(self._pictures.values()), tuple(problems))

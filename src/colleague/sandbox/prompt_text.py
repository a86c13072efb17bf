"""What the prompt of a sandboxed session says about its sandbox."""

from __future__ import annotations

from colleague.sandbox.backend import INSIDE
from colleague.sandbox.session_sandbox import SessionSandbox

_FILES = {
    "none": "It has a folder of its own, which is not the workspace of the person; what is in it may be "
    "removed when nobody uses it for a while, so put results into your answer.",
    "ro": "It is the workspace, and nothing in it can be changed.",
    "rw": "It is the workspace.",
}


def sandbox_text(sandbox: SessionSandbox | None) -> str:
    """Empty for a session without a sandbox."""
    if sandbox is None:
        return ""
    network = "reach the network" if sandbox.network else "have no network"
    disk = f", {sandbox.disk_mb} MB in all its files" if sandbox.has_own_folder else ""
    return (
        f"Your commands and file tools run in a sandbox. Commands know its folder as {INSIDE}. "
        f"{_FILES[sandbox.access]} Commands {network}; they see programs and no other files. "
        f"Limits: {sandbox.memory_mb} MB of memory, {sandbox.file_mb} MB for a file{disk}. "
        "What must run outside needs elevated, which asks a person each time; do not try to get around it."
    )

"""The settings of sandboxes: which sessions run in one, and what it gives them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from colleague.config.section import (
    Flag,
    FreeForm,
    Int,
    PathText,
    Positive,
    Section,
    keys,
    not_yet,
    restricts,
    works,
)
from colleague.config.tool_lists import ToolLists


class SandboxPrune(Section):
    idle_hours: Int = not_yet(default=24, description="Hours without use after which a sandbox is removed.")
    max_age_days: Int = not_yet(default=7, description="Days after which a sandbox is removed.")


class Sandbox(Section):
    passed_over = keys("perSession sessionToolsVisibility ssh")

    mode: Literal["off", "non-main", "all"] = works(
        default="off", description="Which sessions run in a sandbox."
    )
    scope: Literal["session", "agent", "shared"] = works(default="agent", description="Who shares a sandbox.")
    workspace_access: Literal["none", "ro", "rw"] = works(
        default="none", description="What a sandbox may do with the workspace."
    )
    workspace_root: PathText | None = works(
        default=None, description="Where sandboxes keep files of their own; state/sandboxes when not set."
    )
    network: Flag = works(default=False, description="Whether commands in it reach the network.")
    memory_mb: Positive = works(default=2048, description="Megabytes of memory for each of its processes.")
    file_mb: Positive = works(default=1024, description="Megabytes of the largest file it may write.")
    tmp_mb: Positive = works(default=256, description="Megabytes of its /tmp, which is in memory.")
    backend: Literal["auto", "bubblewrap", "docker"] = restricts(
        default="auto",
        harmless=lambda backend: backend == "bubblewrap",
        description="What confines: bubblewrap, which auto is as well. There are no containers yet.",
    )
    docker: FreeForm = not_yet(
        default_factory=dict, description="Container options, as in OpenClaw. There are no containers yet."
    )
    browser: FreeForm = not_yet(default_factory=dict, description="Browser options, as in OpenClaw.")
    tools: ToolLists = Field(default_factory=ToolLists, description="Tools inside a sandbox.")
    prune: SandboxPrune = Field(default_factory=SandboxPrune, description="When sandboxes are removed.")

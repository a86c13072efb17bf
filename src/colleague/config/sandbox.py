"""The settings of sandboxes: which sessions run in one, and what it gives them."""

from collections.abc import Mapping
from typing import Literal

from colleague.config.section import (
    Flag,
    Int,
    Names,
    Number,
    PathText,
    Positive,
    Section,
    Variable,
    keys,
    part,
    works,
)
from colleague.config.tool_lists import ToolLists


class SandboxPrune(Section):
    idle_hours: Int = works(
        default=24, description="Hours without use after which a sandbox's own folder is removed; 0 is never."
    )
    max_age_days: Int = works(
        default=7, description="Days after which it is removed, once nothing works in it; 0 is never."
    )


class SandboxDocker(Section):
    passed_over = keys(
        "containerPrefix workdir readOnlyRoot tmpfs capDrop setupCommand memorySwap ulimits binds"
    )

    image: str = works(
        default="debian:bookworm-slim",
        description="The image, which is never pulled by itself. It needs bash.",
    )
    network: str | None = works(
        default=None, description="The network of containers that have one; Docker's own when not set."
    )
    user: str | None = works(
        default=None, description="Who commands run as, as uid:gid; the user of this process when not set."
    )
    env: Mapping[str, Variable] = works(default_factory=dict, description="Variables for every command.")
    memory: str | None = works(
        default=None, description="Memory of a container, such as 1g; memoryMb when not set."
    )
    cpus: Number | None = works(default=None, description="Processors of a container; all when not set.")
    pids_limit: Positive | None = works(
        default=None, description="Processes of a container; tools.exec.maxProcesses when not set."
    )
    seccomp_profile: PathText | None = works(default=None, description="A seccomp profile for containers.")
    apparmor_profile: str | None = works(default=None, description="An AppArmor profile for containers.")
    dns: Names = works(default=(), description="Name servers of containers that have a network.")
    extra_hosts: Names = works(default=(), description="More hosts they know, as name:address.")


class SandboxBrowser(Section):
    passed_over = keys(
        "image containerPrefix network cdpPort cdpSourceRange vncPort noVncPort headless enableNoVnc"
        " allowHostControl autoStart autoStartTimeoutMs binds"
    )

    enabled: Flag = works(default=True, description="Whether sandboxed sessions have the browser.")


class Sandbox(Section):
    passed_over = keys("perSession ssh")

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
    disk_mb: Positive = works(
        default=4096, description="Megabytes that its commands may fill its folder to; more ends them."
    )
    backend: Literal["auto", "bubblewrap", "docker"] = works(
        default="auto",
        description="What confines: bubblewrap (or auto), which needs Linux; or docker, which "
        "needs a Docker daemon. Where it is missing, nothing of a sandboxed session starts.",
    )
    session_tools_visibility: Literal["spawned", "all"] = works(
        default="spawned",
        description="Which sessions the session tools of a sandboxed one reach: itself and those it spawned,"
        " or all that tools.sessions.visibility has.",
    )
    docker: SandboxDocker = part(SandboxDocker, description="Containers, with docker.")
    browser: SandboxBrowser = part(SandboxBrowser, description="The browser of its sessions.")
    tools: ToolLists = part(ToolLists, description="Tools inside a sandbox.")
    prune: SandboxPrune = part(SandboxPrune, description="When sandboxes are removed.")

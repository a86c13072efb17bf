"""The settings of plugins: Python code of others that runs in this process."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from colleague.config.section import Flag, FreeForm, Section, keys, works


class PluginEntry(Section):
    passed_over = keys("hooks subagent env")

    enabled: Flag = works(
        default=True, description="false keeps it from being loaded, also when a person has enabled it."
    )
    config: FreeForm = works(default_factory=dict, description="Its own settings; ${NAME} is filled in.")


class Plugins(Section):
    passed_over = keys("allow deny load slots installs bundledDiscovery")

    enabled: Flag = works(default=True, description="Whether plugins are loaded at all.")
    hook_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = works(
        default=5.0, description="How long one handler of a hook may take."
    )
    entries: Mapping[str, PluginEntry] = Field(
        default_factory=dict, description="Each by its name. A person enables it with plugin enable."
    )

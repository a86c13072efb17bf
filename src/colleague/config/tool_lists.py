"""The lists by which a part of the settings says which tools may be used."""

from typing import Annotated

from pydantic import AfterValidator

from colleague.config.section import Names, Section, works
from colleague.config.tool_groups import check_groups


class ToolLists(Section):
    allow: Names = works(
        default=(), description="Tools or groups that may be used; empty means all that remain."
    )
    deny: Annotated[Names, AfterValidator(check_groups)] = works(
        default=(), description="Tools or groups that may not be used; wins over allow."
    )
    also_allow: Names = works(
        default=(), description="Tools added to what the profile or layer above allows."
    )

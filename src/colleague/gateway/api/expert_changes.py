"""Installing, binding, enabling, updating and removing experts. What is applied is what was looked at."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from colleague.expert_document import EnabledDocument, PackagePreview, UpdatePreview
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token
from colleague.gateway.schemas import ExpertDocument, Name, Removed, RequestBody
from colleague.runtime.expert_service import AcceptedUpdate, BindRequest, SourceRequest, UpdateRequest

router = APIRouter(prefix="/api", tags=["experts"])

Text = Annotated[str, Field(max_length=2000)]


class SourceAsked(RequestBody):
    """Where a package comes from: a folder of the gateway's machine, an archive, or a git URL."""

    source: Annotated[str, Field(min_length=1, max_length=2000)]
    path: Text = ""
    name: Name = ""
    link: bool = False

    def request(self) -> SourceRequest:
        return SourceRequest(self.source, self.path, self.name, self.link)


class InstallAsked(SourceAsked):
    """`digest` is of the preview."""

    digest: Annotated[str, Field(min_length=1, max_length=200)]


class BindAsked(RequestBody):
    server: Annotated[str, Field(min_length=1, max_length=200)]
    skill: bool = False
    operations: dict[str, str] = Field(default_factory=dict)


class BoundDocument(BaseModel):
    """What a tool is bound to now."""

    tool: str
    server: str


class UpdateLookAsked(RequestBody):
    """`accept_edits` takes the installed folder as it is; `to` names another branch, tag or commit."""

    accept_edits: bool = False
    to: Name = ""


class UpdateAsked(UpdateLookAsked):
    """`digest` is of the preview. `force` and `loosen` are a person's words for what needs one."""

    digest: Annotated[str, Field(min_length=1, max_length=200)]
    force: bool = False
    loosen: bool = False


@router.post("/packages/preview", response_model=PackagePreview, responses=with_token(404, 409))
async def preview(asked: SourceAsked, gateway: GatewayDep) -> PackagePreview:
    """Fetches and checks a package; nothing is installed."""
    return await gateway.service.preview_source(asked.request())


@router.post("/experts", response_model=ExpertDocument, responses=with_token(404, 409))
async def install(asked: InstallAsked, gateway: GatewayDep) -> dict[str, Any]:
    """Installs exactly the package that was looked at; its triggers are off."""
    return await gateway.service.install_expert(asked.request(), asked.digest)


@router.put("/experts/{name}/tools/{tool}", response_model=BoundDocument, responses=with_token(404, 409))
async def bind(name: str, tool: str, asked: BindAsked, gateway: GatewayDep) -> BoundDocument:
    """Binds a tool to a server or a skill, instead of what it was bound to before."""
    await gateway.service.bind_tool(name, BindRequest(tool, asked.server, asked.skill, asked.operations))
    return BoundDocument(tool=tool, server=asked.server)


@router.delete("/experts/{name}/tools/{tool}", response_model=Removed, responses=with_token(404, 409))
async def unbind(name: str, tool: str, gateway: GatewayDep) -> Removed:
    await gateway.service.unbind_tool(name, tool)
    return Removed(name=tool)


@router.post("/experts/{name}/enable", response_model=EnabledDocument, responses=with_token(404, 409))
async def enable(name: str, gateway: GatewayDep) -> EnabledDocument:
    """Triggers on, if what they need is there; those that cannot work hold up no other."""
    return await gateway.service.enable_expert(name)


@router.post("/experts/{name}/disable", response_model=EnabledDocument, responses=with_token(404, 409))
async def disable(name: str, gateway: GatewayDep) -> EnabledDocument:
    await gateway.service.disable_expert(name)
    return {"expert": name, "enabled": False, "problems": []}


@router.post("/experts/{name}/update/preview", response_model=UpdatePreview, responses=with_token(404, 409))
async def preview_update(name: str, asked: UpdateLookAsked, gateway: GatewayDep) -> UpdatePreview:
    """What the source's version would change; nothing changes."""
    return await gateway.service.preview_update(name, UpdateRequest(asked.accept_edits, asked.to))


@router.post("/experts/{name}/update", response_model=UpdatePreview, responses=with_token(404, 409))
async def update(name: str, asked: UpdateAsked, gateway: GatewayDep) -> UpdatePreview:
    """Moves to exactly the version that was looked at."""
    accepted = AcceptedUpdate(asked.digest, asked.force, asked.loosen)
    return await gateway.service.update_expert(name, UpdateRequest(asked.accept_edits, asked.to), accepted)


@router.delete("/experts/{name}", response_model=Removed, responses=with_token(404, 409))
async def remove(name: str, gateway: GatewayDep, purge: bool = False) -> Removed:
    """State and bindings stay for a reinstall, unless purged."""
    await gateway.service.remove_expert(name, purge=purge)
    return Removed(name=name)

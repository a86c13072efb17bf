"""The files of an expert: which there are, their versions, and what changed between two."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from colleague.expert_document import FileDifference, FileDocument, FileTextDocument, FileVersionDocument
from colleague.gateway.gateway import GatewayDep
from colleague.gateway.openapi import with_token

router = APIRouter(prefix="/api/experts/{name}/files", tags=["experts"])

FileName = Annotated[str, Query(min_length=1, max_length=1000)]
VersionNumber = Annotated[int, Query(ge=1, le=2**31 - 1)]


@router.get("", response_model=list[FileDocument], responses=with_token(404, 409))
async def list_files(name: str, gateway: GatewayDep) -> list[FileDocument]:
    """State files, and whatever else has versions."""
    return await gateway.service.expert_files(name)


@router.get("/versions", response_model=list[FileVersionDocument], responses=with_token(404, 409))
async def list_versions(
    name: str, file: FileName, gateway: GatewayDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[FileVersionDocument]:
    """The newest first."""
    return await gateway.service.file_versions(name, file, limit=limit)


@router.get("/text", response_model=FileTextDocument, responses=with_token(404, 409))
async def show_text(
    name: str, file: FileName, gateway: GatewayDep, version: VersionNumber | None = None
) -> FileTextDocument:
    """One version, or the newest. What is private in the expert's package is left out."""
    return await gateway.service.file_text(name, file, version)


@router.get("/difference", response_model=FileDifference, responses=with_token(404, 409))
async def show_difference(
    name: str, file: FileName, before: VersionNumber, after: VersionNumber, gateway: GatewayDep
) -> FileDifference:
    """Lines of a unified diff; none when the two are equal."""
    return await gateway.service.file_difference(name, file, before, after)

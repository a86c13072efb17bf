"""What OpenAPI says beyond what the routes say by themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from colleague import __version__
from colleague.gateway.schemas import ErrorAnswer

_TOLD = {
    400: "The request makes no sense",
    401: "The token or the signature is missing or wrong",
    403: "A host or a page that may not call",
    404: "There is no such thing",
    408: "The request took too long",
    409: "Not as things are",
    413: "The body is too large",
    415: "What is sent is no JSON",
    422: "The body or a parameter has not the shape it must have",
    429: "Too much, too fast: see Retry-After",
    431: "The headers are too many or too long",
    503: "Not now: see Retry-After",
}
_REF = "#/components/schemas/{model}"
EVERYWHERE = (400, 403, 408, 413, 431, 503)
"""What the layers around the routes may answer."""

JSON_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}},
    }
}


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Error responses of a route, plus those any route can give.

    Their shape is added to the document when somebody asks for it: named as a model here, FastAPI would
    build a thousand validators at the start that nobody uses."""
    return {code: {"description": _TOLD[code]} for code in sorted({*codes, *EVERYWHERE})}


def with_token(*codes: int) -> dict[int | str, dict[str, Any]]:
    """For a route that needs the gateway's token."""
    return errors(401, 415, 422, 429, *codes)


def describe(app: FastAPI, guarded: Collection[str]) -> None:
    """Has the app answer with a document that is made once. `guarded` are the paths that need the token."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = get_openapi(
                title="Colleague",
                version=__version__,
                description="The gateway of a home: hooks in, answers out.",
                routes=app.routes,
            )
            _tell_errors_as_they_are(app.openapi_schema)
            _tell_the_token(app.openapi_schema, guarded)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _tell_errors_as_they_are(document: dict[str, Any]) -> None:
    """Every no is JSON of our own shape, whatever else a route answers with."""
    for path in document["paths"].values():
        for operation in path.values():
            for code, answer in operation["responses"].items():
                if code >= "400":
                    answer["content"] = {"application/json": {"schema": _schema(answer)}}
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    shape = ErrorAnswer.model_json_schema(mode="serialization", ref_template=_REF)
    schemas |= shape.pop("$defs", {}) | {ErrorAnswer.__name__: shape}
    document["components"]["schemas"] = dict(sorted(schemas.items()))


def _tell_the_token(document: dict[str, Any], guarded: Collection[str]) -> None:
    document["components"]["securitySchemes"] = {
        "HTTPBearer": {"type": "http", "scheme": "bearer", "description": "gateway.auth.token"}
    }
    for path in guarded:
        for operation in document["paths"].get(path, {}).values():
            operation["security"] = [{"HTTPBearer": []}]


def _schema(answer: dict[str, Any]) -> dict[str, Any]:
    """The one it has, unless that is FastAPI's own for what has the wrong shape."""
    known: dict[str, Any] = {"$ref": "#/components/schemas/ErrorAnswer"}
    contents: list[dict[str, Any]] = list(answer.get("content", {}).values())
    found: dict[str, Any] = (contents[0].get("schema") if contents else None) or known
    return known if found.get("$ref", "").endswith("/HTTPValidationError") else found

"""Settings of MCP servers beside how to reach them: logins, and what they may ask of a model."""

from typing import Literal

from pydantic import model_validator

from colleague.config.secret import Secret
from colleague.config.section import Flag, Int, Names, Positive, Section, keys, works


class McpOAuth(Section):
    passed_over = keys("redirectUrl")

    client_id: str | None = works(
        default=None, description="Our id at the authorization server; we register ourselves when not set."
    )
    client_secret: Secret | None = works(default=None, description="The secret of that id, best as ${NAME}.")
    client_metadata_url: str | None = works(
        default=None,
        description="A document of yours that describes us, as our id where the server takes one.",
    )
    issuer: str | None = works(
        default=None, description="The only authorization server that is used; needed with a clientSecret."
    )
    grant: Literal["authorization_code", "client_credentials"] = works(
        default="authorization_code",
        description="Who logs in: a person in a browser, or with client_credentials this program as itself, "
        "by clientId, clientSecret and issuer.",
    )
    scope: str | None = works(
        default=None, description="Rights to ask for; what the server names when not set."
    )
    callback_port: Int = works(
        default=0, description="The port on 127.0.0.1 that the browser comes back to; any when 0."
    )
    allow_private: Names = works(
        default=(), description="Hosts of the authorization server that may have a private address."
    )

    @model_validator(mode="after")
    def _check_secret(self) -> "McpOAuth":
        if self.client_secret is not None and not (self.client_id and self.issuer):
            raise ValueError("clientSecret needs clientId, and issuer: the server that the secret is for")
        if self.grant == "client_credentials" and self.client_secret is None:
            raise ValueError("grant client_credentials needs clientId, clientSecret and issuer")
        return self


class McpSampling(Section):
    allow: Flag = works(
        default=False,
        description="Whether the server may ask the agent's model for texts while a tool works.",
    )
    max_requests: Positive = works(default=5, description="How often within one call.")
    max_tokens: Positive = works(default=2_000, description="Tokens of each answer, at most.")

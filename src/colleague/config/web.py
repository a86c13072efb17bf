"""Settings of what agents do on the web."""

from colleague.config.secret import Secret
from colleague.config.section import Flag, Int, Names, Positive, Section, keys, part, works


class WebSearch(Section):
    passed_over = keys("openaiCodex perplexity grok gemini kimi brave cacheTtlMinutes")

    enabled: Flag | None = works(
        default=None, description="Whether web_search exists; when not set, if a provider can be used."
    )
    provider: str | None = works(
        default=None,
        description="Who searches: searxng, brave, or a plugin's; when not set, by baseUrl or apiKey.",
    )
    api_key: Secret | None = works(default=None, description="The provider's key, best as ${NAME}.")
    base_url: str | None = works(
        default=None,
        description="Where the provider is: for searxng your own server, such as http://host:8080.",
    )
    max_results: Positive = works(default=5, description="Results of one search.")
    timeout_seconds: Positive = works(default=30, description="Seconds one search may take.")


class WebFetch(Section):
    passed_over = keys(
        "provider cacheTtlMinutes readability userAgent firecrawl useTrustedEnvProxy ssrfPolicy"
    )

    enabled: Flag = works(default=True, description="Whether web_fetch exists.")
    max_chars: Positive = works(default=20_000, description="Characters returned of a page.")
    max_chars_cap: Positive = works(default=20_000, description="The most characters a call may ask for.")
    max_response_bytes: Positive = works(
        default=750_000, description="Bytes read of a response, before and after it is unpacked."
    )
    max_redirects: Int = works(default=3, description="Redirects followed.")
    timeout_seconds: Positive = works(default=30, description="Seconds one fetch may take.")
    allow_private: Names = works(
        default=(),
        description="Hosts that may have a private address, as host or host:port. Others are refused there.",
    )


class WebTools(Section):
    passed_over = keys("x_search")

    search: WebSearch = part(WebSearch, description="web_search.")
    fetch: WebFetch = part(WebFetch, description="web_fetch, and the addresses of browser.")

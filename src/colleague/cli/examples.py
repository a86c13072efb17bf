"""Examples in the help of commands. A test checks that every command and option in them exists."""

from __future__ import annotations

from collections.abc import Mapping

START = (
    "colleague demo",
    "colleague init",
    "colleague expert install examples/radiant-sales-expert",
    "colleague model add claude --provider anthropic --default",
    'colleague expert run radiant-sales-expert "What is my pipeline looking like?"',
    "colleague status",
    "colleague approve 73f6fd53",
)

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("colleague prompt --sizes", "colleague prompt --session telegram:dm:1 --json"),
    "tool list": ("colleague tool list", "colleague tool list --agent research --json"),
    "tool explain": ("colleague tool explain exec", "colleague tool explain mail.send_mail --session main"),
    "expert install": (
        "colleague expert install ./my-expert",
        "colleague expert install you/experts@v1.2 --path sales",
        "colleague expert install https://example.com/you/expert.git@main",
        "colleague expert install expert-1.2.zip --name second-expert",
    ),
    "expert new": ("colleague expert new my-expert", "colleague expert install --link my-expert"),
    "expert bind": (
        "colleague expert bind my-expert crm hubspot",
        "colleague expert bind my-expert crm hubspot --operation get_contact=find_contact",
    ),
    "expert validate": (
        "colleague expert validate my-expert",
        "colleague expert validate ./folder --offline",
    ),
    "expert update": ("colleague expert update my-expert", "colleague expert update my-expert --to v1.3"),
    "expert run": (
        'colleague expert run my-expert "What is open?"',
        "colleague expert run my-expert --process triage --input message_id=m1",
    ),
    "expert rehearse": ("colleague expert rehearse my-expert --process triage",),
    "mcp add": (
        "colleague mcp add crm -- npx -y some-crm-server",
        "colleague mcp add calendar --url https://example.com/mcp",
    ),
    "model add": (
        "colleague model add claude --provider anthropic --default",
        "colleague model add local --provider ollama --model qwen3:8b",
        "colleague model add lab --provider openai-compatible --base-url http://127.0.0.1:8000/v1 --model m1",
    ),
    "skill list": ("colleague skill list", "colleague skill list --agent research --json"),
    "skill show": ("colleague skill show write-a-skill",),
    "plugin enable": ("colleague plugin enable crm-lookup",),
    "trigger fire": ('colleague trigger fire my-expert new_email --payload \'{"id": "m1"}\'',),
    "run show": ("colleague run show 1a2b3c4d", "colleague run show 1a2b3c4d --json"),
    "state restore": ("colleague state restore my-expert pipeline.md 3",),
    "sandbox list": ("colleague sandbox list", "colleague sandbox list --json"),
    "sandbox prune": ("colleague sandbox prune --dry-run", "colleague sandbox prune agent-main"),
    "sandbox explain": ("colleague sandbox explain", "colleague sandbox explain --session agent:main:main"),
    "db backup": ("colleague db backup copy.sqlite",),
    "approve": ("colleague approve 73f6fd53", "colleague approve 73f6fd53 1544da53"),
    "reject": ('colleague reject 73f6fd53 --note "wrong customer"',),
    "respond": ('colleague respond 73f6fd53 "No: ask them for a date first"',),
    "done": ("colleague done 1544da53",),
    "resolve": ("colleague resolve 73f6fd53 happened",),
    "serve": ("colleague serve",),
    "agent": ('colleague agent "Which experts do I have?"', 'colleague agent "And today?" --session work'),
    "chat": ("colleague chat", "colleague chat --expert my-expert"),
    "session set": ("colleague session set main --label work", 'colleague session set work --model ""'),
}


def help_text(lines: tuple[str, ...]) -> str:
    """Each on a line of its own, which the library keeps only for paragraphs."""
    return "\n\n".join(("Examples:" if len(lines) > 1 else "Example:", *lines))

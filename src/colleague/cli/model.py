"""colleague model ...: what experts think with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colleague.cli.model_auth import auth
from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.agent.models.model_list import ListedModel
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.resolved import ResolvedModel
    from colleague.errors import ColleagueError
    from colleague.home import Home
    from colleague.settings_document import OfferedModel

app = typer.Typer(no_args_is_help=True, help="Add, see and try the models.")
app.add_typer(auth, name="auth")


@app.command("list")
def list_(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """The configured and the built-in models, and which of them have a key."""
    import os
    from dataclasses import asdict

    from colleague.agent.models.model_list import list_models
    from colleague.agent.models.resolve import NoModel
    from colleague.cli.client import loaded
    from colleague.cli.output import note, say_json, say_table
    from colleague.home import Home

    place = Home.find(home)
    models = _as_the_gateway_says(place, list_models(loaded(place), os.environ, folder=place.root))
    if as_json:
        say_json([asdict(model) for model in models])
        return
    say_table(("MODEL", "DEFAULT", "KEY", "API", "CONTEXT", "FROM"), map(_row, models))
    for model in models:
        if model.problem and (model.origin == "settings" or model.key == "unknown"):
            note(f"{model.name}: {model.problem}")
    if not any(model.default for model in models):
        note(f"{NoModel().message}: {NoModel().hint}")


def _as_the_gateway_says(home: Home, models: list[ListedModel]) -> list[ListedModel]:
    """With the keys that the running gateway has, which may be others than those of this shell."""
    import asyncio

    from colleague.cli.gateway_answer import gateway_answer

    offered = asyncio.run(gateway_answer(home, lambda gateway: gateway.models())) or []
    known = {each["name"]: each for each in offered}
    return [_with_key(model, known[model.name]) if model.name in known else model for model in models]


def _with_key(model: ListedModel, said: OfferedModel) -> ListedModel:
    from dataclasses import replace

    key, source = said["key"], said["key_source"]
    return replace(model, default=said["default"], problem=said["problem"], key=key, key_source=source)


def _row(model: ListedModel) -> tuple[str, ...]:
    from colleague.cli.output import plain

    key = f"{model.key} ({model.key_source})" if model.key_source else model.key
    context = str(model.context_window or "")
    name = f"{model.name} ({plain(model.display_name)})" if model.display_name else model.name
    return name, "*" if model.default else "", key, model.api, context, model.origin


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it; models are NAME/ID then.")],
    provider: Annotated[
        str,
        typer.Option(
            "--provider", help="anthropic, openai, google, openrouter, ollama or openai-compatible."
        ),
    ],
    model: Annotated[str, typer.Option("--model", metavar="ID", help="The model's id at its provider.")] = "",
    base_url: Annotated[
        str,
        typer.Option("--base-url", metavar="URL", help="Where its API is, when elsewhere."),
    ] = "",
    api_key_env: Annotated[
        str, typer.Option("--api-key-env", metavar="VAR", help="The environment variable that holds the key.")
    ] = "",
    api_key_stdin: Annotated[
        bool,
        typer.Option("--api-key-stdin", help="Read the key from stdin and write it into colleague.json."),
    ] = False,
    context_window: Annotated[
        int | None,
        typer.Option("--context-window", min=1, help="Tokens of context.", show_default=False),
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="Use it where no model is named.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a model into colleague.json. Your comments in it stay, and the key stays in the environment."""
    import os

    from colleague.agent.models.entries import NewModel, add_model, checked
    from colleague.cli.change_record import record_change
    from colleague.cli.output import TICK, note, say, say_hint, say_json
    from colleague.home import Home
    from colleague.runtime.gateway_file import gateway_runs

    place = Home.find(home)
    key = _read_key(api_key_env) if api_key_stdin else ""
    new = checked(NewModel(name, provider, model, base_url, api_key_env, key, context_window))
    add_model(place, new, default=default)
    record_change(place, "model.add", new.full_name, provider=provider, key=new.variable, default=default)
    if as_json:
        say_json({"model": new.full_name, "key": new.variable or None, "default": default})
        return
    say(f"{TICK} {new.full_name} is added to {place.settings_file}{' and is the default' if default else ''}")
    if key:
        note(f"warning: the key stands in {place.settings_file} in plain text")
    if new.variable and not os.environ.get(new.variable):
        note(f"{new.variable} is not set yet: add {new.variable}=... to {place.env_file}, or export it")
    if gateway_runs(place):
        note("The gateway takes it over when it is started again.")
    say_hint(f"Next: colleague model probe {new.full_name}")


def _read_key(variable: str) -> str:
    import sys

    from colleague.errors import UsageError

    key = sys.stdin.readline().strip()
    if variable or not key:
        raise UsageError(
            "--api-key-stdin goes without --api-key-env" if variable else "there is no key on stdin",
            hint="colleague model add NAME ... --api-key-stdin < FILE",
        )
    return key


@app.command()
def probe(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="As provider/model, or script/FILE; the default one when left out."
        ),
    ] = "",
    seconds: Annotated[float, typer.Option("--timeout", help="Seconds to wait for an answer.", min=1)] = 60,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send one tiny request. Exit code 1 when there is no answer."""
    from colleague.cli.output import TICK, say, say_json
    from colleague.errors import ColleagueError

    try:
        resolved, reply = _probed(home, model, seconds)
    except ColleagueError as error:
        if not as_json:
            raise
        say_json(_failed(error))
        raise typer.Exit(1) from None
    if as_json:
        say_json(_answered(resolved, reply))
        return
    say(f"{TICK} {resolved.name} answered in {reply.seconds:.1f} s: {reply.text.strip()}")
    cost = "" if reply.cost is None else f", ${reply.cost:f}"
    say(f"  {reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out{cost}")


def _probed(home: Path | None, name: str, seconds: float) -> tuple[ResolvedModel, Reply]:
    import asyncio
    import os

    from colleague.agent.models.resolve import resolve_model
    from colleague.cli.client import loaded
    from colleague.cli.output import progress
    from colleague.home import Home

    place = Home.find(home)
    settings, folder = loaded(place), None if name else place.root
    asked = resolve_model(settings, os.environ, name, folder=folder).name
    with progress(f"Asking {asked}"):
        from colleague.agent.models.model_probe import probe_model

        return asyncio.run(probe_model(settings, os.environ, name, folder=folder, seconds=seconds))


def _answered(model: ResolvedModel, reply: Reply) -> dict[str, Any]:
    return {
        "model": model.name,
        "ok": True,
        "seconds": round(reply.seconds, 3),
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cost": None if reply.cost is None else float(reply.cost),
        "answer": reply.text.strip(),
    }


def _failed(error: ColleagueError) -> dict[str, Any]:
    reason = getattr(error, "reason", "config")
    return {"ok": False, "error": {"code": reason, "message": error.message, "hint": error.hint}}

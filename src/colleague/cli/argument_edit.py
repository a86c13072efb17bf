"""Changing the arguments of a question: single fields from the command line, or all of them in an editor.

What comes out are changes, never the whole: parts of the arguments may be private, and then a person sees
them only in part."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colleague.errors import UsageError
from colleague.runtime.merge_patch import difference
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.run_document import ApprovalDocument

_HELP = "# Change what you like, save and close. Nothing is decided when nothing was changed.\n"


def changes_of(approval: ApprovalDocument, settings: Sequence[str]) -> dict[str, Any]:
    """From `field=value` and `outer.inner=value`. The tool's schema tells how a value is read."""
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {setting!r} is no field=value", hint="write --set subject='Hello'")
        *outer, last = name.split(".")
        _require_field(approval, outer, last)
        _place(changes, outer)[last] = _value(_schema_at(approval["parameters"], name.split(".")), name, text)
    return changes


def _require_field(approval: ApprovalDocument, outer: list[str], name: str) -> None:
    """A field that the tool does not have is a slip of the fingers, although most schemas would allow it."""
    schema, arguments = _schema_at(approval["parameters"], outer), approval["arguments"]
    for each in outer:
        arguments = arguments.get(each) if isinstance(arguments, dict) else None
    known = {*schema.get("properties", {}), *(arguments if isinstance(arguments, dict) else ())}
    if known and name not in known and not schema.get("additionalProperties"):
        hint = did_you_mean(name, known) or f"it has: {', '.join(sorted(known))}"
        raise UsageError(f"{approval['operation']} has no field {'.'.join([*outer, name])!r}", hint=hint)


def _place(changes: dict[str, Any], outer: list[str]) -> dict[str, Any]:
    for name in outer:
        changes = changes.setdefault(name, {})
    return changes


def _schema_at(schema: Any, names: list[str]) -> dict[str, Any]:
    for name in names:
        schema = schema.get("properties", {}).get(name, {}) if isinstance(schema, dict) else {}
    return schema if isinstance(schema, dict) else {}


def _value(schema: dict[str, Any], name: str, text: str) -> Any:
    kind = schema.get("type")
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        if kind is None:
            return text
        raise UsageError(f"--set {name}: {text!r} is no {kind}", hint="write the value as JSON") from None


@dataclass
class ArgumentEdit:
    """The arguments of one question in a person's editor. What they wrote is kept until it is decided."""

    approval: ApprovalDocument
    file: Path | None = None

    def changes(self) -> dict[str, Any]:
        """What a person changes; empty when nothing. A second time they go on with what they wrote."""
        if self.file is None:
            self.file = Path(tempfile.mkdtemp(prefix="colleague-")) / "arguments.yaml"
            self.file.write_text(self._as_asked(), encoding="utf-8")
        _open_editor(self.file)
        after = _read_yaml(self.file)
        return difference(self.approval["arguments"], json.loads(json.dumps(after, default=str)))

    def end(self, *, decided: bool) -> str:
        """Removes what is not needed any more; else says where it is."""
        file, self.file = self.file, None
        if file is None or not file.exists():
            return ""
        if not decided and file.read_bytes() != self._as_asked().encode():
            return f"what you wrote is kept in {file}"
        shutil.rmtree(file.parent, ignore_errors=True)
        return ""

    def _as_asked(self) -> str:
        return _HELP + _as_yaml(self.approval["arguments"])


def _read_yaml(file: Path) -> dict[Any, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        after = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        where = f", line {at.line + 1}" if at else ""
        raise UsageError(f"what you wrote is no YAML{where}: {error.problem or error.context}") from None
    except (YAMLError, ValueError) as error:
        raise UsageError(f"what you wrote is no YAML: {error}") from None
    if not isinstance(after, dict):
        raise UsageError("what you wrote has no fields")
    return after


def _as_yaml(arguments: Any) -> str:
    import io

    from ruamel.yaml import YAML
    from ruamel.yaml.scalarstring import walk_tree

    document = json.loads(json.dumps(arguments))
    walk_tree(document)  # several lines become a block
    yaml, out = YAML(), io.StringIO()
    yaml.width = 10_000
    yaml.dump(document, out)
    return out.getvalue()


def _open_editor(file: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        program = [editor] if Path(editor).is_file() else shlex.split(editor)  # a path may have spaces
        ended = subprocess.run([*program, str(file)], check=False)
    except (OSError, ValueError) as error:
        hint = "set EDITOR to your editor, or use --set field=value"
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the editor {editor!r} cannot be started: {why}", hint=hint) from None
    if ended.returncode:
        raise UsageError(f"the editor ended with {ended.returncode}")

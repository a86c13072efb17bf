"""SQL as Python expressions, for the two databases of the store.

The idiom is that of SQLAlchemy's Core, as far as the store needs it. The library itself is not used: to
import it takes nearly as long as all else that a command does before its first line, and twelve megabytes."""

from colleague.store.sql.expression import (
    Column,
    Columns,
    Expression,
    Table,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    tuple_,
)
from colleague.store.sql.rendering import Rendered
from colleague.store.sql.statement import (
    CompoundSelect,
    DeleteStatement,
    InsertStatement,
    Select,
    Statement,
    TextStatement,
    UpdateStatement,
    delete,
    exists,
    insert,
    select,
    text,
    union_all,
    update,
)

__all__ = [
    "Column",
    "Columns",
    "CompoundSelect",
    "DeleteStatement",
    "Expression",
    "InsertStatement",
    "Rendered",
    "Select",
    "Statement",
    "Table",
    "TextStatement",
    "UpdateStatement",
    "and_",
    "bindparam",
    "case",
    "delete",
    "exists",
    "func",
    "insert",
    "literal_column",
    "or_",
    "select",
    "text",
    "tuple_",
    "union_all",
    "update",
]

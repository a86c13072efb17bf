"""SQL as Python expressions, for the two databases of the store.

The idiom is that of SQLAlchemy's Core, as far as the store needs it. The library itself is not used: to
import it takes nearly as long as all else that a command does before its first line, and twelve megabytes."""

from colleague.store.sql.expression import (
    Column,
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
from colleague.store.sql.statement import (
    CompoundSelect,
    InsertStatement,
    Select,
    Statement,
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
    "CompoundSelect",
    "Expression",
    "InsertStatement",
    "Select",
    "Statement",
    "Table",
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

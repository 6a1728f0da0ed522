"""What the ids of `--databases` stand for: tables of rows, each with its schema and the user's filter in its terms."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..errors import NotFoundError, SourceError
from ..types import Failure, Pending, Run, Scope
from ..words import inert
from . import filters
from .ids import DatabaseRef, dashed, parse_database
from .properties import rich_text, title_of
from .refusals import RefusedError

Retrieve = Callable[[str, str, Run], Mapping[str, Any]]
"""Return the object of a kind (database, data_source, page) and an id. Raises SourceError."""

LeaveOut = Callable[[str, str, Failure | Pending, Run], None]
"""Say that the data source of this id and title is searched without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """One table of rows, and the user's filter in its own terms."""

    id: str
    title: str
    schema: Mapping[str, object]
    filter: Mapping[str, object] | None


class _UnknownError(NotFoundError):
    """An id the user named stands for no database."""


def resolve(scope: Scope, retrieve: Retrieve, leave_out: LeaveOut, run: Run) -> tuple[DataSource, ...]:
    """Return the data sources the scope names, each once.

    Raises NotFoundError naming every unknown id, and UsageError for a filter that does not fit each of them.
    """
    refs = [ref for text in scope.databases if (ref := parse_database(text))]
    outcomes = run.pace.gather([partial(_data_source_ids, ref, retrieve, run) for ref in refs], run)
    unknown = [str(o.error) for o in outcomes if isinstance(o, Failure) and isinstance(o.error, _UnknownError)]
    if unknown:
        raise NotFoundError("--databases: " + "; ".join(unknown))
    for outcome in outcomes:
        if isinstance(outcome, Failure | Pending):
            raise first_error([outcome])
    ids = dict.fromkeys(id_ for outcome in outcomes if isinstance(outcome, tuple) for id_ in outcome)
    return _described(tuple(ids), scope, retrieve, leave_out, run)


def _data_source_ids(ref: DatabaseRef, retrieve: Retrieve, run: Run) -> tuple[str, ...]:
    """Return the data sources an id stands for; raises NotFoundError saying what the id is instead."""
    for kind in ("data_source", "database") if ref.is_data_source else ("database", "data_source"):
        with suppress(NotFoundError):
            found = _retrieved(kind, ref.id, retrieve, run)
            sources = found.get("data_sources", []) if kind == "database" else [found]
            return tuple(dashed(source["id"]) for source in sources if isinstance(source.get("id"), str))
    try:
        page = retrieve("page", ref.id, run)
    except SourceError:
        raise _UnknownError(
            f"{ref.id} is unknown to Notion or not shared with this token: check the id, and in Notion open the "
            "database, ••• > Connections, and add the integration"
        ) from None
    raise _UnknownError(f"{ref.id} is a page ('{inert(title_of(page))}'): give the database it is in")


def _retrieved(kind: str, id_: str, retrieve: Retrieve, run: Run) -> Mapping[str, Any]:
    try:
        return retrieve(kind, id_, run)
    except RefusedError as error:
        hint = f"--databases: {id_} cannot be read ({error}); for a linked view, give the original database"
        raise SourceError(hint) from error


def _described(
    ids: Sequence[str], scope: Scope, retrieve: Retrieve, leave_out: LeaveOut, run: Run
) -> tuple[DataSource, ...]:
    outcomes = run.pace.gather([partial(_describe, id_, scope, retrieve, run) for id_ in ids], run)
    for outcome in outcomes:
        if isinstance(outcome, Failure) and not isinstance(outcome.error, SourceError | TimeoutError):
            raise outcome.error  # a filter that does not fit one of them
    described = tuple(outcome for outcome in outcomes if isinstance(outcome, DataSource))
    if not described:
        raise first_error(outcomes) if outcomes else NotFoundError("--databases: the database holds no rows to search")
    for id_, outcome in zip(ids, outcomes, strict=True):
        if isinstance(outcome, Failure | Pending):
            leave_out(id_, id_, outcome, run)
    return described


def _describe(id_: str, scope: Scope, retrieve: Retrieve, run: Run) -> DataSource:
    found = data_source(_retrieved("data_source", id_, retrieve, run), id_)
    given = scope.property_filter
    return replace(found, filter=filters.compile_filter(given, found.schema, found.title)) if given else found


def data_source(raw: Mapping[str, Any], id_: str) -> DataSource:
    """Return the table that Notion describes so, under the id it was asked for by, without a filter."""
    properties = raw.get("properties")
    schema = properties if isinstance(properties, dict) else {}
    return DataSource(id=id_, title=inert(rich_text(raw.get("title"))) or id_, schema=schema, filter=None)


def first_error(outcomes: Sequence[object]) -> Exception:
    """Return the first error among the outcomes; calls that did not end count as late."""
    for outcome in outcomes:
        if isinstance(outcome, Failure) and not isinstance(outcome.error, TimeoutError):
            return outcome.error
    return SourceError("Notion did not answer in time")

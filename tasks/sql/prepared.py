"""Prepared statements on Django's connection, several of them in one round trip.

On a hot path, reaching the database costs more than the work inside it: the ORM rebuilds the same
SQL for each request, and a driver that runs one statement at a time waits for each answer. Here a
connection prepares each statement once, sends related statements together with one sync, and
returns plain rows. BEGIN travels with the first trip of a transaction, and COMMIT with the last if
the caller asks for it.

Everything else stays Django's: `transaction.atomic`, errors, the query log, test transactions. If
the server has forgotten the statements (DISCARD ALL, DEALLOCATE ALL, another server behind a
pooler), a trip that began its transaction prepares them again and is repeated.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Generic, TypeVar, overload

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer

Parameters = Mapping[str, Any]
Row = tuple[Any, ...]
R = TypeVar("R")

_PARAMETER = re.compile(r"%\((\w+)\)s|%%")
_BINARY = 1
# The server has forgotten a statement, already has it from another client of a pooler, or a
# migration has changed the type of a column that the statement returns.
_STALE = (
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
    psycopg.errors.FeatureNotSupported,
)
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.PIPELINE_ABORTED)


def _plain_row(*columns: Any) -> Row:
    return columns


class PreparedStatement(Generic[R]):
    """SQL with named parameters, `%(name)s`. Each result row is passed to `row`, or is a tuple.

    PostgreSQL infers the types of parameters: add a cast where the context does not determine one.
    """

    __slots__ = ("formats", "name", "names", "row", "text")

    @overload
    def __init__(self: PreparedStatement[Row], text: str) -> None: ...
    @overload
    def __init__(self, text: str, row: Callable[..., R]) -> None: ...
    def __init__(self, text: str, row: Callable[..., Any] = _plain_row) -> None:
        self.names = list(dict.fromkeys(name for name in _PARAMETER.findall(text) if name))
        self.formats = [PyFormat.TEXT] * len(self.names)
        self.row = row
        place = {name: f"${number}" for number, name in enumerate(self.names, 1)}
        numbered = _PARAMETER.sub(lambda found: place[found[1]] if found[1] else "%", text)
        self.text = numbered.encode()
        # Derived from the text, so that clients behind a pooler share a name only for equal SQL.
        self.name = b"nextinline_" + sha256(self.text).hexdigest()[:24].encode()

    def all(self, **parameters: Any) -> list[R]:
        """Run the statement alone and return its rows."""
        rows: list[R] = run_statements([self], parameters)[0]
        return rows

    def first(self, **parameters: Any) -> R | None:
        """Run the statement alone and return its first row, if there is one."""
        rows = self.all(**parameters)
        return rows[0] if rows else None


_BEGIN, _COMMIT = PreparedStatement("BEGIN"), PreparedStatement("COMMIT")
_BEGIN_SNAPSHOT = PreparedStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def run_statements(
    statements: Sequence[PreparedStatement[Any]],
    parameters: Parameters,
    *,
    commit: bool = False,
    snapshot: bool = False,
) -> list[list[Any]]:
    """Run statements in one round trip and return the rows of each.

    Each statement sees what was committed before it began. With `commit`, the transaction ends in
    the same trip, unless an outer transaction (such as a test's) encloses it. With `snapshot`, the
    statements only read, all as of one instant, in a separate transaction; inside an existing
    transaction they see what it sees. Raises django.db's errors; the trip then has no effect.
    """
    database = connections[DEFAULT_DB_ALIAS]  # the proxy `connection` looks it up at each access
    database.validate_no_broken_transaction()
    database.close_if_health_check_failed()
    database.ensure_connection()
    raw = database.connection
    session = raw.__dict__.get("prepared_statements")
    if session is None:
        session = raw.__dict__["prepared_statements"] = _PreparedSession(raw)
    began = time.monotonic()
    try:
        with database.wrap_database_errors:
            ends = commit and not database.savepoint_ids
            return session.trip(statements, parameters, commit=ends, snapshot=snapshot)
    finally:
        if database.queries_logged:
            taken = f"{time.monotonic() - began:.3f}"
            log = [{"sql": each.text.decode(), "time": taken} for each in statements]
            database.queries_log.extend(log)


class _PreparedSession:
    """Prepared statements of a connection, and its exchange with the server."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self._raw = raw
        self._wire = raw.pgconn
        self._transformer = Transformer(raw)
        self._known: set[bytes] = set()
        self._prepares = getattr(settings, "PREPARED_STATEMENTS", True)
        self._poll = select.poll()

    def trip(
        self,
        statements: Sequence[PreparedStatement[Any]],
        parameters: Parameters,
        *,
        commit: bool,
        snapshot: bool,
    ) -> list[list[Any]]:
        """Send the statements with one sync and return their rows."""
        idle = self._wire.transaction_status == pq.TransactionStatus.IDLE
        begins = idle and (snapshot or not self._raw.autocommit)
        commit = commit or (idle and snapshot)
        begin = _BEGIN_SNAPSHOT if snapshot else _BEGIN
        sent = [*([begin] if begins else ()), *statements, *([_COMMIT] if commit else ())]
        for _ in sent:
            try:
                results = self._exchange(sent, parameters)
                break
            except _STALE as error:
                if not idle:
                    raise psycopg.OperationalError(str(error)) from error
                if begins:
                    self._raw.rollback()
                if isinstance(error, psycopg.errors.FeatureNotSupported):
                    self._wire.exec_(b"DEALLOCATE ALL")
                    self._known.clear()
            except psycopg.Error:
                if begins and snapshot and not self._raw.closed:
                    self._raw.rollback()  # only this function knows of the transaction
                raise
        else:
            results = self._exchange(sent, parameters)
        found = results[1:] if begins else results
        return [self._load(*pair) for pair in zip(statements, found, strict=False)]

    def _exchange(
        self, statements: Sequence[PreparedStatement[Any]], parameters: Parameters
    ) -> list[pq.abc.PGresult]:
        """Send statements and return one result for each. Raises the first error, as psycopg's."""
        wire = self._wire
        wire.enter_pipeline_mode()
        try:
            prepared = self._send(statements, parameters)
            wire.pipeline_sync()
            results = self._receive()
            wire.exit_pipeline_mode()
        except BaseException:
            self._raw.close()  # it is unknown how much was read
            raise
        if prepared:
            done = pq.ExecStatus.COMMAND_OK
            self._known |= {name for at, name in prepared.items() if results[at].status == done}
        failed = next((each for each in results if each.status in _FAILED), None)
        if failed is None:
            return [each for at, each in enumerate(results) if at not in prepared]
        error = psycopg.errors.error_from_result(failed, encoding="utf-8")
        if isinstance(error, psycopg.errors.InvalidSqlStatementName):
            self._known.clear()
        elif isinstance(error, psycopg.errors.DuplicatePreparedStatement):
            self._known.add(prepared[results.index(failed)])
        raise error

    def _send(
        self, statements: Sequence[PreparedStatement[Any]], parameters: Parameters
    ) -> dict[int, bytes]:
        """Buffer the statements. Map the places of results that belong to a PREPARE to its name."""
        prepared: dict[int, bytes] = {}
        for at, statement in enumerate(statements):
            given = [parameters[name] for name in statement.names]
            sent = self._transformer.dump_sequence(given, statement.formats)
            if not self._prepares:
                self._wire.send_query_params(statement.text, sent, None, None, _BINARY)
                continue
            name = statement.name
            if name not in self._known and name not in prepared.values():
                prepared[at + len(prepared)] = name
                self._wire.send_prepare(name, statement.text)
            self._wire.send_query_prepared(name, sent, None, _BINARY)
        return prepared

    def _receive(self) -> list[pq.abc.PGresult]:
        """Send what is still buffered and return all results up to the sync."""
        wire = self._wire
        results: list[pq.abc.PGresult] = []
        unsent = wire.flush()
        while True:
            while wire.is_busy():
                wanted = select.POLLIN | (select.POLLOUT if unsent else 0)
                self._poll.register(wire.socket, wanted)
                self._poll.poll()
                wire.consume_input()
                if unsent:
                    unsent = wire.flush()
            result = wire.get_result()
            if result is None:
                if wire.status != pq.ConnStatus.OK:
                    raise psycopg.OperationalError("the connection to the database is lost")
            elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _load(self, statement: PreparedStatement[R], result: pq.abc.PGresult) -> list[R]:
        if not result.ntuples:
            return []
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, lambda row: statement.row(*row))

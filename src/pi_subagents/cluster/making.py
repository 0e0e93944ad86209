"""
Make a cluster in a database, or bring one up to date: roles, tables, functions, the queue.

In: an address whose user owns the database.  Out: what was there and what is there now; done twice
it changes nothing.  All of it happens in one transaction, so that it is there whole or not at all.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from pi_subagents.cluster.failures import CALLED_BY, ROLES, SUBMIT, WORK, unreachable
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.value import value
from pi_subagents.errors.cluster import (
    ClusterInitRefused,
    ClusterOfOtherVersion,
    ClusterPackageMissing,
    ClusterRolesMissing,
)

try:
    import psycopg
    from psycopg import sql
except ImportError as error:  # loaded only where a cluster is used
    raise ClusterPackageMissing("psycopg") from error

if TYPE_CHECKING:
    from pi_subagents.cluster.address import ClusterAddress

VERSION = 1  # of our tables
_FUNCTIONS = ("queueing", "submitting", "working", "packs", "tending", "looking")
_LOCK = 7283944  # two that make the same cluster do it one after the other


@value
class MadeCluster:
    """What is there now."""

    cluster_id: str
    version: int
    is_new: bool
    roles_made: tuple[str, ...]


def make_cluster(address: ClusterAddress) -> MadeCluster:
    """Make it, or replace its functions by ours; raise where this user may not."""
    try:
        connection = psycopg.connect(**address.parameters("subagents init"))
    except psycopg.Error as error:
        raise unreachable(address, error) from None
    with connection:
        try:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            made = _make_roles(connection, address)
            is_new = _version(connection) is None
            if is_new:
                _make_tables(connection)
            _check_version(connection, address)
            for name in _FUNCTIONS:
                connection.execute(_text(name))
            _grant(connection)
            row = connection.execute("SELECT id::text, version FROM subagents.cluster").fetchone()
        except psycopg.Error as error:
            said = error.diag.message_primary or str(error)
            raise ClusterInitRefused(address.shown, one_line(said, 300)) from None
    assert row is not None
    return MadeCluster(cluster_id=row[0], version=row[1], is_new=is_new, roles_made=made)


def _make_roles(connection: psycopg.Connection[Any], address: ClusterAddress) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY (%s)", (list(ROLES),)
    )
    there = {row[0] for row in rows}
    missing = tuple(role for role in ROLES if role not in there)
    statements = tuple(f"CREATE ROLE {role} NOLOGIN;" for role in missing)
    try:
        with connection.transaction():
            for statement in statements:
                connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        user = address.user or "The user of the address"
        raise ClusterRolesMissing(user, statements) from None
    return missing


def _version(connection: psycopg.Connection[Any]) -> int | None:
    row = connection.execute("SELECT to_regclass('subagents.cluster') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return None
    row = connection.execute("SELECT version FROM subagents.cluster").fetchone()
    return None if row is None else int(row[0])


def _make_tables(connection: psycopg.Connection[Any]) -> None:
    try:
        import procrastinate
        from procrastinate.schema import SchemaManager
    except ImportError as error:
        raise ClusterPackageMissing("procrastinate") from error
    connection.execute("CREATE SCHEMA subagents_queue")
    connection.execute("REVOKE ALL ON SCHEMA subagents_queue FROM PUBLIC")
    connection.execute("SET LOCAL search_path = subagents_queue")
    connection.execute(SchemaManager.get_schema())
    connection.execute("SET LOCAL search_path = pg_catalog")
    connection.execute(_text("tables"))
    connection.execute(
        "INSERT INTO subagents.cluster (version, queue_version) VALUES (%s, %s)",
        (VERSION, procrastinate.__version__),
    )


def _check_version(connection: psycopg.Connection[Any], address: ClusterAddress) -> None:
    its = _version(connection)
    if its != VERSION:
        raise ClusterOfOtherVersion(address.shown, its or 0, VERSION)


def _grant(connection: psycopg.Connection[Any]) -> None:
    """Everybody may do what their role needs, and nothing else is left from before."""
    ours = sql.SQL(", ").join(map(sql.Identifier, ROLES))
    connection.execute(
        sql.SQL(
            "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA subagents FROM PUBLIC, {0};"
            "REVOKE ALL ON ALL TABLES IN SCHEMA subagents FROM PUBLIC, {0};"
            "GRANT USAGE ON SCHEMA subagents TO {0};"
            # Procrastinate's worker reads and writes its own tables; nobody else's do.
            "GRANT USAGE ON SCHEMA subagents_queue TO {1};"
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA subagents_queue TO {1};"
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA subagents_queue TO {1}"
        ).format(ours, sql.Identifier(WORK))
    )
    rows = connection.execute(
        "SELECT proname, oid::regprocedure::text FROM pg_proc"
        " WHERE pronamespace = 'subagents'::regnamespace"
    ).fetchall()
    for name, signature in rows:
        for role in CALLED_BY.get(name, ()):
            grant = f'GRANT EXECUTE ON FUNCTION {signature} TO "{role}"'
            connection.execute(grant)


def _text(name: str) -> str:
    path = resources.files("pi_subagents.cluster").joinpath("sql", f"{name}.sql")
    return path.read_text("utf-8")


def what_users_need(user: str) -> tuple[str, ...]:
    """Return what the owner types so that users may submit and work."""
    return (f"GRANT {SUBMIT} TO {user};", f"GRANT {WORK} TO {user};")

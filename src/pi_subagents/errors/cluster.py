"""What goes wrong between this machine and the database of a cluster."""

from __future__ import annotations

from pi_subagents.errors.base import SetupError, StoreError


class ClusterError(SetupError):
    """A cluster cannot be used as it is."""


class ClusterPackageMissing(ClusterError):
    """A package that only clusters need is not installed."""

    def __init__(self, package: str, extra: str = "cluster") -> None:
        self.package = package
        super().__init__(
            f"A cluster needs the package {package}: pip install 'pi-subagents[{extra}]'"
        )


class ClusterAddressMissing(ClusterError):
    """Nobody said where the cluster is."""

    def __init__(self) -> None:
        super().__init__(
            "No cluster is known here. Say where its database is: PI_SUBAGENTS_CLUSTER in the "
            'environment, or "cluster" under "subagents" in your global settings, such as '
            "postgresql://caller@db.example.org/agents"
        )


class ClusterAddressInvalid(ClusterError):
    """What was said about where the cluster is cannot be understood; it is not shown."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The address of the cluster is not one of PostgreSQL: {reason}. It looks like "
            "postgresql://caller@db.example.org/agents"
        )


class ClusterUnreachable(ClusterError):
    """The database does not answer."""

    def __init__(self, shown: str, reason: str) -> None:
        self.shown = shown
        super().__init__(f"Cannot reach the cluster at {shown}: {reason}")


class ClusterNotMade(ClusterError):
    """The database answers, and has no cluster in it."""

    def __init__(self, shown: str) -> None:
        super().__init__(
            f"There is no cluster at {shown} yet: as the owner of the database, "
            "run `subagents cluster init`."
        )


class ClusterOfOtherVersion(ClusterError):
    """The tables of the cluster are those of another version of this package."""

    def __init__(self, shown: str, its: int, ours: int) -> None:
        older = its < ours
        what = (
            "run `subagents cluster init` there" if older else "install a newer pi-subagents here"
        )
        super().__init__(
            f"The cluster at {shown} has version {its} of its tables, and this is {ours}: {what}."
        )


class ClusterRolesMissing(ClusterError):
    """Roles that the cluster needs are not there, and whoever asks may not create them."""

    def __init__(self, user: str, statements: tuple[str, ...]) -> None:
        self.statements = statements
        listed = "\n".join(f"  {each}" for each in statements)
        super().__init__(
            f"{user} may not create roles. Have somebody who may type this, then try again:\n"
            f"{listed}"
        )


class ClusterInitRefused(ClusterError):
    """Whoever asks may not make a cluster in that database."""

    def __init__(self, shown: str, reason: str) -> None:
        super().__init__(f"No cluster was made at {shown}: {reason}")


class ClusterRefused(ClusterError):
    """The database refuses what was asked."""

    def __init__(self, shown: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The cluster at {shown} refuses that: {reason}")


class ClusterRoleLacking(ClusterError):
    """Whoever is connected has no right to ask that; without a role, only the owner has."""

    def __init__(self, shown: str, user: str, role: str) -> None:
        self.role = role
        needed = (
            f"it takes the role {role}. The owner of the database gives it: "
            f"GRANT {role} TO {user or 'the user of the address'};"
            if role
            else "that is for the owner of the database, who ran `subagents cluster init`."
        )
        super().__init__(f"The cluster at {shown} refuses that: {needed}")


class AttemptOver(ClusterError):
    """A worker's attempt at a run counts no more: another one does, or the run has ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class ClusterRunUnknown(StoreError):
    """The cluster knows no such run, worker or call, or none of ours."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The cluster does not know that: {reason}.")


class LocalServerFailed(ClusterError):
    """PostgreSQL could not be started on this machine."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"PostgreSQL did not start on this machine: {reason}")


class ClusterBusyHere(ClusterError):
    """Somebody tries a cluster on this machine already."""

    def __init__(self) -> None:
        super().__init__("`subagents cluster try` is at work here already.")

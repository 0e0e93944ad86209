"""Why a task does not go to the workers of a cluster, or one of them does not take it."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, SubagentsError


class OrderRefused(SubagentsError):
    """An order from another machine is not what an order may be."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where} {problem}")


class CannotTravel(RequestError):
    """A task asks for something that is on the caller's machine alone."""

    def __init__(self, task: str, what: str, why: str) -> None:
        self.task = task
        self.what = what
        self.why = why
        super().__init__(f"The task {task} cannot run in a cluster: {what} {why}.")

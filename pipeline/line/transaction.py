"""Transaction of a service, which keeps the settlement even if the service then refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from pipeline.domain.errors import LineError

P = ParamSpec("P")
T = TypeVar("T")


def line_transaction(service: Callable[P, T]) -> Callable[P, T]:
    """Run a service in its own transaction. It must not be called inside another one.

    A refusal (LineError) is raised after the commit. A service writes its own change last, so this
    commit holds only the settlement. Any other error rolls back.
    """

    @wraps(service)
    def run_in_transaction(*args: P.args, **kwargs: P.kwargs) -> T:
        with transaction.atomic(durable=True):
            try:
                return service(*args, **kwargs)
            except LineError as error:
                refusal = error
        raise refusal

    return run_in_transaction

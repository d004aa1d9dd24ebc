"""What makes a verb of the line one transaction that keeps its settlement when it refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from pipeline.domain.errors import LineError

P = ParamSpec("P")
T = TypeVar("T")


def change(verb: Callable[P, T]) -> Callable[P, T]:
    """Run a verb in a transaction of its own; it must not be called inside another.

    A refusal (LineError) is raised after the commit: a verb writes its own change last, so what is
    committed then is only what it settled on the way. Anything else that is raised rolls back.
    """

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with transaction.atomic(durable=True):
            try:
                return verb(*args, **kwargs)
            except LineError as error:
                refusal = error
        raise refusal

    return run

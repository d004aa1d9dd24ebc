"""An event loop whose time passes only while it waits, and then at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Loop that never waits for a timer: it moves its clock on to the next one."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        select = self._selector.select  # type: ignore[attr-defined]

        def select_at_once(timeout: float | None) -> Any:
            self._now += timeout or 0.0
            return select(timeout and 0)

        self._selector.select = select_at_once  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._now


def seconds_of_loop(story: Coroutine[Any, Any, Any]) -> float:
    """Run a coroutine; return how many seconds it waited for timers."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(story)
        return runner.get_loop().time()

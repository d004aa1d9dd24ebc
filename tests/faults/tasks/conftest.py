"""Workers as processes of their own, marks that handlers leave, and the types of these tests."""

from __future__ import annotations

from tests.faults.tasks import fault_types
from tests.tasks.conftest import marks
from tests.tasks.workers import start_worker

__all__ = ["marks", "start_worker"]

fault_types.register_new_release()

"""Register the task types of these tests."""

from __future__ import annotations

from tests.faults.tasks import fault_types

fault_types.register_new_release()

"""Two releases of the product, as far as these tests need them: apps that bring types along."""

from django.apps import AppConfig


class OldRelease(AppConfig):
    name = "tests.faults.tasks"
    label = "fault_types"

    def ready(self) -> None:
        from tests.faults.tasks import fault_types

        fault_types.register_old_release()


class NewRelease(OldRelease):
    def ready(self) -> None:
        from tests.faults.tasks import fault_types

        fault_types.register_new_release()

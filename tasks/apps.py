from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Background work"

    def ready(self) -> None:
        """Register the types in each app's `tasks` module and, if enabled, the demo's."""
        from tasks import registry

        if settings.DEMO_TASKS:
            from tasks import demo_task  # noqa: F401 -- registers its types

        def write_types_of_migrated_app(using: str, **_: Any) -> None:
            registry.write_registered_types()

        autodiscover_modules("tasks")
        post_migrate.connect(
            write_types_of_migrated_app, sender=self, weak=False, dispatch_uid="tasks.registry"
        )

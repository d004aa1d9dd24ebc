from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Background work"

    def ready(self) -> None:
        """Learn every app's types: those of `<app>.tasks`, and our own."""
        from tasks import demo_task, registry  # noqa: F401 -- the former registers its types

        def write_types(using: str, **_: Any) -> None:
            registry.sync()

        autodiscover_modules("tasks")
        post_migrate.connect(write_types, sender=self, weak=False, dispatch_uid="tasks.registry")

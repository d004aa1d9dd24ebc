from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Background work"

    def ready(self) -> None:
        """Learn every app's types: those of `<app>.tasks` and, where switched on, the demo's."""
        from tasks import registry

        if settings.DEMO_TASKS:
            from tasks import demo_task  # noqa: F401 -- registers its types

        def write_types(using: str, **_: Any) -> None:
            registry.sync()

        autodiscover_modules("tasks")
        post_migrate.connect(write_types, sender=self, weak=False, dispatch_uid="tasks.registry")

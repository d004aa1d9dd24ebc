from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = gettext_lazy("Background work")

    def ready(self) -> None:
        """Register the types in each app's `tasks` module and, if enabled, the demo's."""
        if settings.DEMO_TASKS:
            from tasks import demo_task  # noqa: F401 -- registers its types

        autodiscover_modules("tasks")
        post_migrate.connect(self.write_types, sender=self, dispatch_uid="tasks.registry")

    def write_types(self, **_: Any) -> None:
        """Write the registered types into a database that was migrated."""
        from tasks import registry

        registry.write_registered_types()

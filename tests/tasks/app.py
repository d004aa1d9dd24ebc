"""A Django app that only brings task types along; its handlers are in `handlers`."""

from django.apps import AppConfig


class Handlers(AppConfig):
    name = "tests.tasks"
    label = "task_handlers"

    def ready(self) -> None:
        from tests.tasks import handlers  # noqa: F401 -- registers its types

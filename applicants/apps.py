from importlib import import_module

from django.apps import AppConfig


class ApplicantsConfig(AppConfig):
    name = "applicants"
    verbose_name = "People"

    def ready(self) -> None:
        import_module("applicants.checks")

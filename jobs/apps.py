from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "Openings and companies"

    def ready(self) -> None:
        """Connect the signal receivers."""
        from jobs import signals  # noqa: F401  importing connects them

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "Openings and companies"

    def ready(self) -> None:
        """Have what follows from writing rows happen."""
        from jobs import security, signals  # noqa: F401  connects their receivers

from django.apps import AppConfig


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "The line"

    def ready(self) -> None:
        """Have every process that changes lines tell people by mail, and the live pages.

        Tests do so where they ask.
        """
        from pipeline import env
        from pipeline.live.announcer import start_announcing
        from pipeline.notifications.delivery import start_notifying

        start_notifying()
        if not env.TESTING:
            start_announcing()

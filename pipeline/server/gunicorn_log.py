"""Gunicorn's own log lines, such as a worker that is replaced, in the format of all others."""

from __future__ import annotations

from typing import Any

from gunicorn.glogging import Logger

from pipeline.config import env
from pipeline.config.logging import JSONFormatter


class LineLogger(Logger):
    """gunicorn's logger, which writes JSON lines if the other processes do."""

    def setup(self, cfg: Any) -> None:
        """Set up the loggers as gunicorn does, then choose the format of their lines."""
        super().setup(cfg)
        if env.LOG_FORMAT == "json":
            for handler in self.error_log.handlers:
                handler.setFormatter(JSONFormatter())

"""Task that keeps the forecasts of waiting people up to date, for the whole site."""

from __future__ import annotations

from pipeline.forecast.statements import update_forecast_statements
from pipeline.maintenance.site_task import site_task
from tasks.context import Context
from tasks.scheduling import schedules

KEY = "forecast.update"
EVERY_TEN_MINUTES = "*/10 * * * *"


@site_task(key=KEY, timeout_seconds=540)
def update_forecasts_in_task(_: Context) -> dict[str, int]:
    """Make new forecasts, and note which of the earlier ones came true."""
    return update_forecast_statements()


def ensure_forecast_task() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure_schedule("Forecasts", EVERY_TEN_MINUTES, KEY)

"""Settings of the still site: those of the product, and the pages that only developers see."""

from __future__ import annotations

from pipeline.settings import *  # noqa: F403

DEV_MAIL = True

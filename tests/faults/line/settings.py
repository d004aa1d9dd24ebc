"""The product's settings without emails, which are another test's."""

from pipeline.settings import *  # noqa: F403  the product's

NOTIFY = False

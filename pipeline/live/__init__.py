"""Telling open pages that a line has changed: see docs/architecture.md."""

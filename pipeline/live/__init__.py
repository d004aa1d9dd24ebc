"""Live updates of open pages when a line changes. See docs/architecture.md."""

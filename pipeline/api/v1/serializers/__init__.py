"""Shapes of what comes in and of what goes out. They ask the database nothing."""

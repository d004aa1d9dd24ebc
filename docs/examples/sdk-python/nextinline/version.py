"""Version of the client."""

__version__ = "0.2.0"

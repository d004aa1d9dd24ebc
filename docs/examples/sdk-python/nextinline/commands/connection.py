"""Client of the command, made from the environment."""

from __future__ import annotations

import os

from nextinline.synchronous.client import Client

KEY, ADDRESS = "NEXT_IN_LINE_KEY", "NEXT_IN_LINE_URL"
DEFAULT_ADDRESS = "http://127.0.0.1:8000"


class Unusable(Exception):
    """What the user gave cannot be used. The text says why and what to do."""


def own_key() -> str:
    """Return the API key. Raises Unusable.

    It comes from the environment alone: other users of the machine can read arguments.
    """
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise Unusable(f"Set {KEY} to an API key of your company, which begins with nilk_.")
    return key


def site_address() -> str:
    """Return the address of the site."""
    return os.environ.get(ADDRESS, "").strip() or DEFAULT_ADDRESS


def connect() -> Client:
    """Return a client with the user's key. Raises Unusable."""
    return Client(own_key(), base_url=site_address())


def is_sandbox() -> bool:
    """Tell whether the key is one of test mode."""
    return own_key().startswith("nilk_test_")

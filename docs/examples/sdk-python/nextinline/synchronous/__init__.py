"""Synchronous client, made by make_sync.py."""

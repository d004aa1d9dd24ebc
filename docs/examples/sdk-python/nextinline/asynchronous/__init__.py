"""Asynchronous client. The synchronous one is made from it: see make.py."""

"""Endpoints: each turns a request into one call, and what comes back into an answer."""

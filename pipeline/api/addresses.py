"""Where a request comes from: see `pipeline.addresses`."""

from pipeline.addresses import client_address

__all__ = ["client_address"]

"""Reads for pages and endpoints. Each takes a bounded number of statements and no locks."""

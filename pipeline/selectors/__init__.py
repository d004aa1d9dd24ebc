"""Reads for pages and endpoints: a bounded number of statements each, and no locks."""

"""Careers pages: what visitors see on the site and at own domains, and their settings."""

"""Addresses of the pages that take in many applications from a file."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

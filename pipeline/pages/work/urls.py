"""Addresses of the pages about background work: tasks, dead letters, schedules."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

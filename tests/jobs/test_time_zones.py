"""Time zones: the names that this machine knows, and those that a form offers."""

from __future__ import annotations

import zoneinfo

import pytest

from jobs import time_zones


def test_a_form_offers_utc_and_the_zones_of_places_by_name() -> None:
    values = [value for value, _ in time_zones.choices()]

    assert values[0] == "UTC"
    assert values[1:] == sorted(values[1:])
    assert dict(time_zones.choices())["America/New_York"] == "America/New York"
    assert {"Europe/Berlin", "America/Argentina/Salta"} <= set(values) <= time_zones.known()
    assert not any(value.startswith("Etc/") or "/" not in value for value in values[1:])


def test_the_machines_own_zone_is_no_name() -> None:
    assert not {"localtime", "posixrules"} & time_zones.known()


def test_the_disk_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = time_zones.known()

    monkeypatch.setattr(zoneinfo, "available_timezones", pytest.fail)

    assert time_zones.known() is known
    assert "Europe/Berlin" in dict(time_zones.choices())

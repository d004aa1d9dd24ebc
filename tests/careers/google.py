"""Google's rules for structured data of jobs, and schema.org's, written out as a validator.

https://developers.google.com/search/docs/appearance/structured-data/job-posting, read in 2026, and
https://schema.org/JobPosting.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

EMPLOYMENT_TYPES = {
    *("FULL_TIME", "PART_TIME", "CONTRACTOR", "TEMPORARY"),
    *("INTERN", "VOLUNTEER", "PER_DIEM", "OTHER"),
}
UNITS = {"HOUR", "DAY", "WEEK", "MONTH", "YEAR"}
# schema.org's properties of each type that we may use, and what each holds.
PROPERTIES = {
    "JobPosting": {
        *("title", "description", "datePosted", "validThrough", "employmentType", "url"),
        *("hiringOrganization", "jobLocation", "jobLocationType", "identifier", "baseSalary"),
        *("applicantLocationRequirements", "directApply", "employmentUnit", "totalJobOpenings"),
    },
    "Organization": {"name", "sameAs", "logo"},
    "Place": {"address"},
    "PostalAddress": {"addressLocality", "addressCountry"},
    "Country": {"name"},
    "PropertyValue": {"name", "value"},
    "MonetaryAmount": {"currency", "value"},
    "QuantitativeValue": {"value", "minValue", "maxValue", "unitText"},
}
REQUIRED = {
    "JobPosting": {"title", "description", "datePosted", "hiringOrganization"},
    "Organization": {"name"},
    "Place": {"address"},
    "PostalAddress": {"addressCountry"},
    "Country": {"name"},
    "PropertyValue": {"name", "value"},
    "MonetaryAmount": {"currency", "value"},
    "QuantitativeValue": {"unitText"},
}
TYPES = {
    "hiringOrganization": "Organization",
    "employmentUnit": "Organization",
    "jobLocation": "Place",
    "address": "PostalAddress",
    "applicantLocationRequirements": "Country",
    "identifier": "PropertyValue",
    "baseSalary": "MonetaryAmount",
}


def faults(said: Any) -> list[str]:
    """Return what in a JobPosting breaks a rule; empty if it is right."""
    if not isinstance(said, dict):
        return ["no object"]
    found = [] if said.get("@context") == "https://schema.org/" else ["@context"]
    found += _shape({key: said[key] for key in said if key != "@context"}, "JobPosting")
    return found + _place(said) + _texts(said) + _pay(said.get("baseSalary"))


def _shape(node: Any, kind: str, at: str = "") -> list[str]:
    """Check a node's type and properties, and those below it."""
    if not isinstance(node, dict) or node.get("@type") != kind:
        return [f"{at or '/'} is no {kind}"]
    names = node.keys() - {"@type"}
    found = [f"{at}/{name} is unknown" for name in names - PROPERTIES[kind]]
    found += [f"{at}/{name} is missing" for name in REQUIRED[kind] - names]
    found += [f"{at}/{name} is empty" for name in names if node[name] in ("", None, [], {})]
    for name in names:
        if name in TYPES:
            found += _shape(node[name], TYPES[name], f"{at}/{name}")
    return found


def _place(said: dict[str, Any]) -> list[str]:
    remote, where = said.get("jobLocationType"), said.get("applicantLocationRequirements")
    if remote not in (None, "TELECOMMUTE"):
        return ["jobLocationType"]
    if remote and not (where or said.get("jobLocation")):
        return ["remote without a country"]
    if where and not remote:
        return ["applicantLocationRequirements without TELECOMMUTE"]
    if not remote and "jobLocation" not in said:
        return ["jobLocation is missing"]
    country = where["name"] if where else said["jobLocation"]["address"]["addressCountry"]
    return [] if re.fullmatch("[A-Z]{2}", country) else ["country"]


def _texts(said: dict[str, Any]) -> list[str]:
    found = []
    for name in ("datePosted", "validThrough"):
        if name in said and datetime.fromisoformat(said[name]).tzinfo is None:
            found.append(f"{name} without an offset")
    if "validThrough" in said and said["validThrough"] <= said["datePosted"]:
        found.append("ends before it begins")
    return found + _codes(said) + _description(said)


def _codes(said: dict[str, Any]) -> list[str]:
    found = []
    if said.get("employmentType", "OTHER") not in EMPLOYMENT_TYPES:
        found.append("employmentType")
    if said.get("directApply", True) not in (True, False):
        found.append("directApply")
    urls = [said.get("url"), said["hiringOrganization"].get("sameAs")]
    urls.append(said["hiringOrganization"].get("logo"))
    return found + [f"{url} is no URL" for url in urls if url and not urlsplit(url).netloc]


def _description(said: dict[str, Any]) -> list[str]:
    found = []
    if re.sub("<[^>]*>", "", said["description"]).strip() == said["title"]:
        found.append("the description is the title")
    if not re.search("<(p|ul|ol|h2|h3|h4|blockquote)>", said["description"]):
        found.append("the description is no HTML")
    if re.search(r"[<>]", said["title"]):
        found.append("HTML in the title")
    return found


def _pay(pay: Any) -> list[str]:
    if pay is None:
        return []
    value = pay["value"]
    found = _shape(value, "QuantitativeValue", "/baseSalary/value")
    if not re.fullmatch("[A-Z]{3}", pay["currency"]) or value.get("unitText") not in UNITS:
        found.append("currency or unitText")
    amounts = [value.get(name) for name in ("value", "minValue", "maxValue") if name in value]
    if not amounts or not all(isinstance(each, int | float) and each > 0 for each in amounts):
        found.append("no amount")
    if ("minValue" in value) != ("maxValue" in value) or ("value" in value) == (
        "minValue" in value
    ):
        found.append("one amount or a range")
    if "minValue" in value and value["minValue"] > value["maxValue"]:
        found.append("the range is upside down")
    return found

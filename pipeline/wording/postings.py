"""Words about the facts of a posting: kind of work, place, pay and department."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext as _

from jobs.postings import PayPeriod, PostingFacts, countries, plain_amount
from pipeline.wording import language


class Fact(NamedTuple):
    """Fact of a posting in words, its name, and the icon before it."""

    icon: str  # of heroicons
    label: str
    words: str


def describe_facts(posting: PostingFacts) -> list[Fact]:
    """Return what a posting says of the work besides its location, in words; empty for nothing."""
    facts = [
        Fact("briefcase", _("Employment type"), posting.get_employment_type_display()),
        Fact("home", _("Workplace"), describe_workplace(posting)),
        Fact("banknotes", _("Pay"), describe_pay(posting)),
        Fact("user-group", _("Department"), posting.department),
    ]
    return [fact for fact in facts if fact.words]


def describe_workplace(posting: PostingFacts) -> str:
    """Return where the work is done, with the country; empty if neither is said."""
    place = str(posting.get_workplace_display())
    known = countries().get(posting.country, "")
    country = language.country(posting.country, known) if known else ""
    if place and country:
        return _("%(workplace)s, %(country)s") % {"workplace": place, "country": country}
    return place or country


def describe_pay(posting: PostingFacts) -> str:
    """Return what is paid, like EUR 3,500 to 4,200 per month; empty if it is not said."""
    if not posting.has_pay:
        return ""
    low, high = (
        None if amount is None else _with_thousands(plain_amount(amount))
        for amount in (posting.pay_minimum, posting.pay_maximum)
    )
    words = {
        "currency": posting.pay_currency,
        "low": low,
        "high": high,
        "period": PayPeriod(posting.pay_period).label,
    }
    if low == high or (low and high is None):
        text = (
            _("%(currency)s %(low)s %(period)s")
            if low == high
            else _("From %(currency)s %(low)s %(period)s")
        )
    elif low is None:
        text = _("Up to %(currency)s %(high)s %(period)s")
    else:
        text = _("%(currency)s %(low)s to %(high)s %(period)s")
    return text % words


def _with_thousands(amount: str) -> str:
    whole, point, rest = amount.partition(".")
    return f"{int(whole):,}{point}{rest}"

"""Facts of a posting besides its text: kind of work, place, pay, department and language."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from django.conf.locale import LANG_INFO
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

DEPARTMENT_LENGTH = 100
LANGUAGE_LENGTH = 10
PAY_DIGITS, PAY_PLACES = 11, 2


class EmploymentType(models.TextChoices):
    """Kind of employment, in the words of Google and schema.org."""

    FULL_TIME = "FULL_TIME", pgettext_lazy("employment", "Full-time")
    PART_TIME = "PART_TIME", pgettext_lazy("employment", "Part-time")
    CONTRACTOR = "CONTRACTOR", pgettext_lazy("employment", "Contract")
    TEMPORARY = "TEMPORARY", pgettext_lazy("employment", "Temporary")
    INTERN = "INTERN", pgettext_lazy("employment", "Internship")
    VOLUNTEER = "VOLUNTEER", pgettext_lazy("employment", "Volunteer")
    PER_DIEM = "PER_DIEM", pgettext_lazy("employment", "By the day")
    OTHER = "OTHER", pgettext_lazy("employment", "Other")


class Workplace(models.TextChoices):
    """Place of the work: the company's, at home, or both."""

    ON_SITE = "ON_SITE", pgettext_lazy("workplace", "On site")
    HYBRID = "HYBRID", pgettext_lazy("workplace", "Partly remote")
    REMOTE = "REMOTE", pgettext_lazy("workplace", "Remote")


class PayPeriod(models.TextChoices):
    """Time for which an amount is paid."""

    HOUR = "HOUR", gettext_lazy("per hour")
    DAY = "DAY", gettext_lazy("per day")
    WEEK = "WEEK", gettext_lazy("per week")
    MONTH = "MONTH", gettext_lazy("per month")
    YEAR = "YEAR", gettext_lazy("per year")


# The codes of ISO 4217 for money that people are paid in: without metals, funds and tests.
CURRENCIES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD"
    " CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS"
    " GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW"
    " KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR"
    " MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR"
    " SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX"
    " USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG"
).split()


@cache
def countries() -> dict[str, str]:
    """Return the names of countries by their ISO 3166 code, as the time zone database has them."""
    table = files("tzdata").joinpath("zoneinfo/iso3166.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if line and not line.startswith("#"))
    return dict(sorted(((code, name) for code, name in rows), key=lambda row: row[1]))


@cache
def languages() -> dict[str, str]:
    """Return the names of languages by their code, each in the language itself."""
    named = {code: facts for code, facts in LANG_INFO.items() if "name_local" in facts}
    return {code: facts["name_local"] for code, facts in sorted(named.items())}


class PostingFacts(models.Model):
    """Columns of a posting's facts. Each can be empty: the company does not say."""

    employment_type = models.CharField(
        blank=True, default="", db_default="", max_length=10, choices=EmploymentType
    )
    workplace = models.CharField(
        blank=True, default="", db_default="", max_length=7, choices=Workplace
    )
    # Of the place, or for remote work the one where people may be; ISO 3166.
    country = models.CharField(blank=True, default="", db_default="", max_length=2)
    department = models.CharField(
        blank=True, default="", db_default="", max_length=DEPARTMENT_LENGTH
    )
    # Of the text.
    language = models.CharField(blank=True, default="", db_default="", max_length=LANGUAGE_LENGTH)
    # In whole units of the currency. Either can be empty; without both there is no currency.
    pay_minimum = models.DecimalField(null=True, max_digits=PAY_DIGITS, decimal_places=PAY_PLACES)
    pay_maximum = models.DecimalField(null=True, max_digits=PAY_DIGITS, decimal_places=PAY_PLACES)
    pay_currency = models.CharField(blank=True, default="", db_default="", max_length=3)
    pay_period = models.CharField(
        blank=True, default="", db_default="", max_length=5, choices=PayPeriod
    )

    class Meta:
        abstract = True

    @property
    def has_pay(self) -> bool:
        """Tell whether the posting says what is paid."""
        return bool(self.pay_currency)


FACTS = tuple(field.name for field in PostingFacts._meta.local_fields)
PAY_FACTS = ("pay_minimum", "pay_maximum", "pay_currency", "pay_period")
# Either no amount, currency and period, or a range with both.
PAY_WHOLE = Q(
    pay_minimum__isnull=True, pay_maximum__isnull=True, pay_currency="", pay_period=""
) | (
    (Q(pay_minimum__isnull=False) | Q(pay_maximum__isnull=False))
    & ~Q(pay_currency="")
    & ~Q(pay_period="")
    & (Q(pay_minimum__isnull=True) | Q(pay_minimum__gt=0))
    & (Q(pay_maximum__isnull=True) | Q(pay_maximum__gt=0))
    & (
        Q(pay_minimum__isnull=True)
        | Q(pay_maximum__isnull=True)
        | Q(pay_minimum__lte=F("pay_maximum"))
    )
)


def pay_refusals(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with a posting's pay, by field; empty if it is whole or not stated."""
    low, high = given.get("pay_minimum"), given.get("pay_maximum")
    currency, period = given.get("pay_currency"), given.get("pay_period")
    wrong: dict[str, str] = {}
    for name, amount in (("pay_minimum", low), ("pay_maximum", high)):
        if amount is not None and amount <= 0:
            wrong[name] = _("Enter an amount above 0, or leave it empty.")
    if low is None and high is None:
        if currency or period:
            wrong["pay_minimum"] = _("Enter an amount, or leave currency and period empty.")
        return wrong
    if low is not None and high is not None and low > high:
        wrong["pay_maximum"] = _("Enter an amount that is not below the lowest one.")
    if not currency:
        wrong["pay_currency"] = _("Enter a currency, like EUR.")
    if not period:
        wrong["pay_period"] = _("Choose a period.")
    return wrong


def plain_amount(amount: Decimal) -> str:
    """Return an amount without needless zeros: 3500, 15.50."""
    whole = amount.to_integral_value()
    return f"{whole:f}" if amount == whole else f"{amount:.2f}"

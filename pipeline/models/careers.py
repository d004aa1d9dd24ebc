"""Careers pages of companies: what they show, their logos, and the addresses they have had."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models import Company

SLUG_LENGTH = 40
INTRODUCTION_LENGTH = 5_000
DOMAIN_LENGTH = 253
ORIGIN_LENGTH = 300
MOST_ORIGINS = 10


class CareersPage(models.Model):
    """Public page of a company with its open jobs, at /c/<slug>/ and perhaps at its own domain."""

    company = models.OneToOneField(
        Company, models.CASCADE, primary_key=True, related_name="careers"
    )
    slug = models.CharField(max_length=SLUG_LENGTH, unique=True)
    introduction = models.TextField(blank=True, max_length=INTRODUCTION_LENGTH)  # Markdown
    # The company's own colour, as rrggbb; empty: the site's.
    colour = models.CharField(max_length=6, blank=True, default="")
    # Of its CareersLogo; empty: none.
    logo_digest = models.CharField(max_length=32, blank=True, default="")
    # False: its jobs are not on the site's list of all companies' jobs.
    is_on_site_list = models.BooleanField(default=True, db_default=True)
    # Other sites that may show the list and the form in a frame.
    embed_origins = ArrayField(models.CharField(max_length=ORIGIN_LENGTH), default=list)
    # The company's own domain, the text of the record that proves it, when it last did, when it was
    # last looked up, and why it did not; the page is served there while `domain_proved_at` is set.
    domain = models.CharField(max_length=DOMAIN_LENGTH, blank=True, default="")
    domain_token = models.CharField(max_length=40, blank=True, default="")
    domain_proved_at = models.DateTimeField(null=True)
    domain_checked_at = models.DateTimeField(null=True)
    domain_problem = models.CharField(max_length=20, blank=True, default="")
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["domain"],
                condition=Q(domain_proved_at__isnull=False),
                name="one_careers_page_per_domain",
            ),
            models.CheckConstraint(
                condition=Q(domain_proved_at__isnull=True) | ~Q(domain=""),
                name="careers_domain_proved_if_any",
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def proved_domain(self) -> str:
        """Return the company's own domain if the page is served there, or nothing."""
        return self.domain if self.domain_proved_at else ""


class CareersSlug(models.Model):
    """Name in the address of a careers page: the present one, or one that redirects for a year."""

    slug = models.CharField(max_length=SLUG_LENGTH, primary_key=True)
    company = models.ForeignKey(Company, models.CASCADE, related_name="+")
    retired_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.slug


class CareersLogo(models.Model):
    """Logo of a company, as this site has encoded it: PNG."""

    company = models.OneToOneField(Company, models.CASCADE, primary_key=True, related_name="+")
    digest = models.CharField(max_length=32)
    data = models.BinaryField()
    width = models.IntegerField()
    height = models.IntegerField()

    def __str__(self) -> str:
        return self.digest

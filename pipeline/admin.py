"""Back office: read-only views of the line's rows and its log, and of people who apply."""

from __future__ import annotations

from django.contrib import admin

from applicants.models import Applicant
from pipeline.models import Application, CompanyText, Event, Letterhead
from tasks import readonly_admin
from tasks.readonly_admin import ReadonlyAdmin


@admin.register(Event)
class EventAdmin(ReadonlyAdmin):
    """The log. The database itself refuses to change it."""

    list_display = ("id", "at", "job_id", "seq", "event", "application_id", "actor_kind")
    ordering = ("-id",)
    readonly_fields = ("hash_in_hex", "prev_hash_in_hex")
    ids = ("job_id", "application_id")
    search_help_text = "The id of a job or an application"
    hash_in_hex = readonly_admin.hex_column("hash", "Hash")
    prev_hash_in_hex = readonly_admin.hex_column("prev_hash", "Hash before")


@admin.register(Application)
class ApplicationAdmin(ReadonlyAdmin):
    """Applications in their present state."""

    list_display = ("id", "job_id", "name", "status", "outcome", "applied_at")
    ordering = ("-id",)
    ids = ("id", "job_id", "applicant_id")
    beginnings = ("applicant__email",)
    search_help_text = "The beginning of an address, or the id of an application, a job or a person"


@admin.register(Applicant)
class ApplicantAdmin(ReadonlyAdmin):
    """People who apply."""

    list_display = ("id", "email", "created_at")
    ordering = ("-id",)
    beginnings = ("email",)
    search_help_text = "The beginning of an address, or an id"


@admin.register(Letterhead)
class LetterheadAdmin(ReadonlyAdmin):
    """Names that companies put on their emails, and where answers go."""

    list_display = ("company_id", "sender_name", "reply_address", "changed_at")
    ordering = ("-company_id",)
    ids = ("company_id",)
    search_help_text = "The id of a company"


@admin.register(CompanyText)
class CompanyTextAdmin(ReadonlyAdmin):
    """Texts that companies wrote, in all kept versions."""

    list_display = ("company_id", "kind", "language", "version", "changed_at", "changed_by_id")
    ordering = ("-id",)
    ids = ("company_id",)
    search_help_text = "The id of a company"

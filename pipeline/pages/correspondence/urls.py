"""URLs of the pages of messages, for companies and applicants."""

from django.urls import path

from pipeline.pages.correspondence import (
    applicant,
    bulk_messages,
    company,
    message_templates,
    talent_pool,
)

_THEIRS = "company/applications/<uuid:application_id>/messages/"
_JOB = "company/jobs/<uuid:job_id>/messages/"
_MINE = "me/applications/<uuid:application_id>/messages/"

urlpatterns = [
    path(_THEIRS, company.show, name="application_messages"),
    path(f"{_THEIRS}read/", company.mark_read, name="read_messages"),
    path(_JOB, company.list_threads, name="job_messages"),
    path(f"{_JOB}write/", bulk_messages.write, name="write_bulk_message"),
    path(f"{_JOB}<uuid:bulk_id>/", bulk_messages.show, name="bulk_message"),
    path(f"{_JOB}<uuid:bulk_id>/stop/", bulk_messages.stop, name="stop_bulk_message"),
    path("company/talent-pool/", talent_pool.index, name="talent_pool"),
    path("company/talent-pool/write/", talent_pool.write, name="write_to_pool"),
    path("company/message-templates/", message_templates.index, name="message_templates"),
    path(
        "company/message-templates/<uuid:template_id>/",
        message_templates.edit,
        name="message_template",
    ),
    path(_MINE, applicant.show, name="my_messages"),
    path(f"{_MINE}read/", applicant.mark_read, name="read_my_messages"),
]

"""URLs of the pages for a company's jobs and people."""

from django.urls import path

from pipeline.pages.company import (
    application,
    board,
    job_actions,
    jobs,
    people,
    retention,
    settings,
)

urlpatterns = [
    path("company/", jobs.company_jobs, name="company_jobs"),
    path("company/jobs/new/", jobs.new_job, name="new_job"),
    path("company/jobs/<uuid:job_id>/", board.board, name="board"),
    path("company/jobs/<uuid:job_id>/open/", job_actions.job_open, name="job_open"),
    path("company/jobs/<uuid:job_id>/pause/", job_actions.job_pause, name="job_pause"),
    path("company/jobs/<uuid:job_id>/close/", job_actions.job_close, name="job_close"),
    path("company/jobs/<uuid:job_id>/capacity/", job_actions.job_capacity, name="job_capacity"),
    path("company/jobs/<uuid:job_id>/add/", job_actions.job_add_person, name="add_person"),
    path("company/jobs/<uuid:job_id>/retention/", retention.job_retention, name="job_retention"),
    path("company/jobs/<uuid:job_id>/settings/", settings.job_settings, name="job_settings"),
    path(
        "company/applications/<uuid:application_id>/",
        application.company_application,
        name="application",
    ),
    path(
        "company/applications/<uuid:application_id>/decide/",
        application.decide_on_application,
        name="decide",
    ),
    path(
        "company/applications/<uuid:application_id>/emails/<uuid:email_id>/again/",
        application.send_application_email_again,
        name="send_email_again",
    ),
    path("company/people/", people.people, name="people"),
    path("company/people/<uuid:applicant_id>/", people.person_page, name="person"),
]

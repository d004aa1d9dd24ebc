"""URLs of the pages for a company's jobs and people."""

from django.urls import path

from pipeline.pages.company import (
    annotations,
    application,
    applications,
    board,
    contests,
    decisions,
    job_actions,
    job_templates,
    jobs,
    palette,
    people,
    planned_seats,
    reinstatement,
    retention,
    settings,
    share,
)
from pipeline.pages.company import decisions as bulk_decisions

urlpatterns = [
    path("company/", jobs.company_jobs, name="company_jobs"),
    path("company/look-again/", contests.company_contests, name="contests"),
    path(
        "company/applications/<uuid:application_id>/look-again/<uuid:contest_id>/",
        contests.answer_application_contest,
        name="answer_contest",
    ),
    path("company/jobs/new/", jobs.new_job, name="new_job"),
    path("company/jobs/<uuid:job_id>/", board.board, name="board"),
    path(
        "company/jobs/<uuid:job_id>/applications/",
        applications.applications_of_job,
        name="applications",
    ),
    path(
        "company/jobs/<uuid:job_id>/applications/view/",
        applications.change_saved_view_of_applications,
        name="saved_view",
    ),
    path("company/jobs/<uuid:job_id>/open/", job_actions.job_open, name="job_open"),
    path("company/jobs/<uuid:job_id>/pause/", job_actions.job_pause, name="job_pause"),
    path("company/jobs/<uuid:job_id>/delete/", job_actions.job_delete, name="job_delete"),
    path("company/jobs/<uuid:job_id>/close/", job_actions.job_close, name="job_close"),
    path("company/jobs/<uuid:job_id>/capacity/", job_actions.job_capacity, name="job_capacity"),
    path(
        "company/jobs/<uuid:job_id>/planned-seats/",
        planned_seats.planned_seats,
        name="planned_seats",
    ),
    path(
        "company/jobs/<uuid:job_id>/planned-seats/<uuid:planned_id>/cancel/",
        planned_seats.cancel_planned_seats,
        name="cancel_planned_seats",
    ),
    path("company/jobs/<uuid:job_id>/decide/", bulk_decisions.decide_on_many, name="decide_many"),
    path(
        "company/jobs/<uuid:job_id>/decisions/<uuid:decision_id>/",
        bulk_decisions.bulk_decision_page,
        name="decision",
    ),
    path(
        "company/jobs/<uuid:job_id>/decisions/<uuid:decision_id>/undo/",
        decisions.undo_pending_decision,
        name="undo_decision",
    ),
    path("company/jobs/<uuid:job_id>/add/", job_actions.job_add_person, name="add_person"),
    path("company/jobs/<uuid:job_id>/retention/", retention.job_retention, name="job_retention"),
    path("company/jobs/<uuid:job_id>/share/", share.share_job, name="share_job"),
    path("company/jobs/<uuid:job_id>/share/qr.svg", share.qr_code_to_share, name="qr_code"),
    path("company/job-templates/", job_templates.job_templates, name="job_templates"),
    path(
        "company/job-templates/<uuid:template_id>/",
        job_templates.job_template,
        name="job_template",
    ),
    path(
        "company/job-templates/<uuid:template_id>/delete/",
        job_templates.delete_template,
        name="delete_template",
    ),
    path(
        "company/jobs/<uuid:job_id>/keep-template/",
        job_templates.keep_template,
        name="keep_template",
    ),
    path("company/jobs/<uuid:job_id>/settings/", settings.job_settings, name="job_settings"),
    path(
        "company/applications/<uuid:application_id>/",
        application.company_application,
        name="application",
    ),
    path(
        "company/applications/<uuid:application_id>/decide/",
        decisions.decide_on_application,
        name="decide",
    ),
    path(
        "company/applications/<uuid:application_id>/annotate/",
        annotations.annotate_application,
        name="annotate",
    ),
    path(
        "company/applications/<uuid:application_id>/reinstate/",
        reinstatement.reinstate_application,
        name="reinstate",
    ),
    path(
        "company/applications/<uuid:application_id>/emails/<uuid:email_id>/again/",
        application.send_application_email_again,
        name="send_email_again",
    ),
    path("company/go/", palette.go_from_palette, name="go"),
    path("company/shortcuts/", palette.shortcuts_of_palette, name="shortcuts"),
    path("company/people/", people.people, name="people"),
    path("company/people/<uuid:applicant_id>/", people.person_page, name="person"),
]

"""URLs of the pages for a company's jobs and people."""

from django.urls import path

from pipeline.pages.company import (
    annotations,
    application,
    applications,
    attachments,
    board,
    contests,
    decisions,
    hiring,
    job_actions,
    job_templates,
    jobs,
    palette,
    people,
    settings,
)

urlpatterns = [
    path("company/", jobs.index, name="company_jobs"),
    path("company/look-again/", contests.index, name="contests"),
    path(
        "company/applications/<uuid:application_id>/look-again/<uuid:contest_id>/",
        contests.answer,
        name="answer_contest",
    ),
    path("company/jobs/new/", jobs.new, name="new_job"),
    path("company/jobs/<uuid:job_id>/", board.show, name="board"),
    path(
        "company/applications/<uuid:application_id>/files/<uuid:attachment_id>/",
        attachments.download,
        name="attachment_file",
    ),
    path(
        "company/applications/<uuid:application_id>/files/<uuid:attachment_id>/view/",
        attachments.show,
        name="attachment",
    ),
    path(
        "company/jobs/<uuid:job_id>/applications/",
        applications.index,
        name="applications",
    ),
    path(
        "company/jobs/<uuid:job_id>/applications/view/",
        applications.change_saved_view,
        name="saved_view",
    ),
    path("company/jobs/<uuid:job_id>/open/", job_actions.start, name="job_open"),
    path("company/jobs/<uuid:job_id>/pause/", job_actions.pause, name="job_pause"),
    path("company/jobs/<uuid:job_id>/delete/", job_actions.delete, name="job_delete"),
    path("company/jobs/<uuid:job_id>/close/", job_actions.close, name="job_close"),
    path("company/jobs/<uuid:job_id>/capacity/", job_actions.change_capacity, name="job_capacity"),
    path(
        "company/jobs/<uuid:job_id>/planned-seats/",
        job_actions.show_planned_seats,
        name="planned_seats",
    ),
    path(
        "company/jobs/<uuid:job_id>/planned-seats/<uuid:planned_id>/cancel/",
        job_actions.cancel_planned_seats,
        name="cancel_planned_seats",
    ),
    path("company/jobs/<uuid:job_id>/decide/", decisions.decide_many, name="decide_many"),
    path(
        "company/jobs/<uuid:job_id>/decisions/<uuid:decision_id>/",
        decisions.show_bulk,
        name="decision",
    ),
    path(
        "company/jobs/<uuid:job_id>/decisions/<uuid:decision_id>/undo/",
        decisions.undo,
        name="undo_decision",
    ),
    path("company/jobs/<uuid:job_id>/add/", job_actions.add_person, name="add_person"),
    path("company/jobs/<uuid:job_id>/retention/", settings.save_retention, name="job_retention"),
    path("company/jobs/<uuid:job_id>/share/", jobs.share, name="share_job"),
    path("company/jobs/<uuid:job_id>/share/qr.svg", jobs.download_qr_code, name="qr_code"),
    path("company/job-templates/", job_templates.index, name="job_templates"),
    path(
        "company/job-templates/<uuid:template_id>/",
        job_templates.show,
        name="job_template",
    ),
    path(
        "company/job-templates/<uuid:template_id>/delete/",
        job_templates.delete,
        name="delete_template",
    ),
    path(
        "company/jobs/<uuid:job_id>/keep-template/",
        job_templates.keep,
        name="keep_template",
    ),
    path("company/jobs/<uuid:job_id>/settings/", settings.show, name="job_settings"),
    path("company/jobs/<uuid:job_id>/positions/", hiring.show, name="job_hiring"),
    path(
        "company/applications/<uuid:application_id>/",
        application.show,
        name="application",
    ),
    path(
        "company/applications/<uuid:application_id>/decide/",
        decisions.decide,
        name="decide",
    ),
    path(
        "company/applications/<uuid:application_id>/annotate/",
        annotations.annotate_application,
        name="annotate",
    ),
    path(
        "company/applications/<uuid:application_id>/reinstate/",
        application.reinstate_application,
        name="reinstate",
    ),
    path(
        "company/applications/<uuid:application_id>/emails/<uuid:email_id>/again/",
        application.resend_email,
        name="send_email_again",
    ),
    path("company/go/", palette.search, name="go"),
    path("company/shortcuts/", palette.shortcuts, name="shortcuts"),
    path("company/people/", people.index, name="people"),
    path("company/people/<uuid:applicant_id>/", people.person_page, name="person"),
]

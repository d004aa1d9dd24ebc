"""The addresses of the API, version 1. What matches none of them is not there."""

from django.urls import path

from pipeline.api.openapi.views import Docs, Document
from pipeline.api.v1.views import (
    applications,
    feed,
    jobs,
    keys,
    line,
    people,
    signing_in,
    summary,
    timelines,
)

urlpatterns = [
    path("openapi.json", Document.as_view()),
    path("docs/", Docs.as_view()),
    path("jobs", jobs.Jobs.as_view()),
    path("jobs/<uuid:job_id>", jobs.OneJob.as_view()),
    path("jobs/<uuid:job_id>/open", jobs.OpenJob.as_view()),
    path("jobs/<uuid:job_id>/pause", jobs.PauseJob.as_view()),
    path("jobs/<uuid:job_id>/close", jobs.CloseJob.as_view()),
    path("jobs/<uuid:job_id>/applications", applications.JobApplications.as_view()),
    path("jobs/<uuid:job_id>/pipeline", line.PipelineOfJob.as_view()),
    path("jobs/<uuid:job_id>/queue", line.Queue.as_view()),
    path("jobs/<uuid:job_id>/summary", summary.Summary.as_view()),
    path("jobs/<uuid:job_id>/events", line.Events.as_view()),
    path("jobs/<uuid:job_id>/replay", line.Replay.as_view()),
    path("jobs/<uuid:job_id>/verify", line.Verify.as_view()),
    path(
        "applications/<uuid:application_id>",
        applications.OneApplication.as_view(),
        name="api_application",
    ),
    path("applications/<uuid:application_id>/acknowledge", applications.Acknowledge.as_view()),
    path("applications/<uuid:application_id>/withdraw", applications.Withdraw.as_view()),
    path("applications/<uuid:application_id>/remove", applications.Remove.as_view()),
    path("applications/<uuid:application_id>/timeline", timelines.TimelineOfApplication.as_view()),
    path("applicants", people.Applicants.as_view()),
    path("applicants/<uuid:applicant_id>/timeline", timelines.TimelineOfApplicant.as_view()),
    path("applicants/<uuid:applicant_id>", people.OneApplicant.as_view()),
    path("applicants/<uuid:applicant_id>/applications", people.ApplicationsOfApplicant.as_view()),
    path("auth/code", signing_in.Code.as_view()),
    path("auth/token", signing_in.Token.as_view()),
    path("api-keys", keys.ApiKeys.as_view()),
    path("api-keys/<uuid:key_id>", keys.OneApiKey.as_view()),
    path("api-keys/<uuid:key_id>/revoke", keys.RevokeApiKey.as_view()),
    path("events", feed.Feed.as_view()),
    path("companies/me", people.OwnCompany.as_view()),
    path("me", people.Me.as_view()),
    path("me/applications", people.MyApplications.as_view()),
]

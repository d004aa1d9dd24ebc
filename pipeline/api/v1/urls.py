"""URLs of version 1 of the API. Any other URL answers 404."""

from django.urls import path

from pipeline.api.openapi.views import DocsView, DocumentView, IndexView
from pipeline.api.v1 import (
    api_keys,
    applicants,
    auth,
    companies,
    events,
    idle_seats,
    line,
    reports,
    requests,
    sandbox,
    schedules,
    uploads,
    webhooks,
)
from pipeline.api.v1 import events as changes
from pipeline.api.v1 import events as timelines
from pipeline.api.v1.applications import import_file, receipts, review, wishes
from pipeline.api.v1.applications import views as application_lists
from pipeline.api.v1.applications import views as applications
from pipeline.api.v1.jobs import facts
from pipeline.api.v1.jobs import facts as forecast
from pipeline.api.v1.jobs import facts as planned_seats
from pipeline.api.v1.jobs import views as jobs
from pipeline.api.v1.tasks import views
from pipeline.api.v1.tasks import views as tasks

_DELIVERIES = "webhooks/<uuid:webhook_id>/deliveries"

urlpatterns = [
    path("", IndexView.as_view()),
    path("openapi.json", DocumentView.as_view()),
    path("docs/", DocsView.as_view()),
    path("jobs", jobs.Jobs.as_view()),
    path("jobs/<uuid:job_id>", jobs.OneJob.as_view()),
    path("jobs/<uuid:job_id>/open", jobs.OpenJob.as_view()),
    path("jobs/<uuid:job_id>/pause", jobs.PauseJob.as_view()),
    path("jobs/<uuid:job_id>/close", jobs.CloseJob.as_view()),
    path("jobs/<uuid:job_id>/applications", applications.JobApplications.as_view()),
    path("jobs/<uuid:job_id>/applications/import", import_file.ImportApplications.as_view()),
    path("jobs/<uuid:job_id>/pipeline", line.LinePipeline.as_view()),
    path("jobs/<uuid:job_id>/queue", line.LineQueue.as_view()),
    path("jobs/<uuid:job_id>/summary", facts.JobSummary.as_view()),
    path("jobs/<uuid:job_id>/facts", facts.FactsOfJob.as_view()),
    path("jobs/<uuid:job_id>/planned-seats", planned_seats.PlannedSeatsOfJob.as_view()),
    path(
        "jobs/<uuid:job_id>/planned-seats/<uuid:planned_id>",
        planned_seats.PlannedSeatsDetail.as_view(),
    ),
    path("jobs/<uuid:job_id>/idle-seats", idle_seats.IdleSeatsOfJob.as_view()),
    path("jobs/<uuid:job_id>/reports", reports.JobReports.as_view()),
    path("jobs/<uuid:job_id>/reports/<str:week>", reports.OneJobReport.as_view()),
    path("jobs/<uuid:job_id>/forecast", forecast.ForecastOfJob.as_view()),
    path("jobs/<uuid:job_id>/events", line.LineEvents.as_view()),
    path("jobs/<uuid:job_id>/replay", line.LineReplay.as_view()),
    path("jobs/<uuid:job_id>/verify", line.LineVerify.as_view()),
    path("applications", application_lists.ApplicationList.as_view()),
    path(
        "applications/<uuid:application_id>",
        applications.OneApplication.as_view(),
        name="api_application",
    ),
    path("applications/<uuid:application_id>/acknowledge", applications.Acknowledge.as_view()),
    path("applications/<uuid:application_id>/verify", applications.Verify.as_view()),
    path("applications/<uuid:application_id>/withdraw", applications.Withdraw.as_view()),
    path("applications/<uuid:application_id>/remove", review.RemovalDecision.as_view()),
    path("applications/<uuid:application_id>/defer", wishes.Defer.as_view()),
    path("applications/<uuid:application_id>/preaccept", wishes.Preaccept.as_view()),
    path("applications/<uuid:application_id>/pass", wishes.PassOffer.as_view()),
    path("applications/<uuid:application_id>/pass-next", wishes.PassNext.as_view()),
    path("applications/<uuid:application_id>/reinstate", review.ReinstatementDecision.as_view()),
    path("applications/<uuid:application_id>/contests", review.Contests.as_view()),
    path(
        "applications/<uuid:application_id>/contests/<uuid:contest_id>/answer",
        review.AnswerContest.as_view(),
    ),
    path("contests", review.CompanyContests.as_view()),
    path("applications/<uuid:application_id>/emails", review.ApplicationEmails.as_view()),
    path(
        "applications/<uuid:application_id>/emails/<uuid:email_id>/send-again",
        review.SendEmailAgain.as_view(),
    ),
    path("applications/<uuid:application_id>/timeline", timelines.TimelineOfApplication.as_view()),
    path("applications/<uuid:application_id>/receipt", receipts.ApplicationReceipt.as_view()),
    path("applications/<uuid:application_id>/log", receipts.ApplicationReceiptLog.as_view()),
    path("applicants", applicants.Applicants.as_view()),
    path("applicants/<uuid:applicant_id>/timeline", timelines.TimelineOfApplicant.as_view()),
    path("applicants/<uuid:applicant_id>", applicants.OneApplicant.as_view()),
    path(
        "applicants/<uuid:applicant_id>/applications", applicants.ApplicationsOfApplicant.as_view()
    ),
    path("applicants/<uuid:applicant_id>/tokens", applicants.ApplicantTokens.as_view()),
    path("auth/code", auth.SignInCode.as_view()),
    path("auth/token", auth.SignInToken.as_view()),
    path("api-keys", api_keys.ApiKeys.as_view()),
    path("api-keys/<uuid:key_id>", api_keys.OneApiKey.as_view()),
    path("api-keys/<uuid:key_id>/revoke", api_keys.RevokeApiKey.as_view()),
    path("api-keys/<uuid:key_id>/requests", requests.RequestsOfApiKey.as_view()),
    path("uploads", uploads.Uploads.as_view()),
    path("uploads/<uuid:upload_id>", uploads.OneUpload.as_view(), name="api_upload"),
    path("uploads/<uuid:upload_id>/content", uploads.UploadContent.as_view()),
    path("applications/<uuid:application_id>/files", uploads.ApplicationFiles.as_view()),
    path(
        "applications/<uuid:application_id>/files/<uuid:file_id>",
        uploads.OneApplicationFile.as_view(),
    ),
    path("events", events.EventFeed.as_view()),
    path("changes", changes.ChangeFeed.as_view()),
    path("tasks", tasks.Tasks.as_view()),
    path("tasks/batch", tasks.TaskBatch.as_view()),
    path("tasks/stats", tasks.TaskStats.as_view()),
    path("tasks/dead", views.DeadLetters.as_view()),
    path("tasks/dead/replay", views.ReplayDeadLetters.as_view()),
    path("tasks/<uuid:task_id>", tasks.OneTask.as_view(), name="api_task"),
    path("tasks/<uuid:task_id>/cancel", tasks.CancelTask.as_view()),
    path("tasks/<uuid:task_id>/events", tasks.EventsOfTask.as_view()),
    path("tasks/<uuid:task_id>/replay", views.ReplayDeadLetter.as_view()),
    path("tasks/<uuid:task_id>/discard", views.DiscardDeadLetter.as_view()),
    path("tasks/<uuid:task_id>/refused-rows", views.RefusedRowsFile.as_view()),
    path("tasks/<uuid:task_id>/rows", views.ImportedRows.as_view()),
    path("files/<uuid:file_id>", views.OneTaskFile.as_view()),
    path("task-types", views.TaskTypes.as_view()),
    path("task-types/<str:type_key>/pause", views.PauseTaskType.as_view()),
    path("task-types/<str:type_key>/resume", views.ResumeTaskType.as_view()),
    path("schedules", schedules.Schedules.as_view()),
    path("schedules/<uuid:schedule_id>", schedules.OneSchedule.as_view()),
    path("webhooks", webhooks.Webhooks.as_view()),
    path("webhooks/<uuid:webhook_id>", webhooks.OneWebhook.as_view()),
    path("webhooks/<uuid:webhook_id>/rotate-secret", webhooks.RotateSecret.as_view()),
    path("webhooks/<uuid:webhook_id>/test", webhooks.TestWebhook.as_view()),
    path(_DELIVERIES, webhooks.Deliveries.as_view()),
    path(f"{_DELIVERIES}/redeliver", webhooks.RedeliverFailed.as_view()),
    path(f"{_DELIVERIES}/<uuid:delivery_id>", webhooks.OneDelivery.as_view()),
    path(f"{_DELIVERIES}/<uuid:delivery_id>/redeliver", webhooks.Redeliver.as_view()),
    path("test/clock", sandbox.SandboxClock.as_view()),
    path("test/reset", sandbox.ResetSandbox.as_view()),
    path("test/clock/advance", sandbox.AdvanceSandboxClock.as_view()),
    path("companies/me", companies.OwnCompany.as_view()),
    path("companies/me/idle-seats", idle_seats.IdleSeatsOfCompany.as_view()),
    path("companies/me/requests", requests.OwnRequests.as_view()),
    path("me", applicants.SignedInApplicant.as_view()),
    path("me/applications", applicants.SignedInApplicantApplications.as_view()),
]

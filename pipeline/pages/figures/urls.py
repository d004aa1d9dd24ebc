"""URLs of a job's figures and weekly reports."""

from django.urls import path

from pipeline.pages.figures import figures, idle_seats, reports, what_if

JOB = "company/jobs/<uuid:job_id>"

urlpatterns = [
    path("company/idle-seats/", idle_seats.idle_seats, name="idle_seats"),
    path(f"{JOB}/figures/", figures.figures, name="figures"),
    path(f"{JOB}/what-if/", what_if.what_if, name="what_if"),
    path(f"{JOB}/reports/", reports.reports, name="reports"),
    path(f"{JOB}/reports/make/", reports.make_report, name="make_report"),
    path(f"{JOB}/reports/mondays/", reports.report_schedule, name="report_schedule"),
    path(f"{JOB}/reports/<str:week>.csv", reports.report_csv, name="report_csv"),
    path(f"{JOB}/reports/<str:week>/", reports.report, name="report"),
]

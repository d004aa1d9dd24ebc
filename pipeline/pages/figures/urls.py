"""URLs of a job's figures and weekly reports."""

from django.urls import path

from pipeline.pages.figures import figures, reports

JOB = "company/jobs/<uuid:job_id>"

urlpatterns = [
    path(f"{JOB}/figures/", figures.figures, name="figures"),
    path(f"{JOB}/reports/", reports.reports, name="reports"),
    path(f"{JOB}/reports/make/", reports.make_report, name="make_report"),
    path(f"{JOB}/reports/mondays/", reports.report_schedule, name="report_schedule"),
    path(f"{JOB}/reports/<str:week>.csv", reports.report_csv, name="report_csv"),
    path(f"{JOB}/reports/<str:week>/", reports.report, name="report"),
]

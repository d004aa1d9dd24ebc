"""URLs of a job's figures and weekly reports."""

from django.urls import path

from pipeline.pages.figures import figures, overview, reports, what_if

JOB = "company/jobs/<uuid:job_id>"

urlpatterns = [
    path("company/reports/", overview.show, name="company_reports"),
    path("company/reports/file.csv", overview.download, name="company_report_file"),
    path("company/idle-seats/", figures.show_idle_seats, name="idle_seats"),
    path(f"{JOB}/figures/", figures.show, name="figures"),
    path(f"{JOB}/what-if/", what_if.show, name="what_if"),
    path(f"{JOB}/reports/", reports.index, name="reports"),
    path(f"{JOB}/reports/make/", reports.make, name="make_report"),
    path(f"{JOB}/reports/mondays/", reports.change_schedule, name="report_schedule"),
    path(f"{JOB}/reports/<str:week>.csv", reports.download_csv, name="report_csv"),
    path(f"{JOB}/reports/<str:week>/", reports.show, name="report"),
]

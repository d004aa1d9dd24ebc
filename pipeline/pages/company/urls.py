"""Addresses of the pages on which a company runs its jobs."""

from django.urls import path

from pipeline.pages.later import later

urlpatterns = [
    path("company/", later, name="company_jobs"),
    path("company/jobs/new/", later, name="new_job"),
    path("company/jobs/<uuid:job_id>/", later, name="board"),
    path("company/jobs/<uuid:job_id>/open/", later, name="job_open"),
    path("company/jobs/<uuid:job_id>/pause/", later, name="job_pause"),
    path("company/jobs/<uuid:job_id>/close/", later, name="job_close"),
    path("company/jobs/<uuid:job_id>/capacity/", later, name="job_capacity"),
    path("company/jobs/<uuid:job_id>/add/", later, name="add_person"),
    path("company/jobs/<uuid:job_id>/settings/", later, name="job_settings"),
    path("company/applications/<uuid:application_id>/", later, name="application"),
    path("company/applications/<uuid:application_id>/decide/", later, name="decide"),
    path("company/people/", later, name="people"),
    path("company/people/<uuid:applicant_id>/", later, name="person"),
]

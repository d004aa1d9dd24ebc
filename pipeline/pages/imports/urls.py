"""URLs of the import pages."""

from django.urls import path

from pipeline.pages.imports import actions, result, upload

_JOB = "company/jobs/<uuid:job_id>/import/"
_IMPORT = f"{_JOB}<uuid:import_id>/"

urlpatterns = [
    path(_JOB, upload.upload_import, name="import_applications"),
    path(f"{_JOB}sample.csv", upload.upload_sample, name="import_sample"),
    path(_IMPORT, result.import_result, name="import_result"),
    path(f"{_IMPORT}start/", actions.start_checked_import_action, name="import_start"),
    path(f"{_IMPORT}undo/", actions.undo_import_action, name="import_undo"),
    path(f"{_IMPORT}not-taken-in.csv", result.import_result_refused, name="import_refused"),
]

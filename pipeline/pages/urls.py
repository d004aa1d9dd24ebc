"""URLs of all pages, by area."""

from django.urls import include, path

from pipeline.pages import (
    attachments,
    demo,
    files,
    gallery,
    history,
    imports,
    languages,
    sandbox,
    site_files,
    site_texts,
    sources,
    webhooks,
)

_HISTORY_JOB = "company/jobs/<uuid:job_id>"
_FILES_JOB = "company/jobs/<uuid:job_id>"
_IMPORTS_JOB = "company/jobs/<uuid:job_id>/import/"
_IMPORTS_IMPORT = f"{_IMPORTS_JOB}<uuid:import_id>/"
_WEBHOOKS_A = "company/webhooks/<uuid:webhook_id>/"
_WEBHOOKS_DELIVERY = f"{_WEBHOOKS_A}deliveries/<uuid:delivery_id>/"

urlpatterns = [
    path("language/", languages.choose, name="language"),
    path("terms/", site_texts.terms, name="terms"),
    path("accessibility/", site_texts.accessibility, name="accessibility"),
    path("robots.txt", site_files.robots, name="robots"),
    path("sitemap.xml", site_files.sitemap, name="sitemap"),
    path("favicon.ico", site_files.favicon, name="favicon"),
    path("manifest.webmanifest", site_files.manifest, name="manifest"),
    path("service-worker.js", site_files.service_worker, name="service_worker"),
    path(".well-known/next-in-line-keys.json", site_files.receipt_keys, name="receipt_keys"),
    path("icons/left-<str:mark>.svg", site_files.countdown_icon, name="left_icon"),
    path("jobs/<uuid:job_id>/uploads/", attachments.upload, name="upload_file"),
    path(
        "jobs/<uuid:job_id>/uploads/<uuid:upload_id>/remove/",
        attachments.discard,
        name="discard_upload",
    ),
    path("", include("pipeline.pages.applicant.urls")),
    path("", include("pipeline.pages.careers.urls")),
    path("", include("pipeline.pages.company.urls")),
    path("", include("pipeline.pages.correspondence.urls")),
    path(f"{_HISTORY_JOB}/timeline/", history.timeline, name="timeline"),
    path(f"{_HISTORY_JOB}/verify/", history.verify_log, name="verify_log"),
    path(f"{_HISTORY_JOB}/replay/", history.replay, name="replay"),
    path("", include("pipeline.pages.figures.urls")),
    path("company/sources/", sources.show_company, name="company_sources"),
    path("company/sources/file.csv", sources.download_company, name="company_sources_file"),
    path(f"{_HISTORY_JOB}/sources/", sources.show_job, name="job_sources"),
    path(f"{_HISTORY_JOB}/sources/file.csv", sources.download_job, name="job_sources_file"),
    path(f"{_FILES_JOB}/export/<str:what>.<str:format>", files.stream_export, name="export"),
    path(f"{_FILES_JOB}/export/", files.prepare_download, name="prepare_export"),
    path("company/files/<uuid:file_id>/", files.download, name="stored_file"),
    path(_IMPORTS_JOB, imports.upload, name="import_applications"),
    path(f"{_IMPORTS_JOB}sample.csv", imports.upload_sample, name="import_sample"),
    path(_IMPORTS_IMPORT, imports.show, name="import_result"),
    path(f"{_IMPORTS_IMPORT}start/", imports.admit_checked, name="import_start"),
    path(f"{_IMPORTS_IMPORT}undo/", imports.undo, name="import_undo"),
    path(f"{_IMPORTS_IMPORT}not-taken-in.csv", imports.download_refused, name="import_refused"),
    path("", include("pipeline.pages.staff.urls")),
    path("", include("pipeline.pages.work.urls")),
    path("company/webhooks/", webhooks.index, name="webhooks"),
    path("company/webhooks/new/", webhooks.new, name="new_webhook"),
    path(_WEBHOOKS_A, webhooks.show, name="webhook"),
    path(f"{_WEBHOOKS_A}edit/", webhooks.edit, name="edit_webhook"),
    path(f"{_WEBHOOKS_A}rotate/", webhooks.rotate, name="rotate_webhook"),
    path(f"{_WEBHOOKS_A}delete/", webhooks.delete, name="end_webhook"),
    path(f"{_WEBHOOKS_A}switch/", webhooks.switch, name="switch_webhook"),
    path(f"{_WEBHOOKS_A}test/", webhooks.test, name="test_webhook"),
    path(f"{_WEBHOOKS_A}redeliver/", webhooks.redeliver_all, name="redeliver_webhooks"),
    path(_WEBHOOKS_DELIVERY, webhooks.show_delivery, name="webhook_delivery"),
    path(f"{_WEBHOOKS_DELIVERY}redeliver/", webhooks.redeliver, name="redeliver_webhook"),
    path("company/test/", sandbox.show_clock, name="test_mode"),
    path("company/test/create/", sandbox.create, name="create_sandbox"),
    path("company/test/reset/", sandbox.reset_test_mode, name="reset_sandbox"),
    path("company/test/clock/", sandbox.move_clock, name="move_clock"),
    path("company/test/emails/", sandbox.list_emails, name="sandbox_emails"),
    path("company/test/emails/<uuid:email_id>/", sandbox.show_email, name="sandbox_email"),
    path("dev/gallery/", gallery.show, name="gallery"),
    path("demo/sign-in/<str:token>/", demo.sign_in, name="demo_sign_in"),
    path("demo/jobs/<uuid:job_id>/apply-as/<slug:who>/", demo.apply_person, name="apply_as"),
    path("demo/newest-email/<slug:who>/", demo.newest_story_email, name="newest_story_email"),
]

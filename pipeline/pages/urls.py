"""URLs of all pages, by area."""

from django.urls import include, path

from pipeline.pages import demo, files, history, imports, sandbox, site_files, webhooks

_HISTORY_JOB = "company/jobs/<uuid:job_id>"
_FILES_JOB = "company/jobs/<uuid:job_id>"
_IMPORTS_JOB = "company/jobs/<uuid:job_id>/import/"
_IMPORTS_IMPORT = f"{_IMPORTS_JOB}<uuid:import_id>/"
_WEBHOOKS_A = "company/webhooks/<uuid:webhook_id>/"
_WEBHOOKS_DELIVERY = f"{_WEBHOOKS_A}deliveries/<uuid:delivery_id>/"

urlpatterns = [
    path("robots.txt", site_files.site_robots_file, name="robots"),
    path("sitemap.xml", site_files.site_map_file, name="sitemap"),
    path("favicon.ico", site_files.site_favicon_file, name="favicon"),
    path("manifest.webmanifest", site_files.site_manifest_file, name="manifest"),
    path("service-worker.js", site_files.site_service_worker_file, name="service_worker"),
    path(
        ".well-known/next-in-line-keys.json", site_files.site_receipt_keys_file, name="receipt_keys"
    ),
    path("icons/left-<str:mark>.svg", site_files.site_countdown_icon_file, name="left_icon"),
    path("", include("pipeline.pages.applicant.urls")),
    path("", include("pipeline.pages.company.urls")),
    path(f"{_HISTORY_JOB}/timeline/", history.timeline, name="timeline"),
    path(f"{_HISTORY_JOB}/verify/", history.verify_log, name="verify_log"),
    path(f"{_HISTORY_JOB}/replay/", history.replay, name="replay"),
    path("", include("pipeline.pages.figures.urls")),
    path(f"{_FILES_JOB}/export/<str:what>.<str:format>", files.stream_export, name="export"),
    path(f"{_FILES_JOB}/export/", files.prepare_download, name="prepare_export"),
    path("company/files/<uuid:file_id>/", files.download_stored_file, name="stored_file"),
    path(_IMPORTS_JOB, imports.upload_import, name="import_applications"),
    path(f"{_IMPORTS_JOB}sample.csv", imports.upload_sample, name="import_sample"),
    path(_IMPORTS_IMPORT, imports.import_result, name="import_result"),
    path(f"{_IMPORTS_IMPORT}start/", imports.start_checked_import_action, name="import_start"),
    path(f"{_IMPORTS_IMPORT}undo/", imports.undo_import_action, name="import_undo"),
    path(
        f"{_IMPORTS_IMPORT}not-taken-in.csv", imports.import_result_refused, name="import_refused"
    ),
    path("", include("pipeline.pages.staff.urls")),
    path("", include("pipeline.pages.work.urls")),
    path("company/webhooks/", webhooks.webhooks, name="webhooks"),
    path("company/webhooks/new/", webhooks.new_webhook, name="new_webhook"),
    path(_WEBHOOKS_A, webhooks.webhook_with_deliveries, name="webhook"),
    path(f"{_WEBHOOKS_A}edit/", webhooks.edit_webhook, name="edit_webhook"),
    path(f"{_WEBHOOKS_A}rotate/", webhooks.rotate_webhook, name="rotate_webhook"),
    path(f"{_WEBHOOKS_A}delete/", webhooks.end_webhook, name="end_webhook"),
    path(f"{_WEBHOOKS_A}switch/", webhooks.switch_webhook, name="switch_webhook"),
    path(f"{_WEBHOOKS_A}test/", webhooks.deliver_test_webhook, name="test_webhook"),
    path(f"{_WEBHOOKS_A}redeliver/", webhooks.redeliver_webhooks, name="redeliver_webhooks"),
    path(_WEBHOOKS_DELIVERY, webhooks.webhook_delivery, name="webhook_delivery"),
    path(f"{_WEBHOOKS_DELIVERY}redeliver/", webhooks.redeliver_webhook, name="redeliver_webhook"),
    path("company/test/", sandbox.clock_of_test_mode, name="test_mode"),
    path("company/test/create/", sandbox.create_sandbox_with_clock, name="create_sandbox"),
    path("company/test/reset/", sandbox.reset_test_mode, name="reset_sandbox"),
    path("company/test/clock/", sandbox.move_clock, name="move_clock"),
    path("company/test/emails/", sandbox.sandbox_emails, name="sandbox_emails"),
    path("company/test/emails/<uuid:email_id>/", sandbox.sandbox_email, name="sandbox_email"),
    path("demo/sign-in/<str:token>/", demo.demo_sign_in, name="demo_sign_in"),
    path("demo/jobs/<uuid:job_id>/apply-as/<slug:who>/", demo.apply_as_in_story, name="apply_as"),
    path("demo/newest-email/<slug:who>/", demo.newest_story_email, name="newest_story_email"),
]

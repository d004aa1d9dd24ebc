"""Addresses of the webhook pages."""

from django.urls import path

from pipeline.pages.webhooks import deliveries, endpoints

_A = "company/webhooks/<uuid:webhook_id>/"
_DELIVERY = f"{_A}deliveries/<uuid:delivery_id>/"

urlpatterns = [
    path("company/webhooks/", endpoints.webhooks, name="webhooks"),
    path("company/webhooks/new/", endpoints.new_webhook, name="new_webhook"),
    path(_A, deliveries.webhook_with_deliveries, name="webhook"),
    path(f"{_A}edit/", endpoints.edit_webhook, name="edit_webhook"),
    path(f"{_A}rotate/", endpoints.rotate_webhook, name="rotate_webhook"),
    path(f"{_A}delete/", endpoints.end_webhook, name="end_webhook"),
    path(f"{_A}switch/", endpoints.switch_webhook, name="switch_webhook"),
    path(f"{_A}test/", deliveries.deliver_test_webhook, name="test_webhook"),
    path(f"{_A}redeliver/", deliveries.redeliver_webhooks, name="redeliver_webhooks"),
    path(_DELIVERY, deliveries.webhook_delivery, name="webhook_delivery"),
    path(f"{_DELIVERY}redeliver/", deliveries.redeliver_webhook, name="redeliver_webhook"),
]

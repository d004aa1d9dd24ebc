"""Addresses of the pages about staff accounts: signing in, team, keys, the system."""

from django.urls import include, path

from pipeline.pages.later import later

urlpatterns = [
    path("account/", include("allauth.urls")),
    path("company/team/", later, name="team"),
    path("company/team/<int:membership_id>/", later, name="team_member"),
    path("company/keys/", later, name="api_keys"),
    path("company/keys/<uuid:key_id>/revoke/", later, name="revoke_key"),
    path("company/system/", later, name="system"),
    path("company/switch/", later, name="switch_company"),
]

"""URLs of the pages for staff accounts, teams, keys and the system."""

from django.urls import include, path
from django.views.generic import RedirectView

from pipeline.pages.staff import account, keys, system, team

urlpatterns = [
    path("account/", account.account, name="account"),
    path("account/emails/", account.choose_emails_in_account, name="choose_company_emails"),
    path("account/2fa/", RedirectView.as_view(pattern_name="account")),
    path("account/", include("allauth.urls")),
    path("company/team/", team.team, name="team"),
    path("company/team/second-step/", team.team_second_step, name="second_step"),
    path("company/team/<int:membership_id>/", team.team_member, name="team_member"),
    path("company/keys/", keys.api_keys, name="api_keys"),
    path("company/keys/<uuid:key_id>/revoke/", keys.revoke_key, name="revoke_key"),
    path("company/keys/<uuid:key_id>/requests/", keys.key_requests, name="key_requests"),
    path("company/system/", system.system, name="system"),
    path("company/switch/", account.switch_company_of_account, name="switch_company"),
]

"""URLs of the pages for staff accounts, teams, keys and the system."""

from django.urls import include, path
from django.views.generic import RedirectView

from pipeline.pages.staff import (
    account,
    activity,
    devices,
    invitations,
    job_access,
    keys,
    settings,
    sign_up,
    system,
    team,
)

urlpatterns = [
    path("for-companies/", sign_up.show_product, name="for_companies"),
    path("for-companies/sign-up/", sign_up.begin, name="sign_up"),
    path("for-companies/sign-up/code/", sign_up.confirm, name="sign_up_code"),
    path("for-companies/sign-up/asked/", sign_up.say_asked, name="sign_up_asked"),
    path("company/settings/", settings.show, name="company_settings"),
    path("company/rail/", settings.list_rail_jobs, name="rail_jobs"),
    path("account/name/", account.change_name, name="change_name"),
    path("account/", account.show, name="account"),
    path("account/emails/", account.choose_emails, name="choose_company_emails"),
    path("account/devices/", devices.show, name="account_devices"),
    path("account/devices/add/", devices.add, name="add_account_device"),
    path("account/devices/<uuid:device_id>/remove/", devices.remove, name="remove_account_device"),
    path("account/2fa/", RedirectView.as_view(pattern_name="account")),
    path("account/", include("allauth.urls")),
    path("company/team/", team.index, name="team"),
    path("company/team/second-step/", team.change_second_step, name="second_step"),
    path("company/team/links/", invitations.index, name="invitations"),
    path(
        "company/team/links/<uuid:invitation_id>/withdraw/",
        invitations.withdraw,
        name="withdraw_invitation",
    ),
    path("join/<str:token>/", invitations.join, name="join"),
    path("company/activity/", activity.index, name="activity"),
    path("company/team/<int:membership_id>/", team.show_member, name="team_member"),
    path("company/jobs/<uuid:job_id>/access/", job_access.show, name="job_access"),
    path(
        "company/jobs/<uuid:job_id>/access/<int:membership_id>/remove/",
        job_access.remove,
        name="remove_job_access",
    ),
    path("company/keys/", keys.index, name="api_keys"),
    path("company/keys/<uuid:key_id>/revoke/", keys.revoke, name="revoke_key"),
    path("company/keys/<uuid:key_id>/requests/", keys.show_requests, name="key_requests"),
    path("company/system/", system.show, name="system"),
    path("company/switch/", account.switch_company, name="switch_company"),
]

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
    provisioning,
    settings,
    sign_on,
    sign_on_settings,
    sign_up,
    system,
    team,
)

_SIGN_ON = "company/sign-on/"

urlpatterns = [
    path("for-companies/", sign_up.show_product, name="for_companies"),
    path("for-companies/sign-up/", sign_up.begin, name="sign_up"),
    path("for-companies/sign-up/code/", sign_up.confirm, name="sign_up_code"),
    path("for-companies/sign-up/asked/", sign_up.say_asked, name="sign_up_asked"),
    path("company/settings/", settings.show, name="company_settings"),
    path("company/rail/", settings.list_rail_jobs, name="rail_jobs"),
    path("account/name/", account.change_name, name="change_name"),
    path("account/picture/", account.change_picture, name="change_picture"),
    path(
        "account/pictures/<uuid:user_id>/<slug:digest>.webp",
        account.show_picture,
        name="colleague_picture",
    ),
    path("account/", account.show, name="account"),
    path("account/emails/", account.choose_emails, name="choose_company_emails"),
    path("account/devices/", devices.show, name="account_devices"),
    path("account/devices/add/", devices.add, name="add_account_device"),
    path("account/devices/<uuid:device_id>/remove/", devices.remove, name="remove_account_device"),
    path("account/2fa/", RedirectView.as_view(pattern_name="account")),
    path("account/sign-on/", sign_on.ask_address, name="sign_on"),
    path("account/sign-on/<uuid:provider_id>/", sign_on.begin, name="begin_sign_on"),
    path("account/sign-on/<uuid:provider_id>/callback/", sign_on.finish, name="sign_on_callback"),
    path(
        "account/sign-on/<uuid:provider_id>/logout/",
        sign_on.sign_out_by_provider,
        name="sign_on_logout",
    ),
    path("account/sign-on/<uuid:provider_id>/out/", sign_on.tell_signed_out, name="sign_on_out"),
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
    path(_SIGN_ON, sign_on_settings.show, name="identity_provider"),
    path(f"{_SIGN_ON}try/", sign_on_settings.try_it, name="try_sign_on"),
    path(f"{_SIGN_ON}require/", sign_on_settings.require, name="require_sign_on"),
    path(f"{_SIGN_ON}remove/", sign_on_settings.remove, name="remove_identity_provider"),
    path(f"{_SIGN_ON}domains/", sign_on_settings.add_domain, name="add_sign_on_domain"),
    path(
        f"{_SIGN_ON}domains/<int:domain_id>/", sign_on_settings.change_domain, name="sign_on_domain"
    ),
    path(f"{_SIGN_ON}usual-role/", sign_on_settings.set_usual_role, name="sign_on_usual_role"),
    path(f"{_SIGN_ON}groups/", sign_on_settings.add_group, name="add_sign_on_group"),
    path(
        f"{_SIGN_ON}groups/<int:group_role_id>/remove/",
        sign_on_settings.remove_group,
        name="remove_sign_on_group",
    ),
    path("company/provisioning/", provisioning.show, name="provisioning"),
    path(
        "company/provisioning/tokens/<uuid:token_id>/end/",
        provisioning.end_token,
        name="end_provisioning_token",
    ),
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

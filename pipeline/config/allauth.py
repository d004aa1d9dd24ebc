"""Settings of django-allauth for staff sign-in: password, emailed code, passkey, TOTP."""

from __future__ import annotations

from typing import Any

from pipeline.config import env

Rates = dict[str, tuple[int, int] | None]
# How long a sign-in code is valid.
CODE_SECONDS = 600

_STAFF = "pipeline.pages.staff"


def allauth_settings(rates: Rates) -> dict[str, Any]:
    """Return Django's settings for allauth. `rates` are the site's rates for codes.

    Emails are limited per client here, and per address by `sign_in_forms.SignInEmailForm`. allauth
    counts in the default cache, so all processes must share that cache.
    """
    rate = rates["code_request"]
    limit = f"{rate[0]}/{rate[1]}s/ip" if rate else None
    limits = {"request_login_code": limit, "reset_password": limit}
    return _SIGNING_IN | _SECOND_STEP | {"ACCOUNT_RATE_LIMITS": limits}


_SIGNING_IN: dict[str, Any] = {
    "ACCOUNT_ADAPTER": f"{_STAFF}.allauth_adapter.StaffAdapter",
    "ACCOUNT_FORMS": {
        "login": f"{_STAFF}.sign_in_forms.SignInForm",
        "add_email": f"{_STAFF}.sign_in_forms.NewAddressForm",
        "request_login_code": f"{_STAFF}.sign_in_forms.CodeForm",
        "confirm_login_code": f"{_STAFF}.sign_in_forms.ConfirmCodeForm",
        "reset_password": f"{_STAFF}.sign_in_forms.ResetForm",
        "change_password": f"{_STAFF}.sign_in_forms.ChangeOwnPasswordForm",
        "set_password": f"{_STAFF}.sign_in_forms.SetOwnPasswordForm",
        "reset_password_from_key": f"{_STAFF}.sign_in_forms.ResetOwnPasswordForm",
    },
    "ACCOUNT_LOGIN_METHODS": {"email"},
    "ACCOUNT_USER_MODEL_USERNAME_FIELD": None,
    "ACCOUNT_SIGNUP_FIELDS": ["email*", "password1*"],  # nobody can sign up: see the adapter
    "ACCOUNT_EMAIL_VERIFICATION": "mandatory",
    "ACCOUNT_CHANGE_EMAIL": True,
    "ACCOUNT_EMAIL_CONFIRMATION_AUTHENTICATED_REDIRECT_URL": "account",
    "ACCOUNT_EMAIL_NOTIFICATIONS": True,
    "ACCOUNT_EMAIL_SUBJECT_PREFIX": "",
    "ACCOUNT_LOGIN_BY_CODE_ENABLED": True,
    "ACCOUNT_LOGIN_BY_CODE_TIMEOUT": CODE_SECONDS,
    "ACCOUNT_PREVENT_ENUMERATION": True,
    "ACCOUNT_REAUTHENTICATION_REQUIRED": True,
    "ACCOUNT_REAUTHENTICATION_TIMEOUT": 600,
    "ACCOUNT_SESSION_REMEMBER": True,
    "ACCOUNT_SESSION_COOKIE_AGE": env.STAFF_IDLE_HOURS * 3_600,
    "ACCOUNT_LOGOUT_REDIRECT_URL": "account_login",
}
_SECOND_STEP: dict[str, Any] = {
    "MFA_ADAPTER": f"{_STAFF}.allauth_adapter.StaffMFAAdapter",
    "MFA_SUPPORTED_TYPES": ["totp", "webauthn", "recovery_codes"],
    "MFA_PASSKEY_LOGIN_ENABLED": True,
    "MFA_FORMS": {"add_webauthn": f"{_STAFF}.sign_in_forms.AddPasskeyForm"},
    "MFA_TOTP_ISSUER": "Next in Line",
    "MFA_TOTP_TOLERANCE": 1,  # phone clocks are up to half a minute off
    # Otherwise nobody with a second step could change their address, since the new one is not
    # proved yet.
    "MFA_ALLOW_UNVERIFIED_EMAIL": True,
}

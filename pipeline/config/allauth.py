"""Settings for django-allauth: staff sign-in: password, emailed code, passkey, TOTP."""

from __future__ import annotations

from typing import Any

from pipeline.config import env

# How long a sign-in code is valid.
CODE_SECONDS = 600

_STAFF = "pipeline.pages.staff"

# allauth counts in the default cache, so all processes must share that cache.
_LIMITS = {
    # `sign_in_forms.SignInEmailForm` limits these, per client and per address.
    "request_login_code": None,
    "reset_password": None,
    # Wrong passwords of a client, and wrong codes of a second step: of all accounts, and of one.
    # A code is right with three of a million, so five tries in five minutes would be too many.
    "login_failed": "10/m/ip,5/300s/key,30/d/key",
    # A new address gets an email before it is known whose it is.
    "manage_email": "10/h/user",
}
_SIGNING_IN: dict[str, Any] = {
    "ACCOUNT_RATE_LIMITS": _LIMITS,
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
    "MFA_FORMS": {
        "activate_totp": f"{_STAFF}.sign_in_forms.ActivateAppForm",
        "authenticate": f"{_STAFF}.sign_in_forms.SecondStepForm",
        "reauthenticate": f"{_STAFF}.sign_in_forms.CodeAgainForm",
        "authenticate_webauthn": f"{_STAFF}.sign_in_forms.OwnPasskey",
        "login_webauthn": f"{_STAFF}.sign_in_forms.PasskeySignInForm",
        "reauthenticate_webauthn": f"{_STAFF}.sign_in_forms.PasskeyAgainForm",
        "add_webauthn": f"{_STAFF}.sign_in_forms.AddPasskeyForm",
    },
    "MFA_TOTP_ISSUER": "Next in Line",
    "MFA_TOTP_TOLERANCE": 1,  # phone clocks are up to half a minute off
    # Otherwise nobody with a second step could change their address, since the new one is not
    # proved yet.
    "MFA_ALLOW_UNVERIFIED_EMAIL": True,
}

ALLAUTH_SETTINGS = _SIGNING_IN | _SECOND_STEP

"""Security requirements in OpenAPI, made from the table of permissions."""

from __future__ import annotations

from jobs.models import Role, Scope
from pipeline.domain.permissions import RULES, Action

_MEMBERS = {
    Role.VIEWER: "a member's",
    Role.RECRUITER: "a recruiter's or owner's",
    Role.OWNER: "an owner's",
}


def security_of(action: Action) -> list[dict[str, list[str]]]:
    """Return the accepted credentials. An empty entry means that none is needed."""
    rule = RULES[action]
    found: list[dict[str, list[str]]] = [{}] if rule.public else []
    if rule.scope:
        found.append({"apiKey": [rule.scope.value]})
    if rule.applicant:
        found.append({"applicantToken": []})
    return [*found, {"session": []}]


def security_callers_of(action: Action) -> str:
    """Return who may take an action, as a sentence without a full stop."""
    rule = RULES[action]
    if rule.public:
        return "Anyone, with or without a credential"
    session = f"{_MEMBERS[rule.role]} session" if rule.role else ""
    if rule.scope is None:
        if rule.applicant:
            return "The applicant, with their token or session"
        return f"The company, with {session}; not with a key"
    scopes = "`read` or `write`" if rule.scope is Scope.READ else "`write`"
    company = f"company, with a key of scope {scopes} or {session}"
    if rule.applicant:
        return f"The applicant, with their token or session; and the {company}"
    return f"The {company}"

"""Security requirements in OpenAPI, made from the table of permissions."""

from __future__ import annotations

from jobs.models import Role, Scope
from pipeline.domain.permissions import RULES, Action

_MEMBERS = {
    Role.VIEWER: "a member's",
    Role.RECRUITER: "a recruiter's or owner's",
    Role.OWNER: "an owner's",
}


def security_of_action(action: Action) -> list[dict[str, list[str]]]:
    """Return the accepted credentials. An empty entry means that none is needed."""
    rule = RULES[action]
    found: list[dict[str, list[str]]] = [{}] if rule.public else []
    if rule.scope:
        found.append({"apiKey": [rule.scope.value]})
    if rule.applicant:
        found.append({"applicantToken": []})
    if rule.portal:
        found.append({"portalToken": []})
    return [*found, {"session": []}] if rule.role or rule.applicant else found


def _scopes_in_words(scope: Scope) -> str:
    return "`read` or `write`" if scope is Scope.READ else f"`{scope.value}`"


def security_of_action_in_words(action: Action) -> str:
    """Return who may take an action, as a sentence without a full stop."""
    rule = RULES[action]
    if rule.public:
        return "Anyone, with or without a credential"
    applicant = "The applicant, with their token or session"
    applicant += " or a portal token" if rule.portal else ""
    if rule.role is None:
        return (
            applicant
            if rule.scope is None
            else f"The company, with a key of scope {_scopes_in_words(rule.scope)}"
        )
    session = f"{_MEMBERS[rule.role]} session"
    if rule.scope is None:
        return f"The company, with {session}; not with a key"
    company = f"company, with a key of scope {_scopes_in_words(rule.scope)} or {session}"
    if rule.applicant:
        return f"{applicant}; and the {company}"
    return f"The {company}"

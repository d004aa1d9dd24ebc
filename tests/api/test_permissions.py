"""The table of permissions: every action has one rule, and every rule is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.models import Role, Scope
from pipeline.domain.permissions import RULES, Action

CODE = Path(__file__).parents[2] / "pipeline"
ROLES = re.compile(r"\bRole\.(VIEWER|RECRUITER)\b|\bScope\.(READ|WRITE)\b")


@pytest.mark.parametrize("action", Action, ids=lambda each: each.name)
def test_every_action_has_a_rule_that_somebody_checks(action: Action) -> None:
    places = [*CODE.glob("api/**/*.py"), *CODE.glob("pages/**/*.py")]

    assert action in RULES
    assert any(re.search(rf"\b{action}\b", each.read_text()) for each in places)


def test_no_view_names_a_role_or_scope_of_its_own() -> None:
    views = [*CODE.glob("api/v1/**/*.py"), *CODE.glob("pages/**/*.py")]
    forms = {"forms.py", "inputs.py", "keys.py"}  # these offer roles and scopes for choosing

    found = [str(each) for each in views if ROLES.search(each.read_text())]

    assert [each for each in found if Path(each).name not in forms] == []


def test_a_role_includes_the_roles_below_it() -> None:
    for rule in RULES.values():
        allowed = [rule.allows_member(role) for role in Role]
        assert allowed == sorted(allowed)


def test_a_key_that_may_write_may_read_but_manages_no_keys() -> None:
    assert RULES[Action.READ_COMPANY].allows_key({Scope.WRITE})
    assert not RULES[Action.CREATE_JOB].allows_key({Scope.READ})
    assert not RULES[Action.MANAGE_KEYS].allows_key(set(Scope))


def test_no_other_scope_includes_that_of_portal_tokens() -> None:
    rule = RULES[Action.MAKE_PORTAL_TOKENS]

    assert rule.allows_key({Scope.APPLICANT_TOKENS})
    assert not rule.allows_key({Scope.READ, Scope.WRITE})
    others = [action for action in Action if RULES[action].allows_key({Scope.APPLICANT_TOKENS})]
    assert others == [Action.MAKE_PORTAL_TOKENS]

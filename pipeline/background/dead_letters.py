"""Replay of a company's dead letters, under the same rules as starting new work."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipeline.background.key_limits import limits_of_key
from pipeline.background.ownership import ids_not_owned
from pipeline.background.start import check_type_to_start
from tasks import dead_letters
from tasks.control import find_task


def replay_company_dead_letter(
    *,
    company_id: UUID,
    task_id: UUID,
    actor: str,
    payload: dict[str, Any] | None = None,
    confirmed: bool = False,
    key_id: UUID | None = None,
) -> None:
    """Replay a dead letter of a company, with another payload if one is given.

    Raises what `edit_and_replay_dead_letter` of the engine raises, TypeNotAllowed, and
    InvalidPayload also for ids in the new payload that are not the company's.
    """
    key = find_task(task_id, owner_id=company_id).type.key
    check_type_to_start(key, limits_of_key(key_id))
    how: dict[str, Any] = {"actor": actor, "owner_id": company_id, "confirmed": confirmed}
    if payload is None:
        dead_letters.replay_dead_letter(task_id, **how)
        return
    if foreign := ids_not_owned(company_id, [(key, payload)]):
        raise foreign[0]
    dead_letters.edit_and_replay_dead_letter(task_id, payload, **how)


def replay_company_dead_letters(
    *,
    company_id: UUID,
    key: str,
    actor: str,
    limit: int = 100,
    confirmed: bool = False,
    key_id: UUID | None = None,
) -> int:
    """Replay the oldest dead letters of a type, and return their number.

    Raises UnknownType, TypeNotAllowed, ConfirmationNeeded.
    """
    check_type_to_start(key, limits_of_key(key_id))
    how: dict[str, Any] = {"actor": actor, "owner_id": company_id, "confirmed": confirmed}
    return dead_letters.replay_dead_letters(key, limit=limit, **how)

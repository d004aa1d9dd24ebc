"""Movement of one demo job while `up` runs: people apply, confirm and miss; the company decides."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from threading import Event, Thread
from types import TracebackType
from uuid import UUID

from django.db import DatabaseError, connection

from applicants.people import find_or_create_person
from jobs.models import JobStatus
from pipeline.config.demo_addresses import demo_address
from pipeline.database import instants
from pipeline.domain.errors import LineError
from pipeline.domain.states import Actor, ActorKind, Outcome, Reason, Status
from pipeline.management.demo.forms import add_cv, fill_for
from pipeline.management.demo.plans import FIRST_NAMES, LAST_NAMES, MOVING
from pipeline.models import Application
from pipeline.selectors.jobs import read_job_facts
from pipeline.services.joining import apply
from pipeline.services.leaving import remove, withdraw
from pipeline.services.turns import acknowledge

log = logging.getLogger(__name__)
security = logging.getLogger("security")

STEP_SECONDS = 6.0
# After this many steps (three hours) nobody applies any more, so that a forgotten demo stays
# small.
MOST_STEPS = 1_800
FEWEST_WAITING, MOST_WAITING = 4, 9
CONFIRMING, HIRED, LEAVING = 0.7, 0.2, 0.4  # shares; hired and leaving are cumulative
LEAST_REVIEW_SECONDS, MOST_REVIEW_SECONDS = 60, 240


class MovingJob:
    """Thread that moves a job, one act at a time, until the `with` block ends."""

    def __init__(self, job_id: UUID) -> None:
        self.job_id = job_id
        self._chance = Random()  # noqa: S311  no secret
        self._ended = Event()
        self._level = security.level
        self._thread = Thread(target=self._run, name="moving job", daemon=True)

    def __enter__(self) -> MovingJob:
        security.setLevel(logging.WARNING)  # nobody really decides here
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join(STEP_SECONDS)
        security.setLevel(self._level)

    def step(self) -> None:
        """Do the first act that is due now: answer, decide, leave or apply."""
        facts, now = read_job_facts(self.job_id), instants.now()
        if facts.status != JobStatus.OPEN:
            return
        live = Application.objects.filter(job_id=self.job_id).exclude(status=Status.INACTIVE)
        people = list(live.order_by("status_since"))
        with suppress(LineError):
            if not any(self._act(person, now) for person in people):
                waiting = sum(person.status == Status.WAITLIST for person in people)
                if waiting < FEWEST_WAITING or (
                    waiting < MOST_WAITING and self._chance.random() < 1 / MOST_WAITING
                ):
                    name = f"{self._chance.choice(FIRST_NAMES)} {self._chance.choice(LAST_NAMES)}"
                    person_id = find_or_create_person(demo_address(name)).id
                    actor = Actor(ActorKind.APPLICANT, person_id)
                    made = apply(
                        job_id=self.job_id,
                        applicant_id=person_id,
                        name=name,
                        actor=actor,
                        filled=fill_for(self.job_id, name),
                    )
                    add_cv(made, facts.company_id, MOVING.posting.title)

    def _run(self) -> None:
        steps = 0
        while steps < MOST_STEPS and not self._ended.wait(STEP_SECONDS):
            steps += 1
            try:
                self.step()
            except DatabaseError:
                log.warning("the moving job of the demo could not move", exc_info=True)
            finally:
                connection.close()

    def _act(self, person: Application, now: datetime) -> bool:
        """Let a person, or the company, do what is due. Tell whether anything was.

        Their fate is drawn from the application, its status and its misses, so each step sees the
        same one.
        """
        fate = Random(f"{person.id} {person.status} {person.decay_count}")  # noqa: S311  no secret
        patience, roll = fate.random(), fate.random()
        since = now - person.status_since
        own = Actor(ActorKind.APPLICANT, person.applicant_id)
        if person.status == Status.PENDING_ACKNOWLEDGMENT:
            window = timedelta(seconds=MOVING.policy.acknowledgment_window_seconds)
            if roll > CONFIRMING or since < window * patience * 0.8:
                return False
            acknowledge(application_id=person.id, actor=own)
            return True
        review = MOST_REVIEW_SECONDS - LEAST_REVIEW_SECONDS
        if person.status != Status.ACTIVE or since < timedelta(
            seconds=LEAST_REVIEW_SECONDS + review * patience
        ):
            return False
        company = Actor(ActorKind.COMPANY, person.job.company_id)
        if roll < HIRED:
            remove(application_id=person.id, outcome=Outcome.HIRED, actor=company)
        elif roll < LEAVING:
            withdraw(application_id=person.id, actor=own)
        else:
            reason = Reason.NOT_A_MATCH
            remove(application_id=person.id, outcome=Outcome.REJECTED, actor=company, reason=reason)
        return True

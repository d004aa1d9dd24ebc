"""End of retention: removal of personal data from ended applications, job by job."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from applicants.models import ERASED, ERASED_NAME, Applicant, ApplicantToken
from jobs import activity
from jobs.errors import BadRetention
from jobs.models import Retention
from pipeline.attachments import storage
from pipeline.correspondence import threads
from pipeline.equality import answers as equality
from pipeline.equality import totals
from pipeline.form import answers
from pipeline.line.lock import lock_job
from pipeline.models import Application, ChangeKind
from pipeline.privacy.erase import erase_person
from pipeline.review.annotations import forget_annotations
from pipeline.services.changes import record_application_changes
from pipeline.sources.origin import PARAMETERS
from tasks.context import Context
from tasks.registry import task_type
from tasks.scheduling import schedules

security = logging.getLogger("security")


BATCH = 200
UNDER_ONE_LOCK = 25  # applications; everyone who applies to the job waits in the meantime
# In any order, so that the search ends with a full batch. Most jobs keep data for the usual
# term: what ended since then is read only for jobs with a shorter term. The shortest possible term
# is for the index; the job's own term decides. Jobs of a sandbox whose clock was moved go by that
# clock.
_DUE = """
WITH ended AS (
    SELECT live.*, statement_timestamp() AS now
    FROM pipeline_application live JOIN jobs_job job ON job.id = live.job_id
    WHERE live.status = 'INACTIVE' AND live.name <> %(erased)s{among}
      AND live.ended_at < statement_timestamp() - make_interval(days => %(usual)s)
      AND job.clock_offset_seconds = 0
    UNION ALL
    SELECT live.*, statement_timestamp()
    FROM jobs_company less JOIN jobs_job job ON job.company_id = less.id
    JOIN pipeline_application live ON live.job_id = job.id
    WHERE less.keep_days < %(usual)s AND live.status = 'INACTIVE' AND live.name <> %(erased)s{among}
      AND live.ended_at >= statement_timestamp() - make_interval(days => %(usual)s)
      AND live.ended_at < statement_timestamp() - make_interval(days => %(least)s)
      AND job.clock_offset_seconds = 0
      AND NOT EXISTS (SELECT FROM jobs_retention own WHERE own.job_id = job.id)
    UNION ALL
    SELECT live.*, statement_timestamp()
    FROM jobs_retention less JOIN jobs_job job ON job.id = less.job_id
    JOIN pipeline_application live ON live.job_id = job.id
    WHERE less.keep_days < %(usual)s AND live.status = 'INACTIVE' AND live.name <> %(erased)s{among}
      AND live.ended_at >= statement_timestamp() - make_interval(days => %(usual)s)
      AND live.ended_at < statement_timestamp() - make_interval(days => %(least)s)
      AND job.clock_offset_seconds = 0
    UNION ALL
    SELECT live.*, statement_timestamp() + make_interval(secs => job.clock_offset_seconds)
    FROM jobs_company sandbox JOIN jobs_job job ON job.company_id = sandbox.id
    JOIN pipeline_application live ON live.job_id = job.id
    WHERE sandbox.clock_offset_seconds > 0 AND job.clock_offset_seconds > 0
      AND live.status = 'INACTIVE' AND live.name <> %(erased)s{among}
)
SELECT ended.job_id, ended.id, ended.applicant_id
FROM ended JOIN jobs_job job ON job.id = ended.job_id
JOIN jobs_company company ON company.id = job.company_id
LEFT JOIN jobs_retention kept ON kept.job_id = ended.job_id
WHERE ended.ended_at < ended.now
      - make_interval(days => coalesce(kept.keep_days, company.keep_days, %(usual)s))
  AND NOT coalesce(kept.legal_hold, false)
  AND NOT EXISTS (
      SELECT FROM pipeline_contest asked
      WHERE asked.application_id = ended.id AND asked.answer = ''
  )
LIMIT %(batch)s
"""
_ALL_DUE = _DUE.format(among="")
_DUE_AMONG = _DUE.format(among=" AND live.id = ANY(%(ids)s)")


# What people and companies wrote or sent, in one statement. Returns the number of files.
_FORGET = """
WITH notes AS (DELETE FROM pipeline_decisionnote WHERE application_id = ANY(%(ids)s)),
said AS (DELETE FROM pipeline_decisiontext WHERE application_id = ANY(%(ids)s)),
contests AS (DELETE FROM pipeline_contest WHERE application_id = ANY(%(ids)s)),
exceptions AS (
    UPDATE pipeline_lineexception SET text = '' WHERE application_id = ANY(%(ids)s)
),
claims AS (DELETE FROM pipeline_groupclaim WHERE application_id = ANY(%(ids)s)),
texts AS (DELETE FROM pipeline_applicationreference WHERE application_id = ANY(%(ids)s)),
agreed AS (DELETE FROM pipeline_agreement WHERE application_id = ANY(%(ids)s)),
chosen AS (DELETE FROM pipeline_equalityanswers WHERE key = ANY(%(keys)s)),
came AS (UPDATE pipeline_applicationsource SET {unnamed} WHERE application_id = ANY(%(ids)s)),
files AS (DELETE FROM pipeline_attachment WHERE application_id = ANY(%(ids)s) RETURNING id)
SELECT count(*) FROM files
""".format(unnamed=", ".join(f"{name} = ''" for name in PARAMETERS))  # noqa: S608  names of columns


PERIOD_CHANGED = activity.declare(
    "retention.changed",
    activity.Group.RULES,
    _("Changed how long a job keeps personal data"),
)


class Due(NamedTuple):
    """Application whose retention has ended."""

    job_id: UUID
    application_id: UUID
    applicant_id: UUID


def set_period(*, job_id: UUID, keep_days: int, legal_hold: bool) -> None:
    """Set how many days a job keeps personal data of ended applications, and its legal hold.

    Raises BadRetention.
    """
    least, most = Retention.LEAST_DAYS, Retention.MOST_DAYS
    if not least <= keep_days <= most:
        why = _("Enter a number of days from %(least)s to %(most)s.")
        raise BadRetention(why % {"least": least, "most": f"{most:,}"})
    values = {"keep_days": keep_days, "legal_hold": legal_hold}
    Retention.objects.update_or_create(job_id=job_id, defaults=values)
    security.info("retention.changed", extra={"job": str(job_id), **values})


def erase_batch() -> int:
    """Erase the personal data of a batch of applications whose retention has ended.

    Returns their number. Each application gets its own anonymous applicant. The log stays as it is.
    A person without other applications and without a token in use is erased too. Jobs under a
    legal hold are skipped, and so are ends that the company still has to look at again. Must not
    be called inside a transaction.
    """
    due = _read_due()
    for job_id in dict.fromkeys(row.job_id for row in due):
        ids = [row.application_id for row in due if row.job_id == job_id]
        for start in range(0, len(ids), UNDER_ONE_LOCK):
            _separate_people(job_id, ids[start : start + UNDER_ONE_LOCK])
    applications = Application.objects.filter(applicant_id=OuterRef("id"))
    tokens = ApplicantToken.objects.filter(
        applicant_id=OuterRef("id"), revoked_at=None, expires_at__gt=Now()
    )
    unneeded = Applicant.objects.filter(~Exists(applications), ~Exists(tokens))
    for person_id in {row.applicant_id for row in due}:
        if unneeded.filter(id=person_id).exclude(email__startswith=ERASED).exists():
            erase_person(applicant_id=person_id)
    return len(due)


def _read_due(ids: Collection[UUID] | None = None) -> list[Due]:
    values: dict[str, Any] = {
        "erased": ERASED_NAME,
        "least": Retention.LEAST_DAYS,
        "usual": Retention.USUAL_DAYS,
        "ids": list(ids or []),
        "batch": BATCH,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ALL_DUE if ids is None else _DUE_AMONG, values)
        return [Due(*row) for row in cursor.fetchall()]


@transaction.atomic(durable=True)
def _separate_people(job_id: UUID, application_ids: list[UUID]) -> None:
    """Separate applications from their people, under the job's lock.

    A new legal hold still counts. The number of statements does not grow with the number of
    applications, because everyone who applies to the job waits in the meantime.
    """
    lock_job(job_id)
    ids = [row.application_id for row in _read_due(application_ids)]
    people = [Applicant(id=each, name=ERASED_NAME) for each in (uuid4() for _ in ids)]
    for nobody in people:
        nobody.email = f"{ERASED}{nobody.id}"
    Applicant.objects.bulk_create(people)
    Application.objects.bulk_update(
        [
            Application(
                id=application_id,
                applicant_id=nobody.id,
                name=ERASED_NAME,
                language="",
                is_member=False,
            )
            for application_id, nobody in zip(ids, people, strict=True)
        ],
        ["applicant_id", "name", "language", "is_member"],
    )
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"ids": ids, "keys": list(equality.keys_of(ids))})
        if cursor.fetchone() != (0,):
            storage.request_removal()
    forget_annotations(ids)
    answers.forget(ids)
    threads.forget(ids)
    record_application_changes(ChangeKind.APPLICATION_ERASED, ids)
    for application_id in ids:
        about = {"job": str(job_id), "application": str(application_id)}
        security.info("application.erased", extra=about)


# Task that ends retention, every night for the whole site.


KEY = "retention.people"
EVERY_NIGHT = "20 3 * * *"


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=600, max_attempts=3, cap=1)
def erase_expired(context: Context) -> dict[str, int]:
    """Erase the personal data of applications whose retention has ended. Returns their number."""
    equality.mix()
    totals.make_all()
    erased = 0
    while not context.cancelled:
        batch = erase_batch()
        erased += batch
        context.progress(erased, erased, "applications erased")
        if batch < BATCH:
            break
    return {"applications": erased}


def ensure_erasure() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Retention of personal data", EVERY_NIGHT, KEY)

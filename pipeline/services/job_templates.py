"""Templates for new jobs: keep a job's settings under a name, rename and delete them.

They change no line. The company's row is locked while a name is given, so that the limit and the
names hold for people who do so at the same time.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from jobs.models import Company, Job
from jobs.postings import FACTS
from pipeline.domain.states import POSITIONS
from pipeline.form.versions import read_draft
from pipeline.models import BY_LOT, JobTemplate
from pipeline.wording.english import isolated

MOST_TEMPLATES = 50


class TemplateRefused(ValueError):
    """The template's name is taken, or the company has as many as it can have."""


@transaction.atomic
def keep_template(*, job: Job, name: str) -> JobTemplate:
    """Keep a job's posting, form, seats and rules under a name. Raises TemplateRefused."""
    templates = _lock_templates(job.company_id)
    if templates >= MOST_TEMPLATES:
        why = _("Your company has %(most)s templates. Delete one that is not needed.")
        raise TemplateRefused(why % {"most": MOST_TEMPLATES})
    row = JobTemplate(
        company_id=job.company_id,
        name=_require_free_template_name(job.company_id, name),
        title=job.posting.title,
        description=job.posting.description,
        location=job.posting.location,
        **{name: getattr(job.posting, name) for name in FACTS},
        capacity=job.capacity,
        rules=job.policy.values()
        | {BY_LOT: job.draw_at is not None, POSITIONS: job.positions_to_fill},
        questions=[each.as_json() for each in read_draft(job).questions],
    )
    row.save(force_insert=True)
    return row


@transaction.atomic
def rename_template(*, template: JobTemplate, name: str) -> None:
    """Give a template another name. A deleted one stays deleted. Raises TemplateRefused."""
    _lock_templates(template.company_id)
    free = _require_free_template_name(template.company_id, name, apart_from=template.id)
    JobTemplate.objects.filter(id=template.id).update(name=free)


def delete_template(*, template: JobTemplate) -> None:
    """Delete a template, if it is there. Jobs made from it stay as they are."""
    JobTemplate.objects.filter(id=template.id).delete()


def _lock_templates(company_id: UUID) -> int:
    """Block other changes to the company's template names; return how many templates it has."""
    Company.objects.select_for_update(no_key=True).get(id=company_id)
    return JobTemplate.objects.filter(company_id=company_id).count()


def _require_free_template_name(
    company_id: UUID, name: str, *, apart_from: UUID | None = None
) -> str:
    """Return the name with single spaces.

    Raises TemplateRefused if it is taken in any letter case.
    """
    name = " ".join(name.split())
    ours = JobTemplate.objects.filter(company_id=company_id)
    ours = ours.exclude(id=apart_from) if apart_from else ours
    if ours.alias(lower=Lower("name")).filter(lower=Lower(Value(name))).exists():
        why = _("Your company already has a template “%(name)s”. Enter another name.")
        raise TemplateRefused(why % {"name": isolated(name)})
    return name

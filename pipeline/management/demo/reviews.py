"""Reviews of the demo: working hours, targets, criteria, and scores of people in review."""

from __future__ import annotations

from uuid import UUID

from jobs.companies import set_undo_times
from jobs.models import UNDO_SECONDS, Company, JobPosting, Membership, Telling, User
from jobs.review_clock import DAY_SECONDS, WorkingHours
from pipeline.config.demo_addresses import OWNER
from pipeline.domain.states import Status
from pipeline.management.demo.plans import RECRUITER
from pipeline.models import Application, JobFollower
from pipeline.review.scores import CriterionWords, Mark, give, set_criteria
from pipeline.review.settings import set_working_hours
from pipeline.selectors.scores import read_criteria

HOURS = WorkingHours.checked(frozenset(range(5)), "08:00", "18:00", "UTC")
TARGET_SECONDS = 3 * DAY_SECONDS
CRITERIA = (
    CriterionWords("Craft", "Has worked with wood, and shows how."),
    CriterionWords("Works in a crew", "Asks, explains, and cleans up after the work."),
    CriterionWords("Safety", "Knows the tools that can hurt, and says when to stop."),
)
# The marks of each reviewer for the people in review, longest first. The owner has not scored the
# last one, so their page shows that the others' marks are hidden until then.
MARKS = {
    RECRUITER: ((4, 3, 4), (2, 3, 3), (3, 4, 3)),
    OWNER: ((4, 4, 3), (3, 2, 4)),
}
REASONS = ("Built a dinghy on her own.", "", "Asked about the band saw first.")


def add_reviews(company: Company, job_id: UUID) -> None:
    """Give a job a target, criteria and some scores, and its company working hours.

    Decisions can be undone only shortly, so that whoever tries the demo sees what follows.
    """
    set_working_hours(company_id=company.id, hours=HOURS)
    seconds = {"undo_removal_seconds": UNDO_SECONDS[0], "undo_hiring_seconds": UNDO_SECONDS[0]}
    set_undo_times(company_id=company.id, seconds=seconds, by=None)
    JobPosting.objects.filter(job_id=job_id).update(review_target_seconds=TARGET_SECONDS)
    set_criteria(job_id=job_id, wanted=CRITERIA)
    criteria = read_criteria(job_id)
    held = Application.objects.filter(job_id=job_id, status=Status.ACTIVE)
    people = list(held.order_by("status_since", "id").values_list("id", flat=True))
    for email, rows in MARKS.items():
        reviewer_id = User.objects.get(email=email).id
        for application_id, marks in zip(people, rows, strict=False):
            given = zip(criteria, marks, REASONS, strict=True)
            by_criterion = {row.id: Mark(mark, text) for row, mark, text in given}
            give(application_id=application_id, reviewer_id=reviewer_id, marks=by_criterion)


def tell_nobody(company: Company, job_id: UUID) -> None:
    """Let no member be told of a job's seats: of the moving job, that were an email each minute."""
    members = Membership.objects.filter(company=company).values_list("user_id", flat=True)
    JobFollower.objects.bulk_create(
        JobFollower(job_id=job_id, user_id=user_id, telling=Telling.NEVER) for user_id in members
    )

"""Messages of the demo: templates, and a thread with the applicant as whom one can look around."""

from __future__ import annotations

from uuid import UUID

from jobs.models import Company, User
from pipeline.config.demo_addresses import APPLICANT
from pipeline.correspondence import templates, threads
from pipeline.correspondence.threads import Draft, Side
from pipeline.management.demo.plans import RECRUITER
from pipeline.models import Application

TEMPLATES = {
    "Invitation": "Dear {name},\n\nthank you for applying for “{job}”. Could you visit our yard on"
    " Tuesday at 10:00?\n\n{me}",
    "A few more days": "Dear {name},\n\nwe need a few more days to read everything. You will hear"
    " from us this week.\n\n{me}",
}
THREAD = (
    (Side.COMPANY, "Dear Mia,\n\nwhich boats have you worked on so far? A photo would help us."),
    (Side.APPLICANT, "Mostly clinker dinghies: https://example.org/mia/dinghies\nMia"),
    (Side.COMPANY, "Thank you, lovely work. We will be in touch when it is your turn."),
)


def add_messages(company: Company) -> None:
    """Give a company templates, and let its recruiter and the applicant write to each other."""
    for name, text in TEMPLATES.items():
        templates.save(company_id=company.id, name=name, text=text)
    author_id: UUID = User.objects.get(email=RECRUITER).id
    theirs = Application.objects.filter(job__company=company, name=APPLICANT, verify_by=None)
    if application := theirs.order_by("-applied_at").first():
        for side, text in THREAD:
            author = author_id if side == Side.COMPANY else None
            draft = Draft(text=text, author_id=author)
            threads.write(application_id=application.id, side=side, draft=draft)

"""Plans of the demo: companies, jobs, and how people behave at each."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from jobs.models import JobStatus, Role
from jobs.policies import Policy
from pipeline.config.demo_addresses import APPLICANT, COMPANY, OWNER, STORY_PEOPLE
from pipeline.form.questions import Question
from pipeline.management.demo.forms import YARD
from pipeline.services.jobs import Posting

HOUR, DAY = 3_600, 86_400
WEEKS = 8  # the length of the demo's past
RECRUITER = "recruiter@demo.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastJob:
    """Job with a past. Days are counted back from now.

    `confirming` is the share of offers that people confirm, `review_days` how long the company
    takes to decide at most, `capacities` its changes of capacity: (days ago, seats).
    """

    posting: Posting
    capacity: int
    policy: Policy = field(default_factory=Policy)
    created: float
    people_a_day: float = 0.0
    confirming: float = 0.8
    review_days: float = 4.0
    hiring: float = 0.15
    capacities: tuple[tuple[float, int], ...] = ()
    stopped: float | None = None
    stopped_as: JobStatus = JobStatus.OPEN
    is_draft: bool = False
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedCompany:
    """Company of the demo with its jobs."""

    name: str
    owner: str
    jobs: tuple[PastJob, ...]
    colleagues: tuple[tuple[str, Role], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """Job of the demo whose log starts now. `people` apply in order; the first ones confirm."""

    posting: Posting
    capacity: int
    policy: Policy
    people: tuple[str, ...] = ()
    confirmed: int = 0
    questions: tuple[Question, ...] = ()


SHIPWRIGHT = PastJob(
    posting=Posting(
        "Shipwright",
        "Plank, caulk and mend wooden boats of up to 20 metres, in a crew of six.",
        "Harbour yard",
        employment_type="FULL_TIME",
        workplace="ON_SITE",
        country="NL",
        department="Yard",
        language="en",
        pay_minimum=Decimal(3_100),
        pay_maximum=Decimal(3_900),
        pay_currency="EUR",
        pay_period="MONTH",
    ),
    capacity=5,
    policy=Policy(max_decays=1),
    created=WEEKS * 7,
    people_a_day=2.3,
    confirming=0.72,
    capacities=((20, 6),),
    questions=YARD,
)
RIGGER = PastJob(
    posting=Posting(
        "Rigger",
        "Set up masts and standing rigging. You must like heights.",
        "Harbour yard",
        employment_type="PART_TIME",
        workplace="ON_SITE",
        country="NL",
        department="Yard",
    ),
    capacity=4,
    policy=Policy(acknowledgment_window_seconds=2 * DAY, max_decays=1),
    created=29,
    people_a_day=0.8,
    confirming=0.65,
)
COMPANIES = (
    PlannedCompany(
        COMPANY,
        OWNER,
        (
            SHIPWRIGHT,
            PastJob(
                posting=Posting(
                    "Summer dockhand", "Help guests moor, June to September.", "Pier 4"
                ),
                capacity=3,
                created=54,
                policy=Policy(max_decays=1),
                people_a_day=1.3,
                confirming=0.7,
                review_days=3,
                hiring=0.3,
                stopped=12,
                stopped_as=JobStatus.CLOSED,
            ),
            PastJob(
                posting=Posting(
                    "Sailmaker", "Cut and sew sails. Paused until the new loft is ready.", "Loft"
                ),
                capacity=2,
                created=40,
                people_a_day=0.7,
                stopped=5,
                stopped_as=JobStatus.PAUSED,
            ),
            RIGGER,
            PastJob(
                posting=Posting(
                    "Marina receptionist",
                    "Greet guests, assign berths and answer the radio. Early and late shifts.",
                    "Marina office",
                    employment_type="PART_TIME",
                    workplace="HYBRID",
                    country="NL",
                    department="Marina",
                    pay_minimum=Decimal("16.50"),
                    pay_currency="EUR",
                    pay_period="HOUR",
                ),
                capacity=6,
                policy=Policy(acknowledge_first_seat=True),
                created=16,
                people_a_day=0.5,
                confirming=0.9,
            ),
            PastJob(
                posting=Posting("Harbour pilot", "A draft: only the company sees it.", "Pier 4"),
                capacity=1,
                policy=Policy(acknowledgment_window_seconds=2 * DAY),
                created=2,
                is_draft=True,
            ),
        ),
        ((RECRUITER, Role.RECRUITER), ("viewer@demo.example", Role.VIEWER)),
    ),
    PlannedCompany(
        "Lumen Café (demo)",
        "owner@lumen.demo.example",
        (
            PastJob(
                posting=Posting("Barista", "Mornings from six. We train you.", "Market square"),
                capacity=2,
                policy=Policy(acknowledgment_window_seconds=12 * HOUR, max_decays=0),
                created=22,
                people_a_day=1.2,
                review_days=2,
            ),
            PastJob(
                posting=Posting("Pastry chef", "Laminated dough, tarts, patience.", "Kitchen"),
                capacity=1,
                created=13,
                people_a_day=0.5,
            ),
        ),
    ),
    PlannedCompany(
        "Tidewater Robotics (demo)",
        "owner@tidewater.demo.example",
        (
            PastJob(
                posting=Posting(
                    "Firmware engineer", "C and Rust on small boats that steer themselves.", "Quay"
                ),
                capacity=4,
                policy=Policy(penalty_places=3),
                created=34,
                people_a_day=0.9,
                confirming=0.85,
            ),
            PastJob(
                posting=Posting("Field technician", "Two days a week at sea.", "Quay and at sea"),
                capacity=3,
                created=9,
                people_a_day=0.6,
            ),
        ),
    ),
)

# The job of the demo with a number of positions, and the one with a closing date.
FILLING, CLOSING = "Pastry chef", "Marina receptionist"
# The job of the demo in whose line one person was moved ahead.
SAILMAKER = "Sailmaker"

MOVING = LiveJob(
    posting=Posting(
        "Boatbuilder",
        "Build wooden boats by the harbour. This job of the demo moves while you watch.",
        "Harbour yard",
    ),
    capacity=3,
    policy=Policy(
        acknowledgment_window_seconds=60,
        acknowledge_first_seat=True,
        max_decays=1,
        cooldown_seconds=20,
    ),
    people=("Dee Rao", "Eli Sato", "Fay Moreau", "Gus Novak", "Hana Kim", "Ivo Petrov", "Jo Diaz"),
    confirmed=2,
    questions=YARD[1:],
)
STORY = LiveJob(
    posting=Posting(
        "Night watch",
        "A job to try out: one seat, and two minutes to confirm it. Apply as Ana, Bo and Cy.",
        "Pier 4",
    ),
    capacity=1,
    policy=Policy(
        acknowledgment_window_seconds=120, acknowledge_first_seat=True, cooldown_seconds=1
    ),
)

# The applications of the person for whom `run.py` prints a sign-in link: (job, days ago).
# Nothing is decided about them, and she answers no offer.
APPLICATIONS_OF_ONE = (
    ("Summer dockhand", 30.0),
    ("Shipwright", 4.5),
    ("Field technician", 3.2),
    ("Marina receptionist", 0.2),
)

FIRST_NAMES = (
    "Ada Ali Amara Anton Asha Bilal Bruno Chen Clara Dana Diego Elif Emil Esra Farid Femi Greta"
    " Hugo Ida Ines Ivan Jana Jonas Kavya Kofi Lara Liam Lucia Malik Mara Mina Nadia Nils Noor"
    " Olga Omar Paula Priya Quentin Rosa Ruben Sami Sofia Tara Timo Uma Viktor Wanda Yara Zoe"
).split()
LAST_NAMES = (
    "Adeyemi Aydin Bauer Brandt Castro Cohen Costa Demir Dubois Fischer Garcia Gruber Haddad Ivanov"
    " Jansen Kaya Keller Khan Kowalski Lopez Mbeki Meyer Nair Novak Ortiz Park Petrova Quist"
    " Ricci Rossi Roy Santos Schmidt Singh Suzuki Tanaka Vega Weber Yilmaz Zhang"
).split()
# Names with a part of their own: they join no line by chance.
RESERVED = (APPLICANT, *STORY_PEOPLE.values())

"""Companies, their members and API keys, and their job openings."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from uuid_utils.compat import uuid7

from jobs.line_counters import LineCounters
from jobs.policies import POLICY_FIELDS, Policy, policy_limits
from jobs.postings import PAY_WHOLE, PostingFacts
from jobs.review_clock import TARGET_SECONDS, ReviewClock
from jobs.user_manager import UserManager

MAX_CAPACITY = 10_000
MAX_POSITIONS = 10_000
TITLE_LENGTH, LOCATION_LENGTH, DESCRIPTION_LENGTH = 200, 200, 20_000
NAME_LENGTH = 200
CONTACT_LENGTH = 300
MOST_JOBS_OF_KEY = 50
KEEP_DAYS = (30, 3_650)  # the fewest and the most days to keep data of ended applications
ZONE_LENGTH = 64
RESERVED_SENTENCE_LENGTH, RESERVED_CODE_LENGTH = 300, 60
UNDO_SECONDS = (10, 3_600)  # the shortest and the longest time to undo a decision


class User(AbstractUser):
    """Staff account of a person who acts for companies or works in the back office."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    username = None  # type: ignore[assignment]
    email = models.EmailField(unique=True)
    # As the person wants to be called; empty until they say.
    name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")

    # In which they last used the site, for emails; empty while unknown.
    language = models.CharField(max_length=16, blank=True, default="", db_default="")
    # Chosen by themselves: for emails, and for pages after each sign-in; empty without a choice.
    chosen_language = models.CharField(max_length=16, blank=True, default="", db_default="")
    # Names the content of its UserPicture; empty: none.
    picture_digest = models.CharField(max_length=32, blank=True, default="", db_default="")

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager[User]] = UserManager()  # type: ignore[assignment]

    @property
    def shown_name(self) -> str:
        """Return the name, or the address until there is one."""
        return self.name or self.email

    @property
    def languages(self) -> tuple[str, str]:
        """Return the languages of their emails: the chosen one, then the last used."""
        return self.chosen_language, self.language


class UserPicture(models.Model):
    """Picture of a staff account, as this site has encoded it: WebP."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="+")
    data = models.BinaryField()

    def __str__(self) -> str:
        return str(self.user_id)


class Company(models.Model):
    """Company that opens jobs. It sees and changes only its own data."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=NAME_LENGTH)
    created_at = models.DateTimeField(auto_now_add=True)
    # Members without a passkey or an authenticator app cannot act for the company.
    requires_second_step = models.BooleanField(default=False, db_default=False)
    # The live company whose sandbox this is. Its members are those of the live company. A sandbox
    # that was reset is kept, out of reach, as that of the one that took its place.
    sandbox_of: models.OneToOneField[Company | None, Company | None] = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="sandbox"
    )
    # How far a sandbox's clock is ahead of the database's.
    clock_offset_seconds = models.BigIntegerField(default=0, db_default=0)
    # As `jobs.review_clock.WorkingHours` stores them; null: every hour counts.
    working_hours = models.JSONField(null=True)
    # How long decisions made on pages can be undone: to remove or reject, and to hire; null: as
    # long as the site says.
    undo_removal_seconds = models.IntegerField(null=True)
    undo_hiring_seconds = models.IntegerField(null=True)
    # Who is responsible for people's data, and how to reach them; empty: the company's name.
    legal_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    privacy_contact = models.CharField(
        max_length=CONTACT_LENGTH, blank=True, default="", db_default=""
    )
    # How long jobs keep data unless they say so themselves; null: as long as is usual.
    keep_days = models.IntegerField(null=True)
    # The privacy notice and consents that people who apply are shown (`pipeline.consents`).
    shown_consents = ArrayField(models.UUIDField(), null=True)
    # The equal-opportunity questions that they are asked (`pipeline.equality`), by their codes.
    equality_questions = ArrayField(models.CharField(max_length=20), null=True)

    class Meta:
        verbose_name_plural = "companies"
        constraints = [
            models.CheckConstraint(
                condition=Q(clock_offset_seconds=0)
                | Q(clock_offset_seconds__gt=0, sandbox_of__isnull=False),
                name="company_clock_only_in_sandbox",
            ),
            models.CheckConstraint(
                condition=Q(undo_removal_seconds__range=UNDO_SECONDS)
                & Q(undo_hiring_seconds__range=UNDO_SECONDS),
                name="company_undo_in_range",
            ),
            models.CheckConstraint(
                condition=Q(keep_days__range=KEEP_DAYS), name="company_keep_days_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def controller_name(self) -> str:
        """Return the name of who is responsible for people's data."""
        return self.legal_name or self.name

    @property
    def is_test(self) -> bool:
        """Tell whether this is a sandbox."""
        return self.sandbox_of_id is not None


class CompanyRequest(models.Model):
    """Request to run a company here, from a person who has proved their address.

    The operator approves or refuses it. An approved one has the id of its company.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company_name = models.CharField(max_length=NAME_LENGTH)
    email = models.EmailField()
    asked_at = models.DateTimeField(auto_now_add=True)
    # Both are null until it is decided.
    decided_at = models.DateTimeField(null=True)
    is_approved = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(decided_at__isnull=True, is_approved__isnull=True)
                | Q(decided_at__isnull=False, is_approved__isnull=False),
                name="company_request_decided_whole",
            )
        ]

    def __str__(self) -> str:
        return self.company_name


class Role(models.TextChoices):
    """Role of a member; each includes the one before it."""

    VIEWER = "VIEWER", pgettext_lazy("role", "Viewer")
    RECRUITER = "RECRUITER", pgettext_lazy("role", "Recruiter")
    OWNER = "OWNER", pgettext_lazy("role", "Owner")


class JobRole(models.TextChoices):
    """Role of a member on single jobs; each includes the one before it."""

    INTERVIEWER = "INTERVIEWER", pgettext_lazy("role", "Interviewer")
    HIRING_MANAGER = "HIRING_MANAGER", pgettext_lazy("role", "Hiring manager")


class Telling(models.TextChoices):
    """Choice of when to tell a member of seats taken, assignments, mentions and due reviews."""

    AT_ONCE = "AT_ONCE"
    DIGEST = "DIGEST"  # in the email of the next morning
    NEVER = "NEVER"


class Membership(models.Model):
    """A staff account's place in one company's team.

    The role holds for the whole company; empty for a member who has only single jobs.
    """

    company = models.ForeignKey(Company, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, blank=True, choices=Role)
    # The emails that the member wants: a digest every morning, and alerts at once.
    digest = models.BooleanField(default=True, db_default=True)
    alerts = models.BooleanField(default=True, db_default=True)
    # How they are told about reviews; empty: as is usual for the role.
    reviews = models.CharField(max_length=7, blank=True, default="", db_default="", choices=Telling)
    # The last day on which no rota assigns them anything.
    away_until = models.DateField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("company", "user", name="one_role_per_company")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role or 'some jobs'} of {self.company_id}"

    @property
    def telling(self) -> Telling:
        """Return how the member is told about reviews, unless they chose otherwise for a job."""
        if self.reviews:
            return Telling(self.reviews)
        return Telling.NEVER if self.role == Role.VIEWER else Telling.AT_ONCE


class Scope(models.TextChoices):
    """Scope of an API key. WRITE allows what an owner may do, except managing keys and members.

    APPLICANT_TOKENS lets a key make portal tokens, which act for applicants. No other scope
    includes it.
    """

    READ = "read"
    WRITE = "write"
    APPLICANT_TOKENS = "applicant-tokens"


# The scopes of a key whose maker names none.
USUAL_SCOPES = (Scope.READ, Scope.WRITE)


class ApiKey(models.Model):
    """API key of a company. Only its hash is stored; the key itself is shown once."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=NAME_LENGTH)
    hint = models.CharField(max_length=20)
    digest = models.BinaryField(max_length=32, unique=True)
    scopes = ArrayField(models.CharField(max_length=20, choices=Scope))
    created_at = models.DateTimeField(auto_now_add=True)
    # Accurate to a minute: not every use is recorded.
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    # Null: valid until it is revoked.
    expires_at = models.DateTimeField(null=True)
    # The owner who made it; null: the operator, or an account that is gone.
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    # The jobs of the company that exist for it; null: all.
    job_ids = ArrayField(models.UUIDField(), null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(job_ids__isnull=True) | Q(job_ids__len__range=(1, MOST_JOBS_OF_KEY)),
                name="api_key_limited_to_some_jobs",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"


class JobStatus(models.TextChoices):
    """Status of a job: DRAFT → OPEN ↔ PAUSED, and either → CLOSED. Only OPEN fills seats."""

    DRAFT = "DRAFT"  # the company opens it
    OPEN = "OPEN"  # the company pauses or closes it
    PAUSED = "PAUSED"  # the company resumes or closes it
    CLOSED = "CLOSED"  # final


def _policy_limits(name: str) -> Q:
    return Q(**{f"{name}__range": policy_limits(name)})


class Job(LineCounters, models.Model):
    """Hot row of a job: everything that a change of its line reads and writes, and no long text.

    A change of the line locks this row first (`pipeline.line.lock`). No counter is indexed: an
    index on a column that every change writes would rule out heap-only updates.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.PROTECT, related_name="jobs")
    status = models.CharField(max_length=6, choices=JobStatus, default=JobStatus.DRAFT)
    capacity = models.IntegerField()
    active_count = models.IntegerField(default=0)
    pending_count = models.IntegerField(default=0)
    waitlist_count = models.IntegerField(default=0)
    unverified_count = models.IntegerField(default=0)  # of those; public numbers leave them out
    next_ticket = models.BigIntegerField(default=1)
    head_ticket = models.BigIntegerField(default=1)
    seq = models.BigIntegerField(default=0)
    chain_head = models.BinaryField(max_length=32)
    last_event_at = models.DateTimeField()
    last_txid = models.BigIntegerField(default=0)
    # By the database's clock, even in a sandbox, so that the decay worker needs no other.
    next_due_at = models.DateTimeField(null=True)
    # Copies of the company's: a job of a sandbox, and how far its clock is ahead.
    is_test = models.BooleanField(default=False, db_default=False)
    clock_offset_seconds = models.BigIntegerField(default=0, db_default=0)
    policy_version = models.IntegerField(default=1)
    # The current form that people answer when they apply; 0: none.
    form_version = models.IntegerField(default=0, db_default=0)
    acknowledgment_window_seconds = models.IntegerField()
    acknowledge_first_seat = models.BooleanField()
    penalty_places = models.IntegerField()
    max_decays = models.IntegerField(null=True)
    cooldown_seconds = models.IntegerField()
    max_passes = models.IntegerField(default=1, db_default=0)  # 0 for jobs from before it
    quiet_from = models.CharField(max_length=5, null=True)  # noqa: DJ001  null: no quiet hours
    quiet_to = models.CharField(max_length=5, null=True)  # noqa: DJ001  null: no quiet hours
    quiet_weekends = models.BooleanField(default=False, db_default=False)
    quiet_time_zone = models.CharField(max_length=ZONE_LENGTH, default="UTC", db_default="UTC")
    created_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    # When the order is drawn by lot, and when it was; null: first come, first served.
    draw_at = models.DateTimeField(null=True)
    drawn_at = models.DateTimeField(null=True)
    # How many people the job hires; null: open-ended. How many it has hired.
    positions_to_fill = models.IntegerField(null=True)
    hired_count = models.IntegerField(default=0, db_default=0)
    # How many seats only people of a group can take (pipeline.models.ReservedGroup), how many of
    # those who hold a seat took one of them, and when the rest fall to the line; null: never.
    reserved_seats = models.IntegerField(default=0, db_default=0)
    reserved_for = models.CharField(max_length=16, blank=True, default="", db_default="")
    reserved_count = models.IntegerField(default=0, db_default=0)
    reserved_until = models.DateTimeField(null=True)
    # How often one person was moved to the front of the line: see pipeline.models.LineException.
    exception_count = models.IntegerField(default=0, db_default=0)
    # When the system opens the draft, and when it closes the job; null: the company does.
    opens_at = models.DateTimeField(null=True)
    closes_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index("next_due_at", name="job_due", condition=Q(next_due_at__isnull=False)),
            # A status changes a few times in a job's life, so this costs the line nothing.
            models.Index(fields=["company", "id"], name="job_open", condition=Q(status="OPEN")),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(capacity__range=(1, MAX_CAPACITY)), name="job_capacity_in_range"
            ),
            models.CheckConstraint(
                condition=Q(active_count__gte=0, pending_count__gte=0, waitlist_count__gte=0),
                name="job_counters_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(unverified_count__gte=0, unverified_count__lte=F("waitlist_count")),
                name="job_unverified_among_waiting",
            ),
            models.CheckConstraint(
                condition=Q(head_ticket__lte=F("next_ticket")), name="job_head_ticket_bounded"
            ),
            models.CheckConstraint(
                condition=Q(clock_offset_seconds=0) | Q(clock_offset_seconds__gt=0, is_test=True),
                name="job_clock_only_in_sandbox",
            ),
            models.CheckConstraint(
                condition=_policy_limits("acknowledgment_window_seconds")
                & _policy_limits("penalty_places")
                & _policy_limits("cooldown_seconds")
                & (Q(max_decays__isnull=True) | _policy_limits("max_decays")),
                name="job_policy_in_range",
            ),
            models.CheckConstraint(condition=Q(max_passes__range=(0, 2)), name="job_passes_known"),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_to__isnull=True)
                | Q(quiet_from__isnull=False, quiet_to__isnull=False),
                name="job_quiet_hours_have_both_ends",
            ),
            models.CheckConstraint(
                condition=Q(positions_to_fill__isnull=True)
                | Q(positions_to_fill__range=(1, MAX_POSITIONS)),
                name="job_positions_in_range",
            ),
            models.CheckConstraint(
                condition=Q(hired_count__gte=0)
                & (Q(positions_to_fill__isnull=True) | Q(hired_count__lte=F("positions_to_fill"))),
                name="job_hired_within_positions",
            ),
            models.CheckConstraint(
                condition=Q(reserved_seats=0, reserved_for="", reserved_until__isnull=True)
                | (Q(reserved_seats__range=(1, MAX_CAPACITY)) & ~Q(reserved_for="")),
                name="job_reserve_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(
                    reserved_count__gte=0,
                    reserved_count__lte=F("active_count") + F("pending_count"),
                ),
                name="job_reserved_among_seated",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def policy(self) -> Policy:
        """Current policy."""
        return Policy(**{name: getattr(self, name) for name in POLICY_FIELDS})

    @property
    def review_clock(self) -> ReviewClock | None:
        """Return the clock of the job's reviews; None without a target.

        Its posting and company must have been read with it.
        """
        return ReviewClock.read(self.posting.review_target_seconds, self.company.working_hours)


class JobMember(models.Model):
    """A member's role on one job, beside or instead of one for the whole company."""

    membership = models.ForeignKey(Membership, models.CASCADE, related_name="job_members")
    job = models.ForeignKey(Job, models.CASCADE, related_name="members")
    role = models.CharField(max_length=14, choices=JobRole)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["membership", "job"], name="one_role_per_job")
        ]

    def __str__(self) -> str:
        return f"{self.membership_id} {self.role} of {self.job_id}"


class JobPosting(PostingFacts):
    """Text that people read about a job, and its facts. It is long, so it is kept off the hot row.

    The description is Markdown, of which `pipeline.careers.markdown` shows a part.

    `review_target_seconds` is how soon the company aims to decide on people in seats. It is a
    promise, no rule: the line does not know it.
    """

    job: models.OneToOneField[Job, Job] = models.OneToOneField(
        Job, models.CASCADE, primary_key=True, related_name="posting"
    )
    title = models.CharField(max_length=TITLE_LENGTH)
    description = models.TextField(blank=True, max_length=DESCRIPTION_LENGTH)
    location = models.CharField(blank=True, max_length=LOCATION_LENGTH)
    review_target_seconds = models.IntegerField(null=True)
    # What the company says of the group that seats are reserved for, and the code by which people
    # show that they belong to it. Only its members see the code.
    reserved_sentence = models.CharField(
        max_length=RESERVED_SENTENCE_LENGTH, blank=True, default="", db_default=""
    )
    reserved_code = models.CharField(
        max_length=RESERVED_CODE_LENGTH, blank=True, default="", db_default=""
    )
    version = models.IntegerField(default=1)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(review_target_seconds__range=TARGET_SECONDS),
                name="review_target_in_range",
            ),
            models.CheckConstraint(condition=PAY_WHOLE, name="posting_pay_whole"),
        ]

    def __str__(self) -> str:
        return self.title


class Retention(models.Model):
    """Retention period of the personal data of a job's ended applications.

    A job without a row keeps it as long as its company says, or else for USUAL_DAYS. A legal hold
    keeps the data until it is lifted.
    """

    LEAST_DAYS, MOST_DAYS = KEEP_DAYS
    USUAL_DAYS = 730

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="retention")
    keep_days = models.IntegerField(default=USUAL_DAYS)
    legal_hold = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(keep_days__range=KEEP_DAYS), name="retention_days_in_range"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.keep_days}{' hold' if self.legal_hold else ''}"


class Invitation(models.Model):
    """Link by which people join a company's team, or one of its jobs. Only its hash is stored.

    It is for a role in the whole company, or for one on a job. It ends at a time, after a number of
    uses, when it is withdrawn, and when whoever made it is no longer an owner.
    """

    MOST_USES = 100

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="invitations")
    digest = models.BinaryField(max_length=32, unique=True)
    role = models.CharField(max_length=10, blank=True, choices=Role)
    job = models.ForeignKey(Job, models.CASCADE, null=True, related_name="invitations")
    job_role = models.CharField(max_length=14, blank=True, choices=JobRole)
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField()
    most_uses = models.IntegerField()
    uses = models.IntegerField(default=0)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(job__isnull=True, job_role="") & ~Q(role="")
                | Q(job__isnull=False, role="") & ~Q(job_role=""),
                name="invitation_for_one_role",
            ),
            models.CheckConstraint(
                condition=Q(most_uses__range=(1, 100), uses__gte=0, uses__lte=F("most_uses")),
                name="invitation_uses_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role or self.job_role} of {self.company_id}"

    @property
    def role_label(self) -> str:
        """Return the name of the role that it gives."""
        return str(Role(self.role).label if self.role else JobRole(self.job_role).label)


class ActivityGroup(models.TextChoices):
    """Group of the kinds of acts that a company's owners can look through."""

    SIGN_INS = "SIGN_INS", pgettext_lazy("label", "Sign-ins")
    TEAM = "TEAM", pgettext_lazy("label", "Team")
    KEYS = "KEYS", _("Keys and webhooks")
    RULES = "RULES", _("Rules and texts")
    FILES = "FILES", _("Exports and files")
    MESSAGES = "MESSAGES", pgettext_lazy("label", "Messages")


class Activity(models.Model):
    """An act of a member or a key of a company, as `jobs.activity` describes it.

    `actor_id` and `subject_id` are accounts or keys, which may be gone. The id of an application is
    erased with its person.
    """

    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=40)
    actor_id = models.UUIDField(null=True)
    subject_id = models.UUIDField(null=True)
    job_id = models.UUIDField(null=True)
    application_id = models.UUIDField(null=True)
    about = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "activity"
        indexes = [
            models.Index(fields=["company", "id"], name="activity_of_company"),
            models.Index(fields=["at"], name="activity_by_time"),
            models.Index(
                fields=["application_id"],
                name="activity_of_application",
                condition=Q(application_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.company_id}"

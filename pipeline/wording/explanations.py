"""Explanations of a job's line and its policy for the people in it. Pure.

Applicants are "you". No sentence holds a name or an address.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.policies import Policy
from pipeline.domain.amounts import Amount
from pipeline.domain.states import Outcome, Status
from pipeline.wording.english import format_number, format_time, long_duration
from pipeline.wording.events import ENDING_WORDS, NEVER_VERIFIED, EndingWords
from pipeline.wording.language import in_a_row

# Rules that last a shorter time than this are not spoken of: only a demo has them.
SHORTEST_SAID = 60
_DAY, _HOUR = 86_400, 3_600


@dataclass(frozen=True, slots=True)
class ExplainedStanding:
    """The standing of one application in its line at `now`. Times are aware."""

    status: Status
    policy: Policy
    now: datetime
    outcome: Outcome | None = None
    job_status: str = "OPEN"
    position: int | None = None
    misses: int = 0
    deadline: datetime | None = None
    eligible_at: datetime | None = None
    not_before: datetime | None = None
    accept_until: datetime | None = None
    pass_next: bool = False
    passes: int = 0
    passed_at: datetime | None = None
    verify_by: datetime | None = None
    draw_at: datetime | None = None  # of a draw that is still to come

    @property
    def is_cooling(self) -> bool:
        """Return True during the cool-down after a miss or a pass."""
        return self.eligible_at is not None and self.eligible_at > self.now

    @property
    def is_deferring(self) -> bool:
        """Return True while the person wants no seat."""
        return self.not_before is not None and self.not_before > self.now

    @property
    def puts_turn_off(self) -> bool:
        """Return True while a wish makes the wait for a seat longer, so nothing is forecast."""
        return self.is_deferring or self.pass_next

    @property
    def is_accepting(self) -> bool:
        """Return True while the person accepts a seat in advance."""
        return self.accept_until is not None and self.accept_until > self.now

    @property
    def passes_left(self) -> int:
        """Return how many turns the person can still pass."""
        return self.policy.passes_left(self.passes)

    @property
    def is_verified(self) -> bool:
        """Return True if the address was proved or the company submitted the application."""
        return self.verify_by is None

    @property
    def ending(self) -> EndingWords:
        """Return the words about how the application ended."""
        if self.outcome is Outcome.LAPSED and not self.is_verified:
            return NEVER_VERIFIED
        return ENDING_WORDS[self.outcome or Outcome.REMOVED]

    @property
    def is_late(self) -> bool:
        """Return True if the deadline has passed but the line has not settled it yet."""
        return self.deadline is not None and self.deadline <= self.now


def explain_line(policy: Policy, capacity: int, draw: str = "") -> list[str]:
    """Return sentences on seats, joining, offers, a miss, too many misses and the pause after one.

    `draw`: the time of the draw by lot, in words, if the job has one. It comes first.
    """
    offer = _(
        "When a seat opens, we email the first in line at once. They have %(window)s to confirm it."
    )
    return [
        *([_explain_draw(draw)] if draw else []),
        _explain_seats(capacity, is_drawn=bool(draw)),
        _explain_joining(policy, is_drawn=bool(draw)),
        in_a_row(
            offer % {"window": window_in_words(policy)},
            explain_quiet_hours(policy, names_zone=True),
        ),
        _explain_miss(policy),
        _explain_misses_allowed(policy),
        *_explain_pause(policy),
        *explain_passes(policy),
    ]


def window_in_words(policy: Policy) -> str:
    """Return the time to confirm: 24 hours, 1 day and 6 hours, 2 days."""
    seconds = policy.acknowledgment_window_seconds
    return _("24 hours") if seconds == _DAY else long_duration(seconds)


def _explain_draw(draw: str) -> str:
    return _(
        "Everyone who applies before %(draw)s has the same chance. Then the order of the line is"
        " drawn by lot, and the first in line are offered the seats. Anyone in line can check the"
        " draw."
    ) % {"draw": draw}


def _explain_seats(capacity: int, *, is_drawn: bool) -> str:
    seats = _("One applicant at a time has the seat for review.")
    if capacity > 1:
        seats = ngettext(
            "%(capacity)s applicant at a time has a seat for review.",
            "%(capacity)s applicants at a time have a seat for review.",
            capacity,
        ) % {"capacity": Amount(capacity)}
    order = _("Everyone else waits in one line, in the order in which they joined.")
    if is_drawn:
        order = _(
            "Everyone else waits in one line, in the drawn order, and then in the order in which"
            " people joined."
        )
    fair = _(
        "Nobody who joined after you gets ahead of you unless you miss a deadline. But the company"
        " can cancel a miss or reverse a decision. That person then gets their old place back. You"
        " can ask for no seat before a date, or say yes in advance. You keep your place."
    )
    return in_a_row(seats, order, fair)


def _explain_joining(policy: Policy, *, is_drawn: bool) -> str:
    if policy.acknowledge_first_seat and is_drawn:
        return _(
            "After the draw: if a seat is free when you apply, it is offered to you. You confirm it"
            " like everyone else."
        )
    if policy.acknowledge_first_seat:
        return _(
            "If a seat is free when you apply, it is offered to you. You confirm it like everyone"
            " else."
        )
    if is_drawn:
        return _(
            "After the draw: if a seat is free, we offer it once you enter the code that we email"
            " you. If you are signed in already, it is yours at once. Until you enter the code, you"
            " keep a place in line, but we can’t offer you a seat."
        )
    return _(
        "If a seat is free, we offer it once you enter the code that we email you. If you are"
        " signed in already, it is yours at once. Until you enter the code, you keep a place in"
        " line, but we can’t offer you a seat."
    )


def _explain_miss(policy: Policy) -> str:
    first = _("If you do not confirm in time, the next in line gets the seat.")
    told = in_a_row(first, _explain_place_behind(policy, 1))
    if not policy.penalty_places or policy.max_decays in (0, 1):
        return told
    places = policy.places_lost(2)
    second = ngettext(
        "After a second miss, behind the next person to join, and so on.",
        "After a second miss, behind the next %(places)s people to join, and so on.",
        places,
    )
    return in_a_row(told, second % {"places": Amount(places)})


def _explain_pause(policy: Policy) -> list[str]:
    """Say how long a person is offered no seat after a miss; nothing if it is over at once."""
    if policy.cooldown_seconds < SHORTEST_SAID:
        return []
    pause = _(
        "After a miss, you are not offered a seat for %(pause)s. You keep your place, but seats"
        " that open meanwhile go to people behind you."
    )
    return [pause % {"pause": long_duration(policy.cooldown_seconds)}]


def explain_passes(policy: Policy) -> list[str]:
    """Return what the rules say about passing a turn, as one point or none."""
    if not policy.max_passes:
        return []
    told = _(
        "You can pass your turn once, before the offer or while it is open. It does not count as a"
        " miss, and you keep your place."
    )
    if policy.max_passes > 1:
        told = _(
            "You can pass your turn twice, before the offer or while it is open. It does not count"
            " as a miss, and you keep your place."
        )
    if policy.cooldown_seconds >= SHORTEST_SAID:
        after = _("For %(pause)s after it, seats that open go to people behind you.")
        told += f" {after % {'pause': long_duration(policy.cooldown_seconds)}}"
    return [told]


def explain_quiet_hours(policy: Policy, *, names_zone: bool = False) -> str:
    """Say when the time to confirm does not run, as a sentence; empty if it always runs.

    With `names_zone`, also say which time zone counts if the person's own is not known.
    """
    if policy.quiet_from and policy.quiet_weekends:
        said = _("That time does not run from %(start)s to %(end)s your time or at weekends.")
    elif policy.quiet_from:
        said = _("That time does not run from %(start)s to %(end)s your time.")
    elif policy.quiet_weekends:
        said = _("That time does not run at weekends.")
    else:
        return ""
    said = said % {"start": policy.quiet_from, "end": policy.quiet_to}
    if names_zone:
        zone = _("If we do not know your zone, %(zone)s counts.")
        return in_a_row(said, zone % {"zone": policy.quiet_time_zone})
    return said


def explained_quiet_hours(policy: Policy) -> str:
    """Return words like "from 22:00 to 08:00 or at weekends"; empty without quiet hours."""
    names = {"start": policy.quiet_from, "end": policy.quiet_to}
    if policy.quiet_from and policy.quiet_weekends:
        return _("from %(start)s to %(end)s or at weekends") % names
    if policy.quiet_from:
        return _("from %(start)s to %(end)s") % names
    return _("at weekends") if policy.quiet_weekends else ""


def explain_doing_nothing(standing: ExplainedStanding, zone: tzinfo = UTC) -> str:
    """Say what happens if the person does nothing, or, after the end, what they can still do."""
    match standing.status:
        case Status.WAITLIST:
            return _explain_waiting(standing, zone)
        case Status.PENDING_ACKNOWLEDGMENT:
            if standing.job_status == "CLOSED":
                return _("The job has been closed, so your application is about to end.")
            if standing.is_late:
                return _(
                    "The deadline has passed, so the seat is going to the next in line. Your new"
                    " place will appear here in a moment."
                )
            lost = _("If you do nothing, the next person gets the seat.")
            return in_a_row(lost, _explain_loss(standing))
        case Status.ACTIVE:
            return _(
                "The company is reviewing your application. You keep the seat until the company"
                " decides. There is nothing to do now: we email you the decision."
            )
    return str(standing.ending.advice)


def explain_lapse(policy: Policy, misses: int) -> str:
    """Say in short what happens if an offer is not confirmed, after some misses before."""
    if policy.keeps_place(misses + 1):
        return _(
            "If you do nothing, the next person gets the seat. You go behind everyone in line."
        )
    return _("If you do nothing, the next person gets the seat. Your application ends.")


def explain_next_miss(policy: Policy, misses: int) -> str:
    """Say exactly where a person stands if an offer is not confirmed, after some misses before."""
    if not policy.keeps_place(misses + 1):
        return explain_lapse(policy, misses)
    lost = _("If you do nothing, the next person gets the seat.")
    return in_a_row(lost, _explain_place_behind(policy, misses + 1))


def _explain_place_behind(policy: Policy, misses: int) -> str:
    """Return where a miss leads."""
    places = policy.places_lost(misses)
    if not places:
        return _("You go to the end of the line.")
    behind = ngettext(
        "You go behind everyone in line and the next person to join.",
        "You go behind everyone in line and the next %(places)s people to join.",
        places,
    )
    return behind % {"places": Amount(places)}


def _explain_misses_allowed(policy: Policy) -> str:
    if policy.max_decays is None:
        return _("However many deadlines you miss, you stay in line.")
    if policy.max_decays == 0:
        return _(
            "One missed deadline ends the application. You can apply again, but the misses still"
            " count."
        )
    return ngettext(
        "You can miss %(number)s deadline and stay in line. One more ends the application. You can"
        " apply again, but the misses still count.",
        "You can miss %(number)s deadlines and stay in line. One more ends the application. You can"
        " apply again, but the misses still count.",
        policy.max_decays,
    ) % {"number": format_number(policy.max_decays)}


def _explain_waiting(standing: ExplainedStanding, zone: tzinfo) -> str:
    if standing.job_status == "CLOSED":
        return _("The job has been closed, so your application is about to end.")
    if not standing.is_verified:
        return _(
            "It was made with your email address. We can’t offer you a seat until you say that it"
            " is yours. It ends at %(verify_by)s if nobody does. That does not count as a miss."
        ) % {"verify_by": format_time(standing.verify_by, zone)}
    turn = _explain_turn(standing, zone)
    if standing.draw_at:
        turn = _(
            "There is nothing to do. The order of the line is drawn by lot at %(draw)s. Then your"
            " place appears here, and the first in line are offered the seats. Anyone in line can"
            " check the draw."
        ) % {"draw": format_time(standing.draw_at, zone)}
    elif standing.job_status == "PAUSED":
        paused = _("The company has paused this job. Nobody is offered a seat until it resumes.")
        turn = in_a_row(turn, paused)
    return in_a_row(turn, explain_wishes(standing, zone))


def _explain_turn(standing: ExplainedStanding, zone: tzinfo) -> str:
    keeps = _("You keep your place in line.")
    window = {"window": window_in_words(standing.policy)}
    quiet = explain_quiet_hours(standing.policy)
    if standing.pass_next:
        return keeps
    if standing.is_accepting:
        later = _("If it comes later, we email you. You then have %(window)s to confirm.") % window
        return in_a_row(keeps, _explain_yes(standing, zone), later, quiet)
    turn = _("When it is your turn, we email you. You then have %(window)s to confirm.") % window
    return in_a_row(keeps, turn, quiet)


def _explain_yes(standing: ExplainedStanding, zone: tzinfo) -> str:
    said = _("You said yes: if your turn comes before %(until)s, the seat is yours at once.")
    return said % {"until": format_time(standing.accept_until, zone)}


def explain_wishes(standing: ExplainedStanding, zone: tzinfo) -> str:
    """Say when the person is offered no seat, after a miss or as they asked."""
    told: list[str] = []
    if standing.is_cooling:
        why = _("Because you missed a deadline, you are not offered a seat before %(until)s.")
        if standing.passed_at:
            why = _("Because you passed a turn, you are not offered a seat before %(until)s.")
        told.append(why % {"until": format_time(standing.eligible_at, zone)})
    if standing.is_deferring:
        asked = _(
            "You asked for no seat before %(until)s. Seats that open earlier go to people behind"
            " you."
        )
        told.append(asked % {"until": format_time(standing.not_before, zone)})
    if standing.accept_until and not standing.is_accepting:
        ended = _("Your yes in advance ended at %(until)s.")
        told.append(ended % {"until": format_time(standing.accept_until, zone)})
    if standing.is_accepting and standing.draw_at:
        told.append(_explain_yes(standing, zone))
    if standing.pass_next:
        told.append(_("You pass your next turn. That seat goes to the person behind you."))
    return in_a_row(*told)


def _explain_loss(standing: ExplainedStanding) -> str:
    policy, misses = standing.policy, standing.misses + 1
    told = [_("Your application ends.")]
    if not policy.keeps_place(misses):
        if policy.max_decays != 0:
            told.append(_("This would be miss number %(number)s.") % {"number": Amount(misses)})
        told.append(_("You could apply again, further back."))
        return in_a_row(*told)
    told = [_explain_place_behind(policy, misses)]
    if policy.cooldown_seconds >= SHORTEST_SAID:
        pause = long_duration(policy.cooldown_seconds)
        told.append(_("You are not offered a seat for %(pause)s.") % {"pause": pause})
    left = policy.misses_left(misses)
    if left is None:
        told.append(_("However often that happens, you stay in line."))
    elif left == 0:
        told.append(_("The next miss after that ends the application."))
    else:
        more = ngettext(
            "You could then miss %(number)s more deadline, and one more would end the application.",
            "You could then miss %(number)s more deadlines, and one more would end the"
            " application.",
            left,
        )
        told.append(more % {"number": format_number(left)})
    return in_a_row(*told)


# How soon a company aims to decide, in words.


def describe_target(seconds: int, *, works: bool) -> str:
    """Return a review target in words. With `works`, only the company's working hours count."""
    days, rest = divmod(seconds, _DAY)
    if not works:
        return long_duration(seconds)
    if days and not rest:
        return ngettext("%(days)d working day", "%(days)d working days", days) % {"days": days}
    if not days and rest % _HOUR == 0:
        hours = rest // _HOUR
        words = ngettext("%(hours)d working hour", "%(hours)d working hours", hours)
        return words % {"hours": hours}
    return _("%(duration)s of working time") % {"duration": long_duration(seconds)}


def describe_pace(tenths: int, target: str) -> str:
    """Return in words in how many of ten cases a company has met its target."""
    if tenths == 10:
        return _("Decided within %(target)s in every case") % {"target": target}
    if not tenths:
        return _("Decided within %(target)s in fewer than 1 of 10 cases") % {"target": target}
    words = _("Decided within %(target)s in %(tenths)d of 10 cases")
    return words % {"target": target, "tenths": tenths}

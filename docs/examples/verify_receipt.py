#!/usr/bin/env python3
"""Check receipts of Next in Line, and the log of a job, without asking anyone.

    python3 verify_receipt.py --keys keys.json receipt-12.json receipt-40.json --log log.jsonl

The keys are those at /.well-known/next-in-line-keys.json of the site: save them with your first
receipt. Receipts alone prove that the site signed them, and that they fit each other. With the log,
this also proves that it is the one you were shown, that your place never got worse without a named
event, and that nobody behind you was promoted before you without a named reason. Both hold up to
your last receipt. Needs only Python and its package `cryptography`, and no network. The exit code
is 0 if everything is proved, 1 if not, and 2 if a file cannot be read.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FIRST_DIGEST = bytes(32)
LEEWAY = timedelta(minutes=5)  # by which this machine's clock may be slow
WAITING, SEATED = "WAITLIST", ("PENDING_ACKNOWLEDGMENT", "ACTIVE")
# The events that leave a place where it is, and what they leave as it was besides.
KEPT = {"VERIFIED": "verified an address", "DEFERRED": "deferred a turn"}
KEPT |= {"PREACCEPTED": "said yes", "NOTED": "noted a review", "PASS_ASKED": "asked to pass"}
KEPT |= {"ANSWERED": "answered a question"}
HELD = ("decay_count", "eligible_at", "passes_used", "not_before")
UNTOUCHED = dict.fromkeys((*KEPT, "PLACED", "MOVED_AHEAD"), HELD) | {"DEFERRED": HELD[:3]}
Facts = dict[str, Any]
Named = list[tuple[str, Facts]]
Verdict = tuple[list[str], list[str]]


class Unreadable(Exception):
    """A file that is not what it should be."""


def main() -> int:
    options = argparse.ArgumentParser(description="Check receipts and the log of a job.")
    options.add_argument("receipts", nargs="+", type=Path, help="receipts of one application")
    options.add_argument("--keys", type=Path, required=True, help="the site's public keys")
    options.add_argument("--log", nargs="*", type=Path, default=[], help="the job's log, in order")
    given = options.parse_args()
    try:
        keys = read_keys(given.keys)
        receipts = [(path.name, read_json(path)) for path in given.receipts]
        rows = [row for path in given.log for row in read_log(path)]
        problems, proofs = verify(keys, receipts, rows)
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        print(f"A receipt or the log does not have the expected form: {error!r}", file=sys.stderr)
        return 2
    for line in [f"ok       {each}" for each in proofs] + [f"PROBLEM  {each}" for each in problems]:
        print(line)
    print("Not everything holds." if problems else "Everything that can be checked holds.")
    return 1 if problems else 0


def verify(keys: dict[str, Ed25519PublicKey], named: Named, rows: list[Facts]) -> Verdict:
    """Return what does not hold, and what is proved."""
    problems, proofs = [], []
    genuine: Named = []
    for name, receipt in named:
        if problem := forgery(keys, receipt):
            problems.append(f"{name}: {problem}")
        else:
            genuine.append((name, receipt))
            proofs.append(f"{name}: signed by {receipt['issuer']} for event {receipt['seq']}")
            if problem := rehearsal(receipt):
                problems.append(f"{name}: {problem}")
    genuine.sort(key=lambda each: each[1]["seq"])
    problems += contradictions(genuine, with_log=bool(rows))
    if rows and genuine:
        found, shown = verify_log(genuine, rows)
        problems += found
        proofs += shown
    return problems, proofs


def forgery(keys: dict[str, Ed25519PublicKey], receipt: Facts) -> str:
    """Say what is wrong with a receipt's signature; nothing, if it is genuine."""
    if receipt.get("kind") != "receipt" or receipt.get("version") != 1:
        return "this is no receipt that this program knows"
    key = keys.get(str(receipt.get("key")))
    if key is None:
        return f"forged, or of another site: there is no key {receipt.get('key')}"
    signed = {name: value for name, value in receipt.items() if name != "signature"}
    try:
        key.verify(base64.b64decode(str(receipt.get("signature"))), canonical(signed))
    except (InvalidSignature, ValueError):
        return f"forged or changed: the key {receipt['key']} did not sign this"
    return ""


def rehearsal(receipt: Facts) -> str:
    """Say why a genuine receipt proves nothing about a real line; nothing, if it may."""
    if receipt.get("test"):
        return "it is of a sandbox, where a company tries things out, not of a real line"
    issued_at = datetime.fromisoformat(receipt["issued_at"].replace("Z", "+00:00"))
    if issued_at > datetime.now(UTC) + LEEWAY:
        when = f"it says that it was signed at {receipt['issued_at']}, which is still to come"
        return f"{when}: it is of a sandbox, or your clock is slow"
    return ""


def contradictions(receipts: Named, *, with_log: bool) -> list[str]:
    """Compare receipts in order of their events. Two of the same event must agree."""
    problems = []
    for (name, one), (later, two) in pairwise(receipts):
        if (one["job"], one["application"]) != (two["job"], two["application"]):
            raise Unreadable(f"{name} and {later} are of different applications.")
        same = ("chain_head", "log_digest", "order_key", "status")
        if one["seq"] == two["seq"] and any(one[fact] != two[fact] for fact in same):
            what = f"another history up to event {two['seq']} than {name}"
            problems.append(f"{later}: it shows {what}")
        before, after = key_of(one["order_key"]), key_of(two["order_key"])
        if before and after and after > before and not with_log:
            what = f"the place got worse after {name}, from {before} to {after}"
            problems.append(f"{later}: {what}; only the log names the event")
    return problems


def verify_log(receipts: Named, rows: list[Facts]) -> Verdict:
    """Check the log's rows, compare it with the receipts, and follow the line through it."""
    digests, problem = digests_of(rows)
    problems = [problem] if problem else rewritings(receipts, rows, digests)
    if problems:
        return problems, []
    line = Line(str(receipts[0][1]["job"]), str(receipts[0][1]["application"]))
    bound = receipts[-1][1]["seq"]
    for row in rows[:bound]:
        line.take(row)
        for name, receipt in receipts:
            if receipt["seq"] == row["seq"]:
                line.problems += [f"{name}: {text}" for text in line.differences(receipt)]
    proofs = [f"events 1 to {bound} of the log are those that the receipts are bound to"]
    if not line.problems:
        upto = f"up to event {bound}"
        proofs.append(f"{upto}, your place never got worse but by the named events")
        proofs.append(f"{upto}, nobody behind you was promoted before you but for named reasons")
    if later := len(rows) - bound:
        line.notes.append(f"{later} later events are bound to no receipt and were not checked")
    return line.problems, proofs + line.notes


def rewritings(receipts: Named, rows: list[Facts], digests: list[str]) -> list[str]:
    """Name the events that the log describes differently from when a receipt was signed."""
    good = 0
    for name, receipt in receipts:
        seq = receipt["seq"]
        if seq > len(rows):
            return [f"{name}: rows {len(rows) + 1} to {seq} of the log are missing"]
        same_head = rows[seq - 1]["hash"] == receipt["chain_head"]
        if digests[seq] != receipt["log_digest"] or not same_head:
            what = f"the log was rewritten: what it says about events {good + 1} to {seq}"
            return [f"{name}: {what} is not what it said when this receipt was signed"]
        good = seq
    return []


def digests_of(rows: list[Facts]) -> tuple[list[str], str]:
    """Return the digest after each number of rows, and the first row that is wrong, if any."""
    digest, digests = FIRST_DIGEST, [FIRST_DIGEST.hex()]
    for number, row in enumerate(rows, start=1):
        if row.get("seq") != number:
            what = f"missing; row {row.get('seq')} is in its place"
            return digests, f"row {number} of the log is {what}"
        content = {name: value for name, value in row.items() if name != "leaf"}
        leaf = hashlib.sha256(canonical(content))
        if leaf.hexdigest() != row.get("leaf"):
            return digests, f"row {number} of the log was changed: its content is not what it was"
        digest = hashlib.sha256(digest + leaf.digest()).digest()
        digests.append(digest.hex())
    return digests, ""


class Line:
    """The line as the log tells it, seen by one of its people."""

    def __init__(self, job: str, application: str) -> None:
        self.me = hashlib.sha256(f"{job}:{application}".encode()).hexdigest()[:32]
        self.people: dict[str, Facts] = {}
        self.job: Facts = {}
        self.next_ticket = 0
        # The places before everyone's last offer or end, and last miss, which can be given back.
        self.offered: dict[str, tuple[int, int] | None] = {}
        self.lost: dict[str, tuple[int, int] | None] = {}
        self.missed = self.deferred = 0
        # Who holds a reserved seat.
        self.reserved: set[str] = set()
        # The seed of the draw by lot, and who is still to be placed by it, the last one first.
        self.seed, self.hash = "", "00" * 32
        self.to_place: list[str] = []
        self.problems: list[str] = []
        self.notes: list[str] = []

    def take(self, row: Facts) -> None:
        """Follow the line through one more event."""
        who, seq = row["application"], row["seq"]
        if row["event"] == "CLOCK_ADVANCED":
            self.problems.append(f"event {seq} moved the clock: this is a sandbox, no real line")
        if who is None:
            self.take_draw(row)
            self.job = row["data"]
        else:
            before = self.people.get(who, {})
            now = {"status": row["to_status"], "event": row["event"], "misses": 0} | row["data"]
            self.check_anybodys_key(row, before, now)
            if who == self.me:
                self.check_my_key(row, before, now)
            elif now["status"] in SEATED and before.get("status") not in SEATED:
                self.check_promotion(row, before)
            elif row["event"] == "REINSTATED" and self.is_ahead(now):
                self.notes.append(f"event {seq} gave someone a former place back, ahead of you")
            elif row["event"] == "MOVED_AHEAD" and self.is_ahead(now) > self.is_ahead(before):
                why = f"an exception, which names its reason: {now.get('exception')}"
                self.notes.append(
                    f"event {seq} moved someone from behind you to the front by {why}"
                )
            self.people[who] = now
        self.next_ticket, self.hash = row["data"]["next_ticket"], row["hash"]

    def take_draw(self, row: Facts) -> None:
        """Check that the time of a draw stays, and compute the order again from its seed."""
        seq, data = row["seq"], row["data"]
        if self.job and self.job["status"] != "DRAFT" and data.get("draw_at") != self.draw_at:
            self.problems.append(f"event {seq} changed the time of the draw after people had come")
        if row["event"] != "DRAWN":
            return
        if self.seed or row["at"] < (self.draw_at or "~"):
            self.problems.append(f"event {seq} drew the order at a time that was not announced")
        self.seed = data["seed"]
        if self.seed != hashlib.sha256(bytes.fromhex(self.hash) + row["at"].encode()).hexdigest():
            what = "a seed that is not that of the hash before it and its time"
            self.problems.append(f"event {seq} drew by {what}")
        waiting = [who for who, each in self.people.items() if each["status"] == WAITING]
        self.to_place = sorted(waiting, key=self.lot, reverse=True)
        if self.me in waiting:
            mine = len(waiting) - self.to_place.index(self.me)
            number = f"number {mine} of {len(waiting)}"
            self.notes.append(f"event {seq}: the draw by lot put you at {number}")

    def lot(self, who: str) -> bytes:
        """Return the lot of a person: smaller is sooner."""
        return hashlib.sha256(bytes.fromhex(self.seed) + who.encode()).digest()

    @property
    def draw_at(self) -> str | None:
        """Return the announced time of the draw, if the order is drawn by lot."""
        return self.job.get("draw_at")

    def check_anybodys_key(self, row: Facts, before: Facts, now: Facts) -> None:
        """Check that everyone joins at the end, and keeps their place until they lose it."""
        who, event = row["application"], row["event"]
        checks = (self.false_draws, self.false_places, self.false_turns)
        for check in (*checks, self.false_exceptions, self.false_reserve):
            self.problems += [f"event {row['seq']} {wrong}" for wrong in check(row, before, now)]
        if now["status"] not in SEATED and event in ("DECAYED", "LAPSED"):
            self.lost[who] = self.offered.get(who)
        elif event == "PASSED" and who in self.lost:
            self.offered[who] = self.lost[who]
        elif before.get("status") == WAITING and now["status"] in (*SEATED, "INACTIVE"):
            self.offered[who] = key_of(before)
        if row["from_status"] is None:  # the place at which they would have joined
            places = self.job["policy"]["penalty_places"] * now["decay_count"]
            self.offered[who] = (now["next_ticket"] + places, row["seq"])

    def false_places(self, row: Facts, before: Facts, now: Facts) -> Iterator[str]:
        """Say what no rule allows about a place after an event."""
        event, old, new = row["event"], key_of(before), key_of(now)
        if now["status"] in SEATED and before.get("status", WAITING) not in (WAITING, *SEATED):
            yield "gave a seat to someone who had left"
        elif event == "REINSTATED" and (not new or new != self.offered.get(row["application"])):
            yield "gave back a place that this person never held"
        elif event == "REINSTATED" and before.get("event") == "LEFT":
            yield "gave someone their place back although no one had asked for a review"
        elif reason := self.false_note(event, before, now):
            yield reason
        elif any(before.get(name) != now.get(name) for name in UNTOUCHED.get(event, ())):
            yield "changed the misses, a cool-down, or a date until which no seat is wanted"
        elif event in KEPT and old != new:
            yield f"{KEPT[event]} and changed the place"
        stays = ("REINSTATED", "PASSED", "MOVED_AHEAD", *KEPT)
        joins = now["status"] == WAITING and event not in stays
        if joins and (new is None or new[0] < self.next_ticket):
            yield f"let someone into the line at {new}, ahead of its end"

    def false_exceptions(self, row: Facts, before: Facts, now: Facts) -> Iterator[str]:
        """Say what no rule allows about a person who is moved to the front."""
        if row["event"] != "MOVED_AHEAD":
            return
        others = [
            each
            for who, each in self.people.items()
            if who != row["application"] and each["status"] == WAITING
        ]
        keys = [(key_of(each) or (0, 0), each) for each in others]
        old = key_of(before) or (0, 0)
        passed = sum(key < old and not each.get("verify_by") for key, each in keys)
        if not passed or now.get("people_passed") != passed:
            yield f"moved someone ahead of {passed} people and says {now.get('people_passed')}"
        front = min((*(key[0] for key, _ in keys), self.next_ticket)) - 1
        said = now.get("from_ticket"), now.get("from_tie")
        if key_of(now) != (front, row["seq"]) or said != old or not now.get("exception"):
            yield "moved someone ahead without a reason, or not from their place to the front"

    def false_note(self, event: str, before: Facts, now: Facts) -> str:
        """Return what no rule allows about an event that moves nobody."""
        if event == "NOTED" and before.get("status") != "INACTIVE":
            return "noted a review for someone who had not left"
        if event == "ANSWERED" and before.get("status") != now["status"]:
            return "answered a question and changed the status"
        return ""

    def false_turns(self, row: Facts, before: Facts, now: Facts) -> Iterator[str]:
        """Say what no rule allows about a miss or a passed turn."""
        if row["event"] in ("DECAYED", "LAPSED") and row["at"] < (before.get("deadline") or ""):
            yield "counts as missed a deadline that had not passed"
        used, passed = before.get("passes_used", 0), row["event"] == "PASSED"
        if row["from_status"] and now.get("passes_used", 0) != used + passed:
            yield "counts the turns that this person has passed wrongly"
        if not passed:
            return
        place, may = key_of(before), before.get("pass_next")
        if row["from_status"] != WAITING:
            left = self.job["policy"].get("max_passes", 0) - used
            may = left > 0 and before.get("deadline", "") > row["at"]
            place = self.offered.get(row["application"])
        if not may or key_of(now) != place or now["decay_count"] != before.get("decay_count"):
            yield "passed a turn unasked, too late or too often, or changed the place or the misses"

    def false_draws(self, row: Facts, _before: Facts, now: Facts) -> Iterator[str]:
        """Say what the draw by lot does not allow about an event."""
        event, new = row["event"], key_of(now)
        if (event == "PLACED") != bool(self.to_place):
            yield "is not what the draw by lot has next"
        elif event == "PLACED" and self.to_place.pop() != row["application"]:
            yield "placed a different person from the one drawn"
        elif event == "PLACED" and (new is None or new[0] != self.next_ticket):
            yield f"gave someone the wrong place in the draw: {new}"
        if self.draw_at and not self.seed:
            if now["status"] in SEATED:
                yield "gave a seat before the draw"
            if event == "APPLIED" and row["at"] >= self.draw_at:
                yield "let someone into the draw after entries had closed"

    def false_reserve(self, row: Facts, before: Facts, now: Facts) -> Iterator[str]:
        """Say what no rule allows about the reserved seats."""
        who, seats = row["application"], self.job.get("reserved_seats", 0)
        held, holds = before.get("status") in SEATED, now["status"] in SEATED
        if held and holds:
            if bool(before.get("reserved")) != bool(now.get("reserved")):
                yield "made a seat that someone holds a reserved one, or not any more"
            return
        self.reserved.discard(who)
        others = sum(
            each["status"] in SEATED and name not in self.reserved and name != who
            for name, each in self.people.items()
        )
        if holds and now.get("reserved"):
            self.reserved.add(who)
            if len(self.reserved) > seats:
                yield "gave more seats as reserved ones than there are"
        elif holds and seats and others >= max(0, self.job["capacity"] - seats):
            yield "gave a reserved seat to someone outside the group"

    def check_my_key(self, row: Facts, before: Facts, now: Facts) -> None:
        """Name each event that changed my place in the order."""
        seq, old, new = row["seq"], key_of(before), key_of(now)
        if row["event"] == "LAPSED" and before.get("verify_by"):
            self.notes.append(f"event {seq}: it ended, because your address was not verified")
        elif row["event"] in ("DECAYED", "LAPSED"):
            self.missed = seq
            self.notes.append(f"event {seq}: you missed a deadline ({row['event']})")
        elif row["event"] == "PASSED":
            self.missed = seq
            self.notes.append(f"event {seq}: you passed a turn")
        elif row["event"] == "DEFERRED":
            self.deferred = seq
        if row["event"] == "MOVED_AHEAD":
            self.notes.append(f"event {seq}: the company moved you to the front by an exception")
        elif row["event"] == "REINSTATED":
            self.notes.append(f"event {seq}: your former place was given back, {new}")
        elif old and new and old != new and row["event"] != "PLACED":
            what = f"your place from {old} to {new}"
            self.problems.append(f"event {seq} changed {what} for no reason")

    def check_promotion(self, row: Facts, before: Facts) -> None:
        """Check that nobody with a larger key gets a seat while I wait and may be promoted."""
        me = self.people.get(self.me, {})
        mine, theirs = key_of(me), key_of(before)
        if me.get("status") != WAITING or mine is None or (theirs and theirs < mine):
            return
        if me.get("verify_by"):
            reason = "your address was not verified yet"
        elif (me.get("eligible_at") or "") > row["at"]:
            reason = f"your cool-down after event {self.missed} had not ended"
        elif row["data"].get("reserved") and self.job.get("reserved_seats"):
            reason = f"the seat is reserved for people of a group: {self.job['reserved_for']}"
        elif (me.get("not_before") or "") > row["at"]:
            until = me["not_before"]
            reason = f"in event {self.deferred} you asked to be offered no seat until {until}"
        else:
            whom = f"someone behind you, {theirs or 'who just came'},"
            what = f"event {row['seq']} gave a seat to {whom} while you waited at {mine}"
            self.problems.append(f"{what}, for no named reason")
            return
        self.notes.append(f"event {row['seq']} promoted someone behind you: {reason}")

    def is_ahead(self, place: Facts) -> bool:
        mine, theirs = key_of(self.people.get(self.me, {})), key_of(place)
        return mine is not None and theirs is not None and theirs < mine

    def differences(self, receipt: Facts) -> list[str]:
        """Compare what a receipt says with what the log says at its event."""
        me = self.people.get(self.me)
        if me is None:
            return ["the log does not know this application"]
        if self.to_place:
            return ["the log ends here, before the draw by lot has placed everyone"]
        in_line = (each for each in self.people.values() if each["status"] == WAITING)
        waiting = [each for each in in_line if not each.get("verify_by")]
        drawn = bool(self.seed) or not self.draw_at
        position = 1 + sum(map(self.is_ahead, waiting)) if me in waiting and drawn else None
        both = {
            "status": (receipt["status"], me["status"]),
            "order key": (key_of(receipt["order_key"]), key_of(me) if drawn else None),
            "position": (receipt["position"], position),
            "length of the line": (receipt["people_waiting"], len(waiting)),
            "number of misses": (receipt["misses"], me["decay_count"]),
        }
        return [
            f"its {name} is {shown}, but by the log {said}"
            for name, (shown, said) in both.items()
            if shown != said
        ]


def key_of(place: Facts | None) -> tuple[int, int] | None:
    """Return the place in the order: smaller is sooner."""
    if not place or place.get("ticket") is None:
        return None
    return place["ticket"], place["tie"]


def canonical(facts: Facts) -> bytes:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_keys(path: Path) -> dict[str, Ed25519PublicKey]:
    try:
        found = {}
        for key in read_json(path)["keys"]:
            raw = base64.b64decode(key["public_key"], validate=True)
            if key["id"] != hashlib.sha256(raw).hexdigest()[:16]:
                raise Unreadable(f"{path}: the key {key['id']} is not the one of that id.")
            found[key["id"]] = Ed25519PublicKey.from_public_bytes(raw)
        return found
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{path} holds no keys: {error!r}") from None


def read_json(path: Path) -> Facts:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from None
    if not isinstance(facts, dict):
        raise Unreadable(f"{path} is no JSON object.")
    return facts


def read_log(path: Path) -> list[Facts]:
    """Read a log: one row per line as downloaded, or a page of the API."""
    try:
        text = path.read_text(encoding="utf-8")
        if text.lstrip().startswith('{"data"'):
            return list(json.loads(text)["data"])
        return [json.loads(line) for line in text.splitlines() if line]
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from None


if __name__ == "__main__":
    sys.exit(main())

"""Arguments of the command, and its exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nextinline.commands import verbs
from nextinline.commands.connection import ADDRESS, DEFAULT_ADDRESS, KEY, Unusable
from nextinline.commands.output import tell, tell_refusal
from nextinline.errors import ApiError, ConnectionFailed
from nextinline.version import __version__

DONE, REFUSED, UNUSABLE, NO_ANSWER, STOPPED = 0, 1, 2, 3, 130
DESCRIPTION = f"""The API of Next in Line from a terminal.

The API key is in {KEY}, the site's address in {ADDRESS} (default: {DEFAULT_ADDRESS}).
Results are JSON on standard output: lists one row a line, as soon as they arrive."""
EXIT_CODES = """exit codes: 0 done; 1 the API refused, or rows of an import were refused; 2 wrong
arguments; 3 no answer; 130 stopped with Ctrl-C"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or DONE)
    except Unusable as error:
        tell(str(error))
        return UNUSABLE
    except ApiError as error:
        tell_refusal(error)
        return REFUSED
    except ConnectionFailed as error:
        tell(f"No answer: {error}")
        return NO_ANSWER
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # whoever read the lines has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nextinline",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"nextinline {__version__}")
    menu = Menu(parser)
    menu.add("whoami", verbs.show_company, "the company and the scopes of the key")
    _add_jobs(menu.group("jobs", "list, create, open, pause, close and prove jobs"))
    _add_applications(menu.group("applications", "list, find and decide applications"))
    _add_people(menu)
    _add_feed(menu)
    _add_webhooks(menu.group("webhooks", "list endpoints, and forward webhooks to this machine"))
    mcp = menu.add("mcp", verbs.serve_assistant, "serve an assistant over standard input")
    mcp.add_argument("--allow-writes", action="store_true", help="with tools that change something")
    call = menu.add("call", verbs.call, "any operation of the API")
    call.add_argument("method", type=str.upper, help="GET, POST, PATCH, PUT or DELETE")
    call.add_argument("path", help="such as /schedules")
    call.add_argument("--query", action="append", default=[], metavar="NAME=VALUE")
    _add_body(call)
    _add_idempotency_key(call)
    return parser


class Menu:
    """Commands below a command."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._into = parser.add_subparsers(required=True, metavar="command")

    def add(
        self, name: str, run: Callable[[argparse.Namespace], int | None], help: str
    ) -> argparse.ArgumentParser:
        """Add a command, and return its parser."""
        parser = self._into.add_parser(name, help=help, description=help)
        parser.set_defaults(run=run)
        return parser

    def group(self, name: str, help: str) -> Menu:
        """Add a command that has commands below it, and return these."""
        return Menu(self._into.add_parser(name, help=help, description=help))


def _add_jobs(menu: Menu) -> None:
    rows = menu.add("list", verbs.list_jobs, "the company's jobs, one a line")
    rows.add_argument("--status", help="DRAFT, OPEN, PAUSED or CLOSED")
    rows.add_argument("--search", help="words of the title or place")
    rows.add_argument("--external-id", help="your own id of the job")
    create = menu.add("create", verbs.create_job, "create a job")
    create.add_argument("--title", required=True)
    create.add_argument("--capacity", type=int, required=True, help="number of seats")
    _add_body(create)
    _add_idempotency_key(create)
    for name, run, help in (
        ("show", verbs.show_job, "a job"),
        ("open", verbs.open_job, "open a draft, or resume a paused job"),
        ("pause", verbs.pause_job, "pause a job"),
        ("close", verbs.close_job, "close a job, finally"),
        ("queue", verbs.list_queue, "the waitlist in order, one person a line"),
        ("summary", verbs.summarise_job, "the job's figures"),
        ("verify", verbs.verify_job, "prove the job's log"),
    ):
        menu.add(name, run, help).add_argument("job_id")


def _add_applications(menu: Menu) -> None:
    rows = menu.add("list", verbs.list_applications, "everyone who applied to a job, one a line")
    rows.add_argument("job_id")
    rows.add_argument("--status", help="WAITLIST, PENDING_ACKNOWLEDGMENT, ACTIVE or INACTIVE")
    rows.add_argument("--outcome", help="HIRED, REJECTED, REMOVED, WITHDRAWN …")
    rows.add_argument("--search", help="words of the name")
    find = menu.add("find", verbs.find_application, "the application with your own id")
    find.add_argument("external_id")
    for name, run, help in (
        ("show", verbs.show_application, "an application"),
        ("timeline", verbs.list_timeline, "what happened to an application, one event a line"),
    ):
        menu.add(name, run, help).add_argument("application_id")
    decide = menu.add("remove", verbs.remove_application, "decide: hire, reject or remove")
    decide.add_argument("application_id")
    decide.add_argument("--outcome", required=True, choices=("HIRED", "REJECTED", "REMOVED"))
    decide.add_argument("--reason", help="a code for the log, like NOT_A_MATCH")
    decide.add_argument("--note", default="", help="free text for the company")
    decide.add_argument("--text", help="what the applicant reads; not with HIRED")
    _add_idempotency_key(decide)


def _add_people(menu: Menu) -> None:
    submit = menu.add("submit", verbs.submit, "submit a person to a job; they get an email")
    submit.add_argument("job_id")
    submit.add_argument("--name", required=True)
    submit.add_argument("--email", required=True)
    submit.add_argument("--external-id", help="your own id, which makes repeating safe for ever")
    submit.add_argument("--metadata", action="append", default=[], metavar="KEY=TEXT")
    _add_body(submit)
    _add_idempotency_key(submit)
    many = menu.add(
        "import", verbs.import_people, "import people from a .csv, .json or .jsonl file"
    )
    many.add_argument("job_id")
    many.add_argument("file", type=Path)
    many.add_argument("--no-wait", action="store_true", help="print the task, and end")
    many.add_argument("--wait-seconds", type=float, default=3_600.0, help="at most (3600)")
    _add_idempotency_key(many)


def _add_feed(menu: Menu) -> None:
    feed = menu.add("feed", verbs.follow_feed, "all events of the company, one a line")
    feed.add_argument("--follow", action="store_true", help="go on for ever, also after outages")
    feed.add_argument(
        "--cursor-file", type=Path, help="keeps the place, so that the next start goes on there"
    )
    feed.add_argument("--start", choices=("beginning", "now"), default="beginning")
    feed.add_argument("--changes", action="store_true", help="changes that are no event instead")
    feed.add_argument("--event", action="append", default=[], help="only these, like PROMOTED")
    feed.add_argument("--job", action="append", default=[], metavar="JOB_ID", help="only these")
    feed.add_argument("--expand", choices=("application",), help="with each row's application")
    _add_every(feed)


def _add_webhooks(menu: Menu) -> None:
    menu.add("list", verbs.list_webhooks, "the company's endpoints, one a line")
    listen = menu.add("listen", verbs.listen, "forward webhooks to a program on this machine")
    listen.add_argument("--forward-to", required=True, metavar="URL", help="such as :9000/hooks")
    listen.add_argument("--type", action="append", default=[], help="only these: application.*")
    listen.add_argument("--endpoint", metavar="WEBHOOK_ID", help="copy deliveries of an endpoint")
    listen.add_argument("--cursor-file", type=Path, help="goes on there at the next start")
    listen.add_argument("--attempts", type=int, default=4, help="for each webhook (4)")
    _add_every(listen)


def _add_every(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--every", type=float, default=2.0, metavar="SECONDS", help="between two looks (2)"
    )


def _add_body(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="further fields as JSON; - is standard input"
    )


def _add_idempotency_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--idempotency-key", metavar="KEY", help="makes repeating safe for a day")


if __name__ == "__main__":
    sys.exit(main())

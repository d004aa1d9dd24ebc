"""Every command on the operations page and in the run book is run by a test, or says why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.commands import NOT_TESTED, PAGE, TESTED, command_blocks
from tests.support.environment import ROOT

INLINE = re.compile(
    r"`((?:manage\.py|python3?|pip|gunicorn|docker compose|kubectl|psql|pg_ctl|pg_dump|tasks"
    r"|run_tasks|run_decay|verify_log|doctor|migrate|ALTER ROLE)(?: [^`]*)?)`"
)
OPERATOR = "tests/tasks/test_operator_command.py"
# The test that runs each command in a sentence or a table, and what it says there.
RUN_BY = {
    "gunicorn -c python:pipeline.server.gunicorn_config pipeline.asgi": (
        "tests/support/server.py",
        "python:pipeline.server.gunicorn_config",
    ),
    "python3 run.py": ("tests/house/test_run.py", "run.py"),
    "manage.py check --deploy": ("tests/config/test_deployment.py", "deploy"),
    "manage.py collectstatic": ("tests/config/test_static_files.py", '"collectstatic"'),
    "manage.py create_company": ("tests/management/test_commands.py", "create_company"),
    "manage.py doctor": ("tests/faults/management/test_doctor.py", "doctor"),
    "manage.py migrate": ("tests/faults/whole_site/processes.py", '"migrate"'),
    "manage.py run_decay": ("tests/faults/line/test_run_decay.py", "start_decay_worker"),
    "manage.py run_decay --once": ("tests/faults/line/test_run_decay.py", '"--once"'),
    "manage.py run_tasks": ("tests/faults/whole_site/processes.py", '"run_tasks"'),
    "manage.py up": ("tests/house/test_run.py", "run.py"),
    "manage.py verify_log": ("tests/faults/line/test_matrix.py", '"verify_log"'),
    "manage.py verify_log --archive": ("tests/audit/test_archive.py", '"verify_log"'),
    "manage.py archive_logs": ("tests/audit/test_archive.py", '"archive_logs"'),
    "manage.py remove_archived_logs": (
        "tests/audit/test_removal_commands.py",
        '"remove_archived_logs"',
    ),
    "manage.py put_back_logs": ("tests/audit/test_removal_commands.py", '"put_back_logs"'),
    "manage.py replay_archive": ("tests/audit/test_archive.py", '"replay_archive"'),
    "manage.py verify_log --anchors": (
        "tests/faults/database/test_backup.py",
        '"verify-restored"',
    ),
    **{
        f"manage.py tasks {verb}": (OPERATOR, f'"{verb}"')
        for verb in ("bury cancel dead discard list pause replay replay-all resume show".split())
    },
    "manage.py tasks": (OPERATOR, '"tasks"'),
}
# Programs of others, and why no test runs them in this form.
NOT_RUN = {
    "docker compose exec db": "needs a Docker daemon; the commands in it are run without",
    "pip install": "needs a package index; run.py, which CI starts, installs the same files",
    "python -m django": "the same commands as those of manage.py",
    "python3 -m venv": "Python's own; run.py makes its environment this way",
    "ALTER ROLE": "PostgreSQL's own",
}
SHORT_FORMS = ("tasks", "run_tasks", "run_decay", "verify_log", "doctor", "migrate")


def test_every_block_of_commands_is_run_by_a_test_or_says_why_not() -> None:
    blocks = command_blocks()

    assert len(blocks) >= 7
    for comment, text in blocks:
        if tested := TESTED.fullmatch(comment):
            test = ROOT / tested[1]
            assert test.is_file(), tested[1]
            assert f'"{tested[2]}"' in test.read_text(), f"{tested[1]} does not run {tested[2]}"
        else:
            assert NOT_TESTED.fullmatch(comment), f"no test and no reason: {text}"


def known_form(command: str) -> str | None:
    """Return the longest form in the tables that a command begins with.

    `manage.py tasks` alone is no form of its verbs.
    """
    if command.split()[0] in SHORT_FORMS:
        command = f"manage.py {command}"
    forms = [form for form in RUN_BY | NOT_RUN if f"{command} ".startswith(f"{form} ")]
    found = max(forms, key=len, default=None)
    return None if found == "manage.py tasks" != command else found


@pytest.mark.parametrize("page", [PAGE, PAGE.with_name("runbook.md")], ids=lambda page: page.name)
def test_every_command_in_a_sentence_is_known_and_run_by_a_test(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    found = {command: known_form(command) for command in INLINE.findall(text)}

    assert len(found) >= 10
    assert [command for command, form in found.items() if form is None] == []
    for form in found.values():
        if form in RUN_BY:
            file, words = RUN_BY[form]
            assert words in (ROOT / file).read_text(), f"{file} does not run {form}"


def test_every_known_command_is_on_a_page() -> None:
    text = PAGE.read_text() + PAGE.with_name("runbook.md").read_text()
    used = {known_form(command) for command in INLINE.findall(text)}

    assert (RUN_BY | NOT_RUN).keys() <= used


@pytest.mark.parametrize("command", ["manage.py tasks vanish ID", "tasks vanish", "kubectl drain"])
def test_an_unknown_command_is_noticed(command: str) -> None:
    assert INLINE.findall(f"Try `{command}`.") == [command]
    assert known_form(command) is None

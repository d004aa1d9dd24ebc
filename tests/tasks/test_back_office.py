"""Background work in the back office: changed by the services only, in someone's name."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.test import Client

from jobs.models import User
from tasks import control
from tasks.enqueue import enqueue
from tasks.models import Schedule, Task, TaskAct, TaskEvent, TaskPause, TaskType, TaskWorker
from tasks.scheduling import schedules
from tests.support import factories
from tests.support.accounts import browser_of
from tests.tasks.seen import status

pytestmark = pytest.mark.django_db
SHOWN = (Task, TaskType, TaskPause, TaskAct, Schedule, TaskWorker)
LIST = "/admin/tasks/task/"


@pytest.fixture
def root() -> Client:
    return operator(factories.UserFactory.create(password=None, is_staff=True, is_superuser=True))


def operator(user: User) -> Client:
    """A browser in which an account with a second step has signed in."""
    Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})
    return browser_of(user)


def dead_task(key: str = "test.noop", **options: Any) -> UUID:
    name = enqueue(key, **options).id
    Task.objects.filter(id=name).update(status="DEAD")
    return name


def act(client: Client, action: str, *names: UUID) -> str:
    """Choose tasks in the list and have something done with them; what the page then says."""
    chosen = {"action": action, "_selected_action": [str(name) for name in names]}
    return client.post(LIST, chosen, follow=True).content.decode()


def test_every_list_and_row_can_be_looked_at_and_none_is_changed(root: Client) -> None:
    name = enqueue("test.secret", {"token": "hunter2-hunter2"}, owner_id=uuid4()).id
    control.pause("test.noop", actor="ana", owner_id=uuid4())
    schedules.create(name="s", cron="* * * * *", type_key="test.noop")
    TaskWorker.objects.create(name="w1", slots=2)

    for model in SHOWN:
        address = f"/admin/tasks/{model._meta.model_name}/"
        row = f"{address}{model.objects.first().pk}/change/"
        assert root.get(address).status_code == 200
        assert root.get(row).status_code == 200
        assert root.post(row, {"status": "DEAD"}).status_code == 403
        assert root.get(f"{address}add/").status_code == 403
    assert "hunter2" not in root.get(f"{LIST}{name}/change/").content.decode()


def test_a_task_is_found_by_its_id_and_by_its_company(root: Client) -> None:
    owner = uuid4()
    mine, other = enqueue("test.noop", owner_id=owner).id, enqueue("test.noop").id

    for wanted in (mine, owner):
        page = root.get(LIST, {"q": str(wanted)}).content.decode()
        assert str(mine) in page
        assert str(other) not in page


def test_tasks_are_cancelled_buried_replayed_and_discarded_in_the_name_of_who_did_it(
    root: Client,
) -> None:
    pending, first, second = enqueue("test.noop").id, dead_task(), dead_task()
    harmful = enqueue("test.noop").id

    act(root, "cancel", pending)
    act(root, "bury", harmful)
    act(root, "replay", first)
    act(root, "discard", second)

    assert [status(name) for name in (pending, harmful, first, second)] == [
        *("CANCELLED", "DEAD", "PENDING", "DISCARDED")
    ]
    actors = TaskEvent.objects.exclude(kind="enqueued").values_list("actor", flat=True)
    assert set(actors) == {f"staff:{root.session['_auth_user_id']}"}


def test_what_is_refused_is_said_and_stops_nothing_else(root: Client) -> None:
    sensitive, plain = dead_task("test.sensitive"), dead_task()

    page = act(root, "replay", sensitive, plain)

    assert "needs a confirmation" in page
    assert [status(sensitive), status(plain)] == ["DEAD", "PENDING"]
    act(root, "replay_sensitive", sensitive)
    assert status(sensitive) == "PENDING"


def test_who_may_only_look_cannot_act() -> None:
    from django.contrib.auth.models import Permission

    looker = factories.UserFactory.create(password=None, is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_task"))
    client = operator(looker)
    name = dead_task()

    act(client, "discard", name)

    assert client.get(LIST).status_code == 200
    assert status(name) == "DEAD"


def test_no_list_counts_or_sorts_a_whole_table() -> None:
    for model in SHOWN:
        shown = admin.site._registry[model]

        assert shown.show_full_result_count is False
        assert shown.paginator.__name__ == "ReadonlyAdminPaginator"
        assert tuple(shown.sortable_by) == ()

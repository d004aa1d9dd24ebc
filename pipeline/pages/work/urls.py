"""URLs of the background work pages."""

from __future__ import annotations

from django.urls import path

from pipeline.pages.work import dead_letters, overview, schedules, tasks, types

_A = "company/work/schedules/<uuid:schedule_id>/"

urlpatterns = [
    path("company/work/", overview.show, name="work"),
    path("company/work/cancel/", overview.cancel_matching, name="cancel_matching"),
    path("company/work/dead/", dead_letters.index, name="dead_letters"),
    path("company/work/dead/replay/", dead_letters.replay_type, name="dead_replay"),
    path("company/work/dead/ticked/", dead_letters.handle_ticked, name="dead_ticked"),
    path("company/work/types/", types.index, name="work_types"),
    path("company/work/types/<str:key>/pause/", types.pause, name="type_pause"),
    path("company/work/types/<str:key>/resume/", types.resume, name="type_resume"),
    path("company/work/schedules/", schedules.index, name="schedules"),
    path("company/work/schedules/new/", schedules.new, name="new_schedule"),
    path(_A, schedules.edit, name="edit_schedule"),
    path(f"{_A}history/", schedules.show_history, name="schedule_history"),
    path(f"{_A}run/", schedules.run_now, name="run_schedule"),
    path(f"{_A}switch/", schedules.switch, name="switch_schedule"),
    path(f"{_A}delete/", schedules.delete, name="end_schedule"),
    path("company/work/<uuid:task_id>/", tasks.show, name="task"),
    path("company/work/<uuid:task_id>/cancel/", tasks.cancel, name="task_cancel"),
    path("company/work/<uuid:task_id>/run/", tasks.run_now, name="task_run_now"),
    path("company/work/<uuid:task_id>/replay/", tasks.replay, name="task_replay"),
    path("company/work/<uuid:task_id>/edit/", tasks.edit, name="task_edit"),
    path("company/work/<uuid:task_id>/discard/", tasks.discard, name="task_discard"),
]

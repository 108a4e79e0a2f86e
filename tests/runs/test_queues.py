"""The queue of a store."""

from django_tasks_db.models import DBTaskResult

from viewer.runs.queues import queue_of


def test_a_queue_has_room_in_its_column_and_is_one_stores_alone() -> None:
    room = DBTaskResult._meta.get_field("queue_name").max_length or 0
    names = ["work", "w" * 26, "w" * 27, "w" * 200, "w" * 199 + "x"]
    queues = [queue_of(name) for name in names]
    assert queues[0] == "store work" and len(set(queues)) == len(names)
    assert all(len(queue) <= room for queue in queues)

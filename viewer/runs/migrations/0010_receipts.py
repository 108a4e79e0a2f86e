"""What a commit needs and what it left are JSON that only the store's kind reads: a basis, and a receipt for History.

Runs of before were all of Hermes Agent: their snapshot, steps, copies and blocks are written as its kind reads them now.
"""

import json

from django.db import migrations, models


def as_edit(step):
    """A step of a commit as an edit: a clone was its row's id, the others objects with what they wrote."""
    if isinstance(step, int):
        return step
    if "new" in step:
        return {"insert": as_text(step["new"])}
    why = "shortened" if step["original"] == "under" else "merged" if step.get("is_handoff") else "noted"
    return {"id": step["id"], "changes": as_text(step["changes"]), "why": why}


def as_text(stored):
    return stored if isinstance(stored, str) else json.dumps(stored)


def content_of(steps):
    """The exact content of the handoff, as JSON text."""
    for step in steps:
        if isinstance(step, dict) and "new" in step:
            return json.dumps(json.loads(as_text(step["new"]))["content"])
        if isinstance(step, dict) and step.get("is_handoff"):
            return json.dumps(json.loads(as_text(step["changes"]))["content"])
    return "null"


def rewrite(apps, schema_editor):
    runs, compactions = apps.get_model("runs", "Run").objects, apps.get_model("history", "Compaction").objects
    for number in list(runs.exclude(plan={}).order_by("pk").values_list("pk", flat=True)):
        run = runs.get(pk=number)
        snapshot, steps = run.plan.pop("snapshot", None), run.plan.pop("steps", [])
        fields = {"plan": run.plan}
        if run.status not in ("applied", "undone"):
            if snapshot:
                fields |= {"basis": {**snapshot, "records": []}, "edits": [as_edit(step) for step in steps]}
        elif run.handoff_id is not None and run.block_ids:
            compactions.create(**written(run, snapshot or {}, steps))
        runs.filter(pk=number).update(**fields)
    for each in apps.get_model("runs", "TakenBack").objects.all():
        key = {"store": each.store, "session_id": each.session_id, "handoff_id": each.handoff_id}
        undo = {"block": each.block_ids, "taken_back": each.taken_back_ids}
        fields = {"undone": True, "undone_at": each.at, "undo": undo, "cut_id": each.cut_id}
        if not compactions.filter(**key, undone=True).update(**fields):
            compactions.create(**key, **fields)


def written(run, snapshot, steps):
    """The record of what a run wrote."""
    return {
        "run": run.pk,
        "store": run.store,
        "session_id": run.session_id,
        "handoff_id": run.handoff_id,
        "first_id": min(run.block_ids),
        "last_id": max(run.block_ids),
        "undone": run.status == "undone",
        "receipt": {
            "handoff": run.handoff_id,
            "content": content_of(steps),
            "block": run.block_ids,
            "copies": run.copies,
            "before": [row[0] for row in snapshot.get("rows", [])],
            "split": bool(run.new_session_id),
        },
    }


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_prune"), ("history", "0001_history")]
    operations = [
        migrations.AddField("run", "basis", models.JSONField(default=dict)),
        migrations.AddField("run", "edits", models.JSONField(default=list)),
        migrations.RunPython(rewrite),
        migrations.RemoveField("run", "copies"),
        migrations.RemoveField("run", "block_ids"),
        migrations.DeleteModel("TakenBack"),
    ]

"""What a commit needs and what it left are JSON that only the store's kind reads: basis, edits and receipt.

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


def rewrite_runs(apps, schema_editor):
    runs = apps.get_model("runs", "Run").objects
    for number in list(runs.exclude(plan={}).values_list("pk", flat=True)):
        run = runs.get(pk=number)
        snapshot, steps = run.plan.pop("snapshot", None), run.plan.pop("steps", [])
        fields = {"plan": run.plan}
        if run.status in ("applied", "undone"):
            if run.handoff_id is not None and run.block_ids:
                fields |= {"first_id": min(run.block_ids), "last_id": max(run.block_ids)}
                fields["receipt"] = {
                    "handoff": run.handoff_id,
                    "content": content_of(steps),
                    "block": run.block_ids,
                    "copies": run.copies,
                    "before": [row[0] for row in (snapshot or {}).get("rows", [])],
                    "split": bool(run.new_session_id),
                }
        elif snapshot:
            fields |= {"basis": {**snapshot, "records": []}, "edits": [as_edit(step) for step in steps]}
        runs.filter(pk=number).update(**fields)


def rewrite_undos(apps, schema_editor):
    undos = apps.get_model("runs", "TakenBack").objects
    for number, block, taken_back in list(undos.values_list("pk", "block_ids", "taken_back_ids")):
        undos.filter(pk=number).update(receipt={"block": block, "taken_back": taken_back})


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_prune")]
    operations = [
        migrations.AddField("run", "basis", models.JSONField(default=dict)),
        migrations.AddField("run", "edits", models.JSONField(default=list)),
        migrations.AddField("run", "receipt", models.JSONField(default=dict)),
        migrations.AddField("run", "first_id", models.BigIntegerField(null=True)),
        migrations.AddField("run", "last_id", models.BigIntegerField(null=True)),
        migrations.AddField("takenback", "receipt", models.JSONField(default=dict)),
        migrations.RunPython(rewrite_runs, elidable=False),
        migrations.RunPython(rewrite_undos, elidable=False),
        migrations.RemoveField("run", "copies"),
        migrations.RemoveField("run", "block_ids"),
        migrations.RemoveField("takenback", "block_ids"),
        migrations.RemoveField("takenback", "taken_back_ids"),
    ]

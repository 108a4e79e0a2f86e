from django.db import migrations, models

COLUMNS = {
    "cost_is_least": ("boolean NOT NULL DEFAULT false", models.BooleanField(default=False)),
    "cost_inherited": ("double precision NOT NULL DEFAULT 0", models.FloatField(default=0.0)),
}
# Not by Django's operations: on SQLite these make the table anew, without the triggers of 0003.
ADD = [
    migrations.RunSQL(
        f"ALTER TABLE catalog_line ADD COLUMN {name} {kind}",
        f"ALTER TABLE catalog_line DROP COLUMN {name}",
        state_operations=[migrations.AddField("sessionindex", name, field)],
    )
    for name, (kind, field) in COLUMNS.items()
]


def count_anew(apps, schema_editor):
    """Have each session with a cost counted again: those of forks were too high."""
    apps.get_model("catalog", "SessionIndex").objects.filter(cost__isnull=False).update(due=True)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0013_insights")]

    operations = [
        migrations.RemoveIndex("sessionindex", "lines_to_sum"),
        *ADD,
        migrations.AddIndex(
            "sessionindex",
            models.Index(
                fields=[
                    "state", "last_active", "kind", "branched_from", "tokens", "cost", "cost_is_least",
                    "cost_inherited", "messages", "compactions",
                ],
                condition=models.Q(kind__isnull=False),
                name="lines_to_sum",
            ),
        ),
        migrations.RunPython(count_anew, migrations.RunPython.noop),
    ]

import re

from django.db import migrations, models
from django.db.models import F

NUMBERED = re.compile(r"(.+) #(\d{1,3})", re.DOTALL)


def state_facts(apps, schema_editor):
    """What titles and end reasons meant until now, as facts of their own."""
    lines = apps.get_model("catalog", "SessionIndex").objects
    lines.update(base_title=F("title"))
    lines.filter(end_reason="compression").update(continued=True)
    for line in lines.filter(title__contains=" #").only("title").iterator():
        numbered = NUMBERED.fullmatch(line.title)
        if numbered and int(numbered[2]):
            lines.filter(pk=line.pk).update(base_title=numbered[1], part_number=int(numbered[2]))


COLUMNS = {
    "base_title": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
    "part_number": ("smallint NOT NULL DEFAULT 1", models.PositiveSmallIntegerField(default=1)),
    "continued": ("bool NOT NULL DEFAULT FALSE", models.BooleanField(default=False)),
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


class Migration(migrations.Migration):
    dependencies = [("catalog", "0007_standard_names")]

    operations = [
        *ADD,
        migrations.RunPython(state_facts, migrations.RunPython.noop),
        migrations.RunSQL(
            "ALTER TABLE catalog_line DROP COLUMN end_reason",
            "ALTER TABLE catalog_line ADD COLUMN end_reason text NOT NULL DEFAULT ''",
            state_operations=[migrations.RemoveField("sessionindex", "end_reason")],
        ),
        migrations.AddIndex("sessionindex", models.Index(fields=["state", "base_title"], name="lines_by_base_title")),
    ]

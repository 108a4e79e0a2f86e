from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Coalesce

COLUMNS = {
    "pinned": ("boolean NOT NULL DEFAULT false", models.BooleanField(default=False)),
    "sort_name": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
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
NAME = "CASE WHEN parts > 1 AND base_title <> '' THEN base_title WHEN title <> '' THEN title"
SET_NAMES = f"UPDATE catalog_line SET sort_name = substr(lower({NAME} ELSE first_words END), 1, 100)"
INDEXES = [
    models.Index(Coalesce("tokens", -1), "session_id", "id", "kind", name="lines_by_tokens"),
    models.Index(Coalesce("cost", -1.0), "session_id", "id", "kind", name="lines_by_cost"),
    models.Index(fields=["sort_name", "session_id", "id", "kind"], name="lines_by_name"),
    models.Index(fields=["kind", "last_active"], condition=Q(pinned=True), name="pinned_lines"),
]


def compare_again(apps, schema_editor):
    """Workers compare all lines with their stores once more: what is pinned there, and git branches, are new here."""
    apps.get_model("catalog", "StoreState").objects.update(signature="", checked="")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0011_delegated_and_cost")]

    operations = [
        *ADD,
        migrations.RunSQL(SET_NAMES, migrations.RunSQL.noop),
        *[migrations.AddIndex("sessionindex", index) for index in INDEXES],
        migrations.RunPython(compare_again, migrations.RunPython.noop),
    ]

from django.db import migrations, models

COLUMNS = {
    "git_branch": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
    "cost": ("double precision NULL", models.FloatField(null=True)),
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
KEY = ("state_id", "source", "model", "archived", "ended", "compacted", "near")


def set_groups(apps, schema_editor):
    """Sub-agents' sessions, which were in the groups of all others, get groups of their own."""
    lines, groups = apps.get_model("catalog", "SessionIndex").objects, apps.get_model("catalog", "FacetGroup").objects
    for group in list(groups.filter(lines__delegated=True).distinct()):
        own = groups.create(**{name: getattr(group, name) for name in KEY}, delegated=True)
        lines.filter(kind=group, delegated=True).update(kind=own)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0010_full_text_later")]

    operations = [
        *ADD,
        migrations.RemoveConstraint("facetgroup", "one_kind_a_sort"),
        migrations.AddField("facetgroup", "delegated", models.BooleanField(default=False)),
        migrations.AddConstraint(
            "facetgroup",
            models.UniqueConstraint(
                fields=["state", "source", "model", "archived", "ended", "compacted", "near", "delegated"],
                name="one_kind_a_sort",
            ),
        ),
        migrations.RunPython(set_groups, migrations.RunPython.noop),
    ]

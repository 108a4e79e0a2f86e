from django.db import migrations, models


def compare_anew(apps, schema_editor):
    """Long and empty ids, and those that nobody can ask for, are listed now: workers look at all sessions once more."""
    apps.get_model("catalog", "StoreState").objects.update(checked="", check_of="", check_at=0)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_count_anew")]

    operations = [
        # In SQL: SQLite would have Django remake the table, and its triggers (0003) would be gone.
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    "ALTER TABLE catalog_line ADD COLUMN problem text NOT NULL DEFAULT ''",
                    "ALTER TABLE catalog_line DROP COLUMN problem",
                )
            ],
            [migrations.AddField("line", "problem", models.TextField(default=""))],
        ),
        migrations.RunPython(compare_anew, migrations.RunPython.noop),
    ]

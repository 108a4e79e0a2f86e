from django.db import migrations, models


def count_anew(apps, schema_editor):
    """Workers note why a session cannot be compacted when they count it."""
    apps.get_model("catalog", "SessionIndex").objects.filter(kind__isnull=False, problem="").update(due=True)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0016_first_words_again")]

    operations = [
        # Not by Django's operation: on SQLite it makes the table anew, without the triggers of 0003.
        migrations.RunSQL(
            "ALTER TABLE catalog_line ADD COLUMN refusal text NULL",
            "ALTER TABLE catalog_line DROP COLUMN refusal",
            state_operations=[migrations.AddField("sessionindex", "refusal", models.TextField(null=True))],
        ),
        migrations.RunPython(count_anew, migrations.RunPython.noop),
    ]

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Length

LONGEST = 150  # characters, which have at most the bytes of `listing.LONGEST_PATH`


def leave_out_long_directories(apps, schema_editor):
    """Together with a long id, PostgreSQL does not take them in an index. They are noted anew, as `note_again` says."""
    lines = apps.get_model("catalog", "SessionIndex").objects.annotate(length=Length("cwd"))
    lines.filter(length__gt=LONGEST).update(cwd="")


def note_again(apps, schema_editor):
    """Lines are noted anew by workers: their last activity is that of the newest entry of a file, not of the file, and
    their words have the working directory. They are counted anew as well, with the days of their cost.
    """
    apps.get_model("catalog", "SessionIndex").objects.update(mark="")
    apps.get_model("catalog", "StoreState").objects.update(signature="", checked="")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]

    operations = [
        migrations.RunPython(leave_out_long_directories, migrations.RunPython.noop),
        migrations.AddIndex(
            "sessionindex",
            models.Index(fields=["kind", "cwd", "last_active", "session_id", "id"], name="kinds_by_project"),
        ),
        migrations.CreateModel(
            name="SessionDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.IntegerField()),
                ("dollars", models.FloatField()),
                ("is_least", models.BooleanField()),
                (
                    "line",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="days", to="catalog.sessionindex"
                    ),
                ),
                (
                    "state",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="catalog.storestate"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["state", "day", "line", "dollars", "is_least"], name="days_to_sum")]
            },
        ),
        migrations.RunPython(note_again, migrations.RunPython.noop),
    ]

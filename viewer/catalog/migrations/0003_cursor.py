import json

from django.db import migrations, models


def make_cursors(apps, schema_editor):
    """How far a store was read, as `listing.Listing.changed` of its kind says it."""
    for state in apps.get_model("catalog", "StoreState").objects.exclude(generation=0):
        state.cursor = json.dumps([state.newest_message, state.newest_session, state.anchor])
        state.save(update_fields=["cursor"])


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_projects_and_days")]

    operations = [
        migrations.AddField("storestate", "cursor", models.TextField(default="")),
        migrations.RunPython(make_cursors, migrations.RunPython.noop),
        migrations.RemoveField("storestate", "newest_message"),
        migrations.RemoveField("storestate", "newest_session"),
        migrations.RemoveField("storestate", "anchor"),
    ]

"""Audits, events and the rules typed for stores stand in apps of their own; their tables stay as they are."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0010_receipts"),
        ("enforcement", "0001_audits_and_events"),
        ("workspaces", "0001_store_rules"),
    ]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Event"),
                migrations.DeleteModel("Audit"),
                migrations.DeleteModel("StoreRules"),
            ]
        )
    ]

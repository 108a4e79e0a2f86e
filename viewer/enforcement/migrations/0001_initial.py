import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


def one_of(*values):
    return {"choices": [(value, value) for value in values], "max_length": 20}


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    replaces = [("enforcement", "0001_audits_and_events")]

    operations = [
        migrations.CreateModel(
            name="Audit",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200)),
                ("session_id", models.TextField()),
                ("handoff_id", models.BigIntegerField()),
                ("run", models.BigIntegerField(null=True)),
                ("model", models.TextField(blank=True, default="")),
                ("compacted_at", models.FloatField()),
                ("armed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("after", models.BigIntegerField()),
                ("seen_to", models.BigIntegerField(default=0)),
                ("workspace", models.TextField(blank=True, default="")),
                ("source", models.TextField(blank=True, default="")),
                ("required", models.JSONField(default=list)),
                ("findings", models.JSONField(default=list)),
                (
                    "status",
                    models.CharField(
                        default="not_yet",
                        **one_of("not_yet", "missing", "passed", "nothing_required", "undone", "superseded"),
                    ),
                ),
                ("settled", models.BooleanField(default=False)),
                ("turns", models.PositiveSmallIntegerField(default=0)),
                ("late", models.BooleanField(default=False)),
                ("reason", models.TextField(blank=True, default="")),
                ("audited_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "runs_audit",
                "constraints": [
                    models.UniqueConstraint(fields=("store", "session_id", "handoff_id"), name="one_audit_a_compaction")
                ],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200)),
                ("session_id", models.TextField()),
                ("kind", models.CharField(**one_of("note", "warning"))),
                ("status", models.CharField(default="pending", **one_of("pending", "delivered", "expired"))),
                ("sections", models.JSONField(default=list)),
                ("named", models.JSONField(default=list)),
                ("missing", models.JSONField(default=list)),
                ("files", models.JSONField(default=list)),
                ("text", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "audit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="enforcement.audit"
                    ),
                ),
            ],
            options={
                "db_table": "runs_event",
                "indexes": [models.Index(fields=["store", "session_id", "-id"], name="events_of_a_session")],
                "constraints": [models.UniqueConstraint(fields=("audit", "kind"), name="one_event_of_a_kind")],
            },
        ),
    ]

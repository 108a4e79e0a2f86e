import django.utils.timezone
from django.db import migrations, models

KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
OPEN = ("queued", "planning", "summarizing", "waiting", "applying")
STATUSES = (*OPEN, "ready", "applied", "undone", "discarded", "cancelled", "failed", "conflict")
REPLACED = (
    "0001_runs", "0002_models_and_modes", "0003_workers", "0004_after_a_compaction", "0005_undone_and_looked_at",
    "0006_rows_of_what_was_undone", "0007_long_ids", "0008_encrypted_keys", "0009_prune", "0010_receipts", "0011_rooms",
    "0012_drafts",
)  # fmt: skip


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    replaces = [("runs", name) for name in REPLACED]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200)),
                ("session_id", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[(status, status) for status in STATUSES], default="queued", max_length=20
                    ),
                ),
                ("strategy", models.CharField(max_length=40)),
                ("summarizer", models.CharField(max_length=40)),
                ("focus", models.TextField(blank=True, default="")),
                ("keep_last", models.PositiveIntegerField(null=True)),
                ("apply", models.BooleanField()),
                ("progress", models.JSONField(default=dict)),
                ("tokens_before", models.PositiveIntegerField(null=True)),
                ("tokens_after", models.PositiveIntegerField(null=True)),
                ("messages_before", models.PositiveIntegerField(null=True)),
                ("messages_after", models.PositiveIntegerField(null=True)),
                ("summary", models.TextField(blank=True, default="")),
                ("error_code", models.CharField(blank=True, default="", max_length=60)),
                ("error_message", models.TextField(blank=True, default="")),
                ("plan", models.JSONField(default=dict)),
                ("report", models.JSONField(default=dict)),
                ("handoff_id", models.BigIntegerField(null=True)),
                ("holder", models.CharField(blank=True, default="", max_length=200)),
                ("task_id", models.CharField(blank=True, default="", max_length=64)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("heartbeat_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("applied_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("chunks", models.JSONField(default=list)),
                ("mode", models.CharField(default="in_place", max_length=20)),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                ("new_session_id", models.TextField(blank=True, default="")),
                ("usage", models.JSONField(default=dict)),
                ("carry", models.BooleanField(default=True)),
                ("rules", models.JSONField(default=dict)),
                ("looked_at_seconds", models.FloatField(default=0.0)),
                ("basis", models.JSONField(default=dict)),
                ("edits", models.JSONField(default=list)),
                ("draft", models.TextField(blank=True, default="")),
            ],
            options={
                "indexes": [models.Index(fields=["store", "session_id", "-id"], name="runs_of_a_session")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(status__in=OPEN),
                        fields=("store", "session_id"),
                        name="one_open_run_a_session",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Connection",
            fields=[
                ("id", KEY),
                ("kind", models.CharField(max_length=20, unique=True)),
                ("base_url", models.CharField(blank=True, default="", max_length=500)),
                ("api_key", models.TextField(blank=True, default="")),
                ("model", models.CharField(max_length=200)),
                ("window", models.PositiveIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", KEY),
                ("name", models.CharField(max_length=200, unique=True)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]

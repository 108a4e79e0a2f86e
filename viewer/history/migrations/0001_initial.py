from django.db import migrations, models

KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    replaces = [("history", "0001_history")]

    operations = [
        migrations.CreateModel(
            name="PackedHistory",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200)),
                ("session_id", models.TextField()),
                ("mark", models.TextField()),
                ("signature", models.TextField()),
                ("encoding", models.CharField(max_length=100)),
                ("packed", models.BinaryField()),
            ],
            options={
                "db_table": "catalog_packedhistory",
                "constraints": [models.UniqueConstraint(fields=("store", "session_id"), name="one_history_a_session")],
            },
        ),
        migrations.CreateModel(
            name="Compaction",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200)),
                ("session_id", models.TextField()),
                ("handoff_id", models.BigIntegerField()),
                ("run", models.BigIntegerField(null=True, unique=True)),
                ("receipt", models.JSONField(default=dict)),
                ("first_id", models.BigIntegerField(null=True)),
                ("last_id", models.BigIntegerField(null=True)),
                ("undone", models.BooleanField(default=False)),
                ("undone_at", models.DateTimeField(null=True)),
                ("undo", models.JSONField(default=dict)),
                ("cut_id", models.BigIntegerField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["store", "session_id"], name="compactions_of_a_session")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(run=None),
                        fields=("store", "session_id", "handoff_id"),
                        name="one_undo_of_an_agents",
                    )
                ],
            },
        ),
    ]

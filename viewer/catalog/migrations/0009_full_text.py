"""A full-text index of stores that have none.

SQLite: a contentless FTS5 table over words that are cut already (the `ascii` tokenizer leaves other letters alone).
PostgreSQL: a column of the table of messages, with an index.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

SQLITE = (
    "CREATE VIRTUAL TABLE catalog_text USING fts5"
    "(words, content='', detail='none', columnsize=0, tokenize=\"ascii tokenchars '_'\")",
)
POSTGRESQL = (
    "ALTER TABLE catalog_textmessage ADD COLUMN words tsvector NOT NULL",
    "CREATE INDEX catalog_text ON catalog_textmessage USING gin (words)",
)


def make(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TABLE catalog_text")


KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0008_parts_by_fact")]

    operations = [
        migrations.CreateModel(
            name="StoreText",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200, unique=True)),
                ("left_out", models.BooleanField(default=False)),
                ("messages", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="SessionText",
            fields=[
                ("id", KEY),
                ("session_id", models.TextField()),
                ("cursor", models.TextField(default="")),
                ("mark", models.TextField(default="")),
                ("last_active", models.FloatField(default=0.0)),
                ("due", models.BooleanField(default=True)),
                ("void", models.BooleanField(default=False)),
                ("gone", models.BooleanField(default=False)),
                ("version", models.BigIntegerField(default=0)),
                (
                    "store",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sessions", to="catalog.storetext"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["store", "last_active"], condition=Q(due=True), name="texts_to_index")
                ],
                "constraints": [models.UniqueConstraint(fields=("store", "session_id"), name="one_text_a_session")],
            },
        ),
        migrations.CreateModel(
            name="TextPortion",
            fields=[
                ("id", KEY),
                ("oldest", models.BigIntegerField()),
                ("newest", models.BigIntegerField()),
                ("words", models.BinaryField()),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="portions", to="catalog.sessiontext"
                    ),
                ),
                (
                    "store",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="catalog.storetext"
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["store", "newest"], name="portions_by_time")]},
        ),
        migrations.CreateModel(
            name="TextMessage",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("message", models.BigIntegerField()),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="catalog.sessiontext",
                    ),
                ),
            ],
        ),
        migrations.RunPython(make, drop),
    ]

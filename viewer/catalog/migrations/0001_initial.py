import django.db.models.deletion
import django.utils.timezone
from django.db import DatabaseError, migrations, models, transaction
from django.db.models import Index, Q
from django.db.models.functions import Coalesce

import viewer.catalog.models

REPLACED = (
    "0001_lines", "0002_histories", "0003_words", "0004_count_anew", "0005_broken_lines",
    "0006_histories_have_a_room", "0007_standard_names", "0008_parts_by_fact", "0009_full_text",
    "0010_full_text_later", "0011_delegated_and_cost", "0012_pinned_and_names", "0013_insights", "0014_costs",
    "0015_texts_that_failed", "0016_first_words_again", "0017_refusals",
)  # fmt: skip
KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")

# Columns that were added to `catalog_line` by statements, as Django's operations make the table anew on SQLite, without
# its triggers. Their defaults and types are not those of Django, and a new database is to have what others have.
COLUMNS = {
    "problem": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
    "base_title": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
    "part_number": ("smallint NOT NULL DEFAULT 1", models.PositiveSmallIntegerField(default=1)),
    "continued": ("bool NOT NULL DEFAULT FALSE", models.BooleanField(default=False)),
    "git_branch": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
    "cost": ("double precision NULL", models.FloatField(null=True)),
    "pinned": ("boolean NOT NULL DEFAULT false", models.BooleanField(default=False)),
    "sort_name": ("text NOT NULL DEFAULT ''", models.TextField(default="")),
    "cost_is_least": ("boolean NOT NULL DEFAULT false", models.BooleanField(default=False)),
    "cost_inherited": ("double precision NOT NULL DEFAULT 0", models.FloatField(default=0.0)),
    "refusal": ("text NULL", models.TextField(null=True)),
}

# An index over any three letters of what is sought in, so that a rare word is found without looking through all lines.
# SQLite: a full-text table kept by triggers on `catalog_line` (whoever remakes that table makes them again).
# PostgreSQL: an index of pg_trgm where the server has that extension; elsewhere all lines are looked through.
SQLITE_WORDS = (
    "CREATE VIRTUAL TABLE catalog_words USING fts5"
    "(words, content='catalog_line', content_rowid='id', tokenize='trigram')",
    "CREATE TRIGGER catalog_words_insert AFTER INSERT ON catalog_line BEGIN "
    "INSERT INTO catalog_words (rowid, words) VALUES (new.id, new.words); END",
    "CREATE TRIGGER catalog_words_delete AFTER DELETE ON catalog_line BEGIN "
    "INSERT INTO catalog_words (catalog_words, rowid, words) VALUES ('delete', old.id, old.words); END",
    "CREATE TRIGGER catalog_words_update AFTER UPDATE OF words ON catalog_line WHEN old.words IS NOT new.words BEGIN "
    "INSERT INTO catalog_words (catalog_words, rowid, words) VALUES ('delete', old.id, old.words); "
    "INSERT INTO catalog_words (rowid, words) VALUES (new.id, new.words); END",
)
POSTGRESQL_WORDS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX catalog_words ON catalog_line USING gin (words gin_trgm_ops)",
)

# A full-text index of stores that have none. SQLite: a contentless FTS5 table over words that are cut already (the
# `ascii` tokenizer leaves other letters alone). PostgreSQL: a column of the table of messages, with an index.
SQLITE_TEXT = (
    "CREATE VIRTUAL TABLE catalog_text USING fts5"
    "(words, content='', detail='none', columnsize=0, tokenize=\"ascii tokenchars '_'\")",
)
POSTGRESQL_TEXT = (
    "ALTER TABLE catalog_textmessage ADD COLUMN words tsvector NOT NULL",
    "CREATE INDEX catalog_text ON catalog_textmessage USING gin (words)",
)


def make_indexes_of_words(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in (*SQLITE_WORDS, *SQLITE_TEXT):
            schema_editor.execute(statement)
        return
    for statement in POSTGRESQL_TEXT:
        schema_editor.execute(statement)
    try:
        with transaction.atomic(using=schema_editor.connection.alias):
            for statement in POSTGRESQL_WORDS:
                schema_editor.execute(statement)
    except DatabaseError:
        pass  # no such extension, or no right to add it


def drop_indexes_of_words(apps, schema_editor):
    """Those that do not go with the tables they are on."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TABLE catalog_text")
        schema_editor.execute("DROP TABLE catalog_words")


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    replaces = [("catalog", name) for name in REPLACED]

    operations = [
        migrations.CreateModel(
            name="StoreState",
            fields=[
                ("id", KEY),
                ("name", models.CharField(max_length=200)),
                ("place", models.TextField()),
                ("file", models.CharField(max_length=100)),
                ("retired", models.BooleanField(default=False)),
                ("signature", models.TextField(default="")),
                ("generation", models.BigIntegerField(default=0)),
                ("edition", models.BigIntegerField(default=0)),
                ("newest_message", models.BigIntegerField(default=0)),
                ("anchor", models.TextField(default="")),
                ("newest_session", models.BigIntegerField(default=0)),
                ("unread_below", models.BigIntegerField(default=0)),
                ("unlisted", models.BigIntegerField(default=0)),
                ("check_at", models.BigIntegerField(default=0)),
                ("check_of", models.TextField(default="")),
                ("checked", models.TextField(default="")),
                ("claimed_by", models.CharField(default="", max_length=200)),
                ("claimed_until", models.DateTimeField(default=viewer.catalog.models.long_ago)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(retired=False), fields=("name", "place", "file"), name="one_state_a_file"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FacetGroup",
            fields=[
                ("id", KEY),
                ("source", models.TextField()),
                ("model", models.TextField()),
                ("archived", models.BooleanField()),
                ("ended", models.BooleanField()),
                ("compacted", models.BooleanField()),
                ("near", models.BooleanField()),
                (
                    "state",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="kinds", to="catalog.storestate"
                    ),
                ),
                ("delegated", models.BooleanField(default=False)),
            ],
            options={
                "db_table": "catalog_kind",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("state", "source", "model", "archived", "ended", "compacted", "near", "delegated"),
                        name="one_kind_a_sort",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SessionIndex",
            fields=[
                ("id", KEY),
                ("session_id", models.TextField()),
                ("row", models.BigIntegerField()),
                ("source", models.TextField(default="")),
                ("model", models.TextField(default="")),
                ("title", models.TextField(default="")),
                ("first_words", models.TextField(default="")),
                ("own_words", models.TextField(default="")),
                ("words", models.TextField(default="")),
                ("parent", models.TextField(default="")),
                ("forked", models.BooleanField(default=False)),
                ("continues", models.TextField(default="")),
                ("branched_from", models.TextField(default="")),
                ("delegated", models.BooleanField(default=False)),
                ("started_at", models.FloatField(default=0.0)),
                ("last_active", models.FloatField(default=0.0)),
                ("ended_at", models.FloatField(null=True)),
                ("archived", models.BooleanField(default=False)),
                ("cwd", models.TextField(default="")),
                ("tip", models.BooleanField(default=True)),
                ("parts", models.PositiveIntegerField(default=1)),
                ("live", models.BigIntegerField(default=0)),
                ("in_context", models.BigIntegerField(default=0)),
                ("messages", models.BigIntegerField(null=True)),
                ("compactions", models.BigIntegerField(null=True)),
                ("tokens", models.BigIntegerField(null=True)),
                ("window", models.BigIntegerField(default=0)),
                ("under", models.BooleanField(default=False)),
                ("mark", models.TextField(default="")),
                ("counted", models.TextField(default="")),
                ("due", models.BooleanField(default=True)),
                ("verified", models.BigIntegerField(default=0)),
                (
                    "kind",
                    models.ForeignKey(
                        db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="lines",
                        to="catalog.facetgroup",
                    ),  # fmt: skip
                ),
                (
                    "state",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="lines", to="catalog.storestate"
                    ),
                ),
            ],
            options={
                "db_table": "catalog_line",
                "constraints": [models.UniqueConstraint(fields=("state", "session_id"), name="one_line_a_session")],
            },
        ),
        *[
            migrations.RunSQL(
                f"ALTER TABLE catalog_line ADD COLUMN {name} {kind}",
                migrations.RunSQL.noop,
                state_operations=[migrations.AddField("sessionindex", name, field)],
            )
            for name, (kind, field) in COLUMNS.items()
        ],
        *[
            migrations.AddIndex("sessionindex", index)
            for index in (
                Index(fields=["last_active", "session_id", "id", "kind"], name="lines_by_activity"),
                Index(fields=["started_at", "session_id", "id", "kind"], name="lines_by_start"),
                Index(fields=["live", "session_id", "id", "kind"], name="lines_by_messages"),
                Index(Coalesce("tokens", -1), "session_id", "id", "kind", name="lines_by_tokens"),
                Index(Coalesce("cost", -1.0), "session_id", "id", "kind", name="lines_by_cost"),
                Index(fields=["sort_name", "session_id", "id", "kind"], name="lines_by_name"),
                Index(fields=["kind", "last_active"], condition=Q(pinned=True), name="pinned_lines"),
                Index(fields=["kind", "last_active", "session_id", "id"], name="kinds_by_activity"),
                Index(fields=["kind", "started_at", "session_id", "id"], name="kinds_by_start"),
                Index(fields=["kind", "live", "session_id", "id"], name="kinds_by_messages"),
                Index(fields=["state", "last_active"], condition=Q(due=True), name="lines_to_count"),
                Index(
                    fields=[
                        "state", "last_active", "kind", "branched_from", "tokens", "cost", "cost_is_least",
                        "cost_inherited", "messages", "compactions",
                    ],
                    condition=Q(kind__isnull=False),
                    name="lines_to_sum",
                ),  # fmt: skip
                Index(fields=["state", "row"], name="lines_by_row"),
                Index(fields=["state", "parent"], name="lines_by_parent"),
                Index(fields=["state", "title"], name="lines_by_title"),
                Index(fields=["state", "base_title"], name="lines_by_base_title"),
            )
        ],
        migrations.CreateModel(
            name="StoreText",
            fields=[
                ("id", KEY),
                ("store", models.CharField(max_length=200, unique=True)),
                ("left_out", models.BooleanField(default=False)),
                ("messages", models.BigIntegerField(default=0)),
                ("untidy", models.BooleanField(default=False)),
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
                ("wait_until", models.FloatField(default=0.0)),
                ("failed", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    Index(fields=["store", "last_active"], condition=Q(due=True), name="texts_to_index"),
                    Index(fields=["store"], condition=Q(failed=True), name="failed_texts"),
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
            options={"indexes": [Index(fields=["store", "newest"], name="portions_by_time")]},
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
        migrations.RunPython(make_indexes_of_words, drop_indexes_of_words),
    ]

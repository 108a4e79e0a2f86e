"""An index over any three letters of what is sought in, so that a rare word is found without looking through all lines.

SQLite: a full-text table kept by triggers on `catalog_line` (whoever remakes that table makes them again). PostgreSQL:
an index of pg_trgm where the server has that extension; elsewhere all lines are looked through.
"""

from django.db import DatabaseError, migrations, transaction

SQLITE = (
    "CREATE VIRTUAL TABLE catalog_words USING fts5"
    "(words, content='catalog_line', content_rowid='id', tokenize='trigram')",
    "CREATE TRIGGER catalog_words_insert AFTER INSERT ON catalog_line BEGIN "
    "INSERT INTO catalog_words (rowid, words) VALUES (new.id, new.words); END",
    "CREATE TRIGGER catalog_words_delete AFTER DELETE ON catalog_line BEGIN "
    "INSERT INTO catalog_words (catalog_words, rowid, words) VALUES ('delete', old.id, old.words); END",
    "CREATE TRIGGER catalog_words_update AFTER UPDATE OF words ON catalog_line WHEN old.words IS NOT new.words BEGIN "
    "INSERT INTO catalog_words (catalog_words, rowid, words) VALUES ('delete', old.id, old.words); "
    "INSERT INTO catalog_words (rowid, words) VALUES (new.id, new.words); END",
    "INSERT INTO catalog_words (catalog_words) VALUES ('rebuild')",
)
POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX catalog_words ON catalog_line USING gin (words gin_trgm_ops)",
)


def make(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in SQLITE:
            schema_editor.execute(statement)
        return
    try:
        with transaction.atomic(using=schema_editor.connection.alias):
            for statement in POSTGRESQL:
                schema_editor.execute(statement)
    except DatabaseError:
        pass  # no such extension, or no right to add it


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for name in ("insert", "delete", "update"):
            schema_editor.execute(f"DROP TRIGGER catalog_words_{name}")
        schema_editor.execute("DROP TABLE catalog_words")
    else:
        schema_editor.execute("DROP INDEX IF EXISTS catalog_words")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_histories")]
    operations = [migrations.RunPython(make, drop)]

"""What an update makes of the lines that an earlier version left."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_lines_of_earlier_versions_tell_their_parts() -> None:
    """Their titles and end reasons are read once, by the migration; the triggers of the index of words stay."""
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes("catalog")
    try:
        old = executor.migrate([("catalog", "0007_standard_names")]).apps
        state = old.get_model("catalog", "StoreState").objects.create(name="s", place="/s", file="1 1")
        for title, reason in (("Talk", "compression"), ("Talk #2", ""), ("Ticket #2026", "done"), ("#7", "")):
            old.get_model("catalog", "SessionIndex").objects.create(
                state=state, session_id=title, row=1, title=title, words=title.casefold(), end_reason=reason
            )
        new = MigrationExecutor(connection).migrate(newest).apps.get_model("catalog", "SessionIndex").objects
        told = {each.title: (each.base_title, each.part_number, each.continued) for each in new.all()}
        assert told == {
            "Talk": ("Talk", 1, True),
            "Talk #2": ("Talk", 2, False),
            "Ticket #2026": ("Ticket #2026", 1, False),
            "#7": ("#7", 1, False),
        }
        new.filter(title="#7").update(words="quince")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM catalog_words WHERE catalog_words MATCH 'quince'")
            assert cursor.fetchone() == (1,)
    finally:
        MigrationExecutor(connection).migrate(newest)

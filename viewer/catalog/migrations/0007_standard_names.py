"""Two models have other names; their tables keep theirs."""

from django.db import migrations

STATE = [
    migrations.RenameModel("Line", "SessionIndex"),
    migrations.AlterModelTable("sessionindex", "catalog_line"),
    migrations.RenameModel("Kind", "FacetGroup"),
    migrations.AlterModelTable("facetgroup", "catalog_kind"),
]


class Migration(migrations.Migration):
    dependencies = [("catalog", "0006_histories_have_a_room")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=STATE)]

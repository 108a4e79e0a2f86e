"""The indexes of Histories stand in an app of their own; their table stays as it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("catalog", "0005_broken_lines"), ("history", "0001_history")]
    operations = [migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("PackedHistory")])]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_rows_of_what_was_undone")]

    operations = [
        migrations.AlterField("run", "new_session_id", models.TextField(blank=True, default="")),
        migrations.AlterField("run", "session_id", models.TextField()),
    ]

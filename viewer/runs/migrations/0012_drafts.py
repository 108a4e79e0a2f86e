"""The text that somebody makes of a candidate's summary is kept until it is applied."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0011_rooms")]
    operations = [
        migrations.AddField(model_name="run", name="draft", field=models.TextField(blank=True, default="")),
    ]

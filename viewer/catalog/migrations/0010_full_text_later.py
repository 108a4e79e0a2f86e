from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0009_full_text")]

    operations = [
        migrations.AddField("storetext", "untidy", models.BooleanField(default=False)),
        migrations.AddField("sessiontext", "wait_until", models.FloatField(default=0.0)),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0014_costs")]

    operations = [
        migrations.AddField("sessiontext", "failed", models.BooleanField(default=False)),
        migrations.AddIndex(
            "sessiontext", models.Index(fields=["store"], condition=models.Q(failed=True), name="failed_texts")
        ),
    ]

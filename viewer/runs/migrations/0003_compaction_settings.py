from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_queue")]

    operations = [
        migrations.CreateModel(
            name="CompactionSetting",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("store", models.CharField(max_length=200, unique=True)),
                ("mode", models.CharField(default="in_place", max_length=20)),
                ("strategy", models.CharField(blank=True, default="", max_length=40)),
            ],
        ),
        migrations.AddField("run", "fallback", models.TextField(blank=True, default="", db_default="")),
    ]

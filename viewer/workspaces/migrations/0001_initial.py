from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    replaces = [("workspaces", "0001_store_rules")]

    operations = [
        migrations.CreateModel(
            name="StoreRules",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("store", models.CharField(max_length=200, unique=True)),
                ("workspace", models.TextField(blank=True, default="")),
                ("sections", models.JSONField(null=True)),
            ],
            options={"db_table": "runs_storerules"},
        ),
    ]

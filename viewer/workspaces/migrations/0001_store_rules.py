"""The rules typed for stores come from the app of runs, with their table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0010_receipts")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='StoreRules',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('store', models.CharField(max_length=200, unique=True)),
                        ('workspace', models.TextField(blank=True, default='')),
                        ('sections', models.JSONField(null=True)),
                    ],
                    options={
                        'db_table': 'runs_storerules',
                    },
                ),
            ]
        )
    ]

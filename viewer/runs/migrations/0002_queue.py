from django.db import migrations, models
from django.db.models import F

# Until this version tasks of django-tasks-db were the queue.
FORGOTTEN = [
    "DROP TABLE IF EXISTS django_tasks_database_dbtaskresult",
    "DELETE FROM django_migrations WHERE app = 'django_tasks_database'",
]


def queue(apps, schema_editor):
    waiting = apps.get_model("runs", "Run").objects.filter(holder="", status__in=("queued", "waiting"))
    waiting.update(queued_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]
    replaces = [("runs", "0013_queue")]  # versions from before 0.1.0 know it by this name

    operations = [
        migrations.AddField("run", "queued_at", models.DateTimeField(null=True)),
        migrations.AddIndex("run", models.Index(fields=["store", "queued_at"], name="queue_of_a_store")),
        migrations.RunPython(queue, migrations.RunPython.noop),
        migrations.RemoveField("run", "task_id"),
        migrations.RunSQL(FORGOTTEN, migrations.RunSQL.noop),
    ]

from django.db import migrations


def count_anew(apps, schema_editor):
    """What a message counts has changed (reasoning, ids): the worker counts every line once more."""
    apps.get_model("catalog", "Line").objects.update(due=True)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_words")]

    operations = [migrations.RunPython(count_anew, migrations.RunPython.noop)]

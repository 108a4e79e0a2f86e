"""The strategy that shortens old tool output has the name that the field gives it."""

from django.db import migrations


def renamed(old: str, new: str):
    def rename(apps, schema_editor):
        apps.get_model("runs", "Run").objects.filter(strategy=old).update(strategy=new)

    return rename


class Migration(migrations.Migration):
    dependencies = [("runs", "0008_encrypted_keys")]
    operations = [migrations.RunPython(renamed("mask", "prune"), renamed("prune", "mask"))]

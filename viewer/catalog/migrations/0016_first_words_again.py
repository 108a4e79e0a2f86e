from django.db import migrations


def note_again(apps, schema_editor):
    """A first request that stands for a title is kept without what a client put around it: workers note it anew."""
    apps.get_model("catalog", "SessionIndex").objects.filter(title="").update(mark="")
    apps.get_model("catalog", "StoreState").objects.update(signature="", checked="")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0015_texts_that_failed")]

    operations = [migrations.RunPython(note_again, migrations.RunPython.noop)]

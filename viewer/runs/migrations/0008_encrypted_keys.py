from django.db import migrations, models


def zero_what_is_freed(apps, schema_editor):
    """A file of SQLite's keeps what was deleted until its place is needed: keys in clear text are not to stay there."""
    if schema_editor.connection.vendor == 'sqlite':
        with schema_editor.connection.cursor() as cursor:
            cursor.execute('PRAGMA secure_delete = ON')


def encrypt(apps, schema_editor):
    from viewer.runs.summarizers import keys  # with the engine, which no other command is to load for this

    for row in apps.get_model('runs', 'Connection').objects.all():
        row.api_key = keys.renewed(row.api_key)
        row.save(update_fields=['api_key'])


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0007_long_ids'),
    ]

    operations = [
        migrations.RunPython(zero_what_is_freed, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='connection',
            name='api_key',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.RunPython(encrypt, migrations.RunPython.noop),
    ]

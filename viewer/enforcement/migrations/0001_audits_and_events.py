"""Audits and events come from the app of runs, with their tables."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0010_receipts")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Audit',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('store', models.CharField(max_length=200)),
                        ('session_id', models.TextField()),
                        ('handoff_id', models.BigIntegerField()),
                        ('run', models.BigIntegerField(null=True)),
                        ('model', models.TextField(blank=True, default='')),
                        ('compacted_at', models.FloatField()),
                        ('armed_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('after', models.BigIntegerField()),
                        ('seen_to', models.BigIntegerField(default=0)),
                        ('workspace', models.TextField(blank=True, default='')),
                        ('source', models.TextField(blank=True, default='')),
                        ('required', models.JSONField(default=list)),
                        ('findings', models.JSONField(default=list)),
                        ('status', models.CharField(choices=[('not_yet', 'not_yet'), ('missing', 'missing'), ('passed', 'passed'), ('nothing_required', 'nothing_required'), ('undone', 'undone'), ('superseded', 'superseded')], default='not_yet', max_length=20)),
                        ('settled', models.BooleanField(default=False)),
                        ('turns', models.PositiveSmallIntegerField(default=0)),
                        ('late', models.BooleanField(default=False)),
                        ('reason', models.TextField(blank=True, default='')),
                        ('audited_at', models.DateTimeField(null=True)),
                    ],
                    options={
                        'db_table': 'runs_audit',
                        'constraints': [models.UniqueConstraint(fields=('store', 'session_id', 'handoff_id'), name='one_audit_a_compaction')],
                    },
                ),
                migrations.CreateModel(
                    name='Event',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('store', models.CharField(max_length=200)),
                        ('session_id', models.TextField()),
                        ('kind', models.CharField(choices=[('note', 'note'), ('warning', 'warning')], max_length=20)),
                        ('status', models.CharField(choices=[('pending', 'pending'), ('delivered', 'delivered'), ('expired', 'expired')], default='pending', max_length=20)),
                        ('sections', models.JSONField(default=list)),
                        ('named', models.JSONField(default=list)),
                        ('missing', models.JSONField(default=list)),
                        ('files', models.JSONField(default=list)),
                        ('text', models.TextField(blank=True, default='')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('delivered_at', models.DateTimeField(null=True)),
                        ('audit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='enforcement.audit')),
                    ],
                    options={
                        'db_table': 'runs_event',
                        'indexes': [models.Index(fields=['store', 'session_id', '-id'], name='events_of_a_session')],
                        'constraints': [models.UniqueConstraint(fields=('audit', 'kind'), name='one_event_of_a_kind')],
                    },
                ),
            ]
        )
    ]

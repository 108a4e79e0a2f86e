"""The command line: `manage.py COMMAND` in a checkout, `palimpsest COMMAND` where it is installed, and
`python -m viewer COMMAND`, by which one process of the site starts another.
"""

from __future__ import annotations

import json
import os
import sys


def installed() -> None:
    """The console script `palimpsest`: without a command it starts the site."""
    if len(sys.argv) == 1:
        sys.argv.append("up")
    main()


def main() -> None:
    """Run one command; those that agents call start without Django. A wrong setting, or an own database that cannot be
    used now, ends a management command with one line and exit code 1, not a traceback.
    """
    if sys.argv[1:2] == ["hook"]:
        from integrations import door

        sys.exit(door.run(sys.argv[2:]))
    if sys.argv[1:2] == ["compact-messages"]:
        sys.exit(_compact_messages())
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import Error

    os.umask(0o077)  # of what is made here and by child processes; files of the agents keep their own modes
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        sys.exit(str(problem))
    except Error as problem:
        from viewer.web import own_database  # with Django set up: the database was asked

        if (refusal := own_database.refusal(problem)) is not None:
            sys.exit(refusal.message)
        if own_database.is_too_old():
            sys.exit(own_database.TOO_OLD)
        if not own_database.is_behind():
            raise
        sys.exit(own_database.BEHIND)


def _compact_messages() -> int:
    """The engine: one JSON object on standard input, the answer on standard output (`compaction.programs`)."""
    from compaction import programs

    try:
        given = json.load(sys.stdin)
        answer = programs.answer({"messages": given} if isinstance(given, list) else dict(given))
    except (TypeError, ValueError, RecursionError) as problem:
        answer = {"error": {"code": "not_json", "message": f"Standard input is no JSON object: {problem}"}}
    json.dump(answer, sys.stdout)
    print()
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    main()

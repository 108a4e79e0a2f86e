"""What the databases of stores raise, before it becomes one of `errors`: apart from those, because it imports the
library for PostgreSQL.
"""

from __future__ import annotations

import sqlite3

import psycopg

DATABASE_ERRORS = (sqlite3.Error, psycopg.Error)

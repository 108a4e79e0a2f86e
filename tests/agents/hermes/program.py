"""Another program that uses a store: `python program.py DO ...`. It knows SQLite, and nothing of this site.

hold PATH TABLE KEY SECONDS STAMPED   take a lock or lease in the agent's form, say so, then do nothing
append PATH SEED SESSION...           append messages, one transaction each, naming each once it is written
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time


def hold(path: str, table: str, key: str, seconds: str, stamped: str) -> None:
    stamp = f":pidns={os.stat('/proc/self/ns/pid').st_ino}" if stamped == "yes" else ""
    con = sqlite3.connect(path, timeout=60, isolation_level=None)
    now = time.time()
    holder = f"pid={os.getpid()}{stamp}:tid=1:agent=hermes:nonce=00000000"
    con.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", (key, holder, now, now + float(seconds)))
    con.close()
    print("held", flush=True)
    time.sleep(600)


def append(path: str, seed: str, *sessions: str) -> None:
    choose = random.Random(int(seed))
    con = sqlite3.connect(path, timeout=60, isolation_level=None)
    for number in range(100_000):
        session_id, said = choose.choice(sessions), f"writer {seed} says {number}"
        con.execute("BEGIN IMMEDIATE")
        con.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
            (session_id, said, time.time()),
        )
        con.execute("COMMIT")
        print(f"{session_id}\t{said}", flush=True)
        time.sleep(choose.uniform(0.005, 0.04))


def rewrite(path: str) -> None:
    con = sqlite3.connect(path, timeout=60, isolation_level=None)
    con.execute("PRAGMA cache_size = 5")  # pages, so that the others go to the file
    con.execute("BEGIN IMMEDIATE")
    con.execute("UPDATE messages SET content = content || '!'")
    print("half", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(*sys.argv[2:])
    elif sys.argv[1] == "rewrite":
        rewrite(*sys.argv[2:])
    else:
        append(*sys.argv[2:])

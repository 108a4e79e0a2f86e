"""A session far above its threshold: almost 120,000 tokens of stocktaking, aisle by aisle, and no compaction yet.

Scans, ledger and reports are consistent: the differences in an aisle's report are those between its two lists.
"""

import json
import random

from viewer.demo.prompts import PROMPTS
from viewer.demo.script import Clock, Script, ScriptedCall

PLACES = (
    "Ghent North", "Ghent Harbour", "Aalst", "Kortrijk", "Mechelen", "Leuven", "Hasselt", "Genk", "Ostend", "Bruges",
)  # fmt: skip
AISLES = 7
BINS = 28
GOODS = (
    "oak shelf 80 cm", "oak shelf 120 cm", "steel bracket", "reading lamp, brass", "reading lamp, black",
    "desk mat, felt", "paper A4 cream", "paper A5 white", "envelope C6", "ink, blue-black", "ink, sepia", "pencil 2B",
    "pencil HB", "eraser", "bookend, slate", "bookend, oak", "globe 30 cm", "magnifier", "notebook, ruled",
    "notebook, blank", "map of Flanders", "tote bag", "gift box S", "gift box L", "ribbon, red", "wax, green",
    "stool, beech", "ladder, 3 steps", "clock, station",
)  # fmt: skip
REMARKS = (
    "The forklift waited twice in this aisle; the clerk counted the upper bins from the ladder.",
    "Two labels had fallen off and were matched by weight.",
    "A pallet stood in front of bins 11 to 14, so these were counted last.",
    "The scanner lost its connection for a minute; the bins after that were scanned twice and agree.",
    "One box was open, its content was counted piece by piece.",
    "The clerk notes that the light above the last bins is broken.",
    "Goods of a customer's return were still on the floor; they are not in the count.",
    "All seals were intact.",
)
DIFFERENCES = (-14, -12, -6, -3, -2, -1, 1, 2, 5, 11)
CAUSES = (
    "picked, not booked",
    "booked twice",
    "wrong bin",
    "damaged and thrown away",
    "counting error in spring",
    "unknown",
)


def session() -> Script:
    """The session "Stocktaking, ten warehouses"."""
    columns = {"source": "webui", "model": "gpt-4o", "user_id": "noor"}
    script = Script("Stocktaking, ten warehouses", Clock(ago=22 * 60), PROMPTS["desk"], columns)
    dice = random.Random(1971)
    script.user(
        "We count all ten warehouses this week. For each aisle: read the scan, read the ledger, read the clerk's note,"
        " and tell me only the differences with the likely cause. Rule: a difference of 10 pieces or more is counted"
        " again before anything is booked. Start with Ghent North."
    )
    script.assistant(
        "Understood: per aisle the differences, a likely cause, and a recount from 10 pieces on. I book nothing."
    )
    for warehouse in PLACES:
        for aisle in range(1, AISLES + 1):
            script.user(f"{warehouse}, aisle {aisle}, please." if aisle > 1 else f"Now {warehouse}. Aisle 1.")
            _aisle(script, dice, warehouse, aisle)
    script.user("That was the last one. Tomorrow I need one list of everything that has to be counted again.")
    return script


def _aisle(script: Script, dice: random.Random, warehouse: str, aisle: int) -> None:
    ledger = {f"{aisle}-{number:02d}": (dice.choice(GOODS), dice.randint(20, 240)) for number in range(1, BINS + 1)}
    off = {name: dice.choice(DIFFERENCES) for name in sorted(dice.sample(sorted(ledger), dice.randint(2, 5)))}
    scan = [
        {"bin": name, "article": goods, "pieces": pieces + off.get(name, 0), "scanner": f"S{dice.randint(1, 4)}"}
        for name, (goods, pieces) in ledger.items()
    ]
    booked = [
        f"{name};{goods};{pieces};2026-{dice.randint(6, 10):02d}-{dice.randint(1, 28):02d}"
        for name, (goods, pieces) in ledger.items()
    ]
    where, remark = {"warehouse": warehouse, "aisle": aisle}, dice.choice(REMARKS)
    calls = [
        ScriptedCall("read_scan", where, json.dumps({**where, "bins": scan})),
        ScriptedCall("read_ledger", where, "\n".join(["bin;article;pieces;last booking", *booked])),
        ScriptedCall("read_note", where, remark),
    ]
    script.assistant(None, calls, reasoning=f"Three independent reads for aisle {aisle}; then compare bin by bin.")
    lines = [
        f"| {name} | {ledger[name][0]} | {ledger[name][1]} | {ledger[name][1] + by} | {by:+d} | {dice.choice(CAUSES)} |"
        for name, by in off.items()
    ]
    again = [name for name, by in off.items() if abs(by) >= 10]
    script.assistant(_report(f"{warehouse}, aisle {aisle}", lines, again, remark))


def _report(where: str, lines: list[str], again: list[str], remark: str) -> str:
    head = ["| bin | article | ledger | scan | difference | likely cause |", "|---|---|---:|---:|---:|---|"]
    table = "\n".join(head + lines)
    recount = f"**Count again:** bins {', '.join(again)}." if again else "Nothing has to be counted again."
    return f"### {where}\n\n{BINS - len(lines)} of {BINS} bins agree.\n\n{table}\n\n{recount} {remark}"

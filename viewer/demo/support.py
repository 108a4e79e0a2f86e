"""A session of 3,000 messages: the support desk of the bookshop, ticket after ticket in one thread.

Its provider counts tool calls from 0 in every message, so that ids repeat, as they do in real databases.
"""

import json
import random

from viewer.demo.prompts import PROMPTS
from viewer.demo.script import Clock, Script, ScriptedCall

MESSAGES = 3000
_NAMES = (
    "Amina", "Bram", "Chiara", "Daan", "Elif", "Fons", "Greet", "Hugo", "Ines", "Jasper", "Katrien", "Lior", "Maud",
)  # fmt: skip
_BOOKS = (
    "The Salt Path Cookbook", "A Field Guide to Clouds", "Forty Bridges", "The Quiet Engine", "Letters from Ostend",
    "How Mosses Live", "The Night Ferry", "A Short History of Doors", "Bread, Slowly", "The Cartographer's Cat",
    "Winter Swimming", "One Hundred Knots", "The Lighthouse Index", "Rain in Other Words", "Small Boats",
)  # fmt: skip
_ASKED = {
    "late": (
        "My order {order} should have been here on Monday. Where is it?",
        "Still no sign of {book} (order {order}).",
    ),
    "damaged": (
        "{book} arrived with a broken spine, order {order}. What now?",
        "Order {order}: the cover of {book} is torn.",
    ),
    "wrong": (
        "I ordered {book} and got something about tax law. Order {order}.",
        "Wrong book in parcel {order}, I wanted {book}.",
    ),
    "address": (
        "Can order {order} go to my neighbour at number {number} instead?",
        "Please send {order} to house number {number}.",
    ),
    "gift": ("Could you wrap {book} (order {order}) and leave out the bill?", "{order} is a gift, may I add a card?"),
    "return": (
        "I have {book} twice now. May I return one? Order {order}.",
        "How do I send {order} back, and who pays?",
    ),
}
_ANSWERED = {
    "late": "Hello {name}, parcel **{order}** has been in the depot in {town} since {day}; it is on the van today."
    " If it is not with you by six, we send *{book}* again at no cost.",
    "damaged": "Hello {name}, I am sorry about *{book}*. A new copy leaves today; keep the damaged one or give it to a"
    " friend. No photo needed.",
    "wrong": "Hello {name}, tax law instead of *{book}*: our mistake. The right one is on its way, and a return label"
    " for the other is in your mail.",
    "address": "Hello {name}, order **{order}** now goes to number {number}. The label was not printed yet, so nothing"
    " else changes.",
    "gift": "Hello {name}, with pleasure: wrapped in blue paper, no bill, and a card. What shall we write on it?",
    "return": "Hello {name}, of course. Put *{book}* into any parcel box with the label I just sent; you get the money"
    " back two days after it arrives. We pay.",
}
_THANKS = ("Thank you!", "That was quick.", "Perfect, thanks.", "Super, merci!", "Great. Have a good weekend.", "👍")
_TOWNS = ("Ghent", "Aalst", "Leuven", "Bruges", "Mechelen")
_DAYS = ("Monday", "Tuesday", "yesterday evening", "this morning")


def session() -> Script:
    """The session "Support desk, the long thread"."""
    columns = {"source": "webui", "model": "gpt-5.5", "chat_id": "support", "chat_type": "channel"}
    script = Script("Support desk, the long thread", Clock(ago=6 * 60), PROMPTS["desk"], columns, repeats_ids=True)
    dice = random.Random(3000)
    script.user("You answer our customers here, ticket after ticket. Look the order up first, be kind and short.")
    script.assistant("I will: first the order, then the answer, three sentences at most.")
    while len(script.rows) < MESSAGES - 5:
        _ticket(script, dice)
    while len(script.rows) < MESSAGES:
        script.add("user" if script.rows[-1]["role"] == "assistant" else "assistant", dice.choice(_THANKS))
    return script


def _ticket(script: Script, dice: random.Random) -> None:
    kind = dice.choice(list(_ASKED))
    words = {
        "name": dice.choice(_NAMES),
        "book": dice.choice(_BOOKS),
        "order": f"B-{dice.randint(10_000, 99_999)}",
        "number": dice.randint(2, 140),
        "town": dice.choice(_TOWNS),
        "day": dice.choice(_DAYS),
    }
    script.user(dice.choice(_ASKED[kind]).format(**words) + f" Best, {words['name']}")
    order = {"order": words["order"]}
    order_details = order | {"title": words["book"], "state": dice.choice(("packed", "sent", "delivered"))}
    calls = [ScriptedCall("find_order", order, json.dumps(order_details))]
    if kind == "late":
        calls.append(ScriptedCall("track_parcel", order, json.dumps({"depot": words["town"], "since": words["day"]})))
    script.assistant(None, calls)
    script.assistant(_ANSWERED[kind].format(**words))
    if dice.random() < 0.5:
        script.user(dice.choice(_THANKS))
        script.assistant(dice.choice(("You're welcome.", "With pleasure!", "Enjoy the book.", "Always.")))

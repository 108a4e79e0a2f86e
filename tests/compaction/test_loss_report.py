"""The loss report against the truth, which is found here by plain search of the text and not by the code under test."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings

import compaction
from compaction import Message, Policy, SummaryRequest, offline, sentences
from compaction.loss.records import SERIOUS, commands_of
from compaction.loss.report import loss_report, survival_of
from tests.compaction.transcripts import (
    SMALL,
    call,
    count,
    exchange,
    handoff,
    reply,
    result,
    stored,
    system,
    transcripts,
    user,
)
from tests.slow import slow
from viewer.demo import stocktaking, support


def _everything(messages: list[Message]) -> str:
    """All text of messages, as it is stored."""
    return "\n".join(f"{row.get('content')}\n{json.dumps(row.get('tool_calls', ''))}" for row in messages)


def _compacted(messages: list[Message], summary: str = "") -> compaction.Result:
    """Compacted with this summary, or with the one made without a model."""
    plan = compaction.plan(messages, Policy(context_window=128_000), count)
    return compaction.apply(plan, summary or compaction.summarize(plan, offline.summarize))


@pytest.fixture(scope="module")
def warehouses() -> compaction.Result:
    messages = [stored(row) for row in stocktaking.session().rows]
    return _compacted(messages, "Ghent North and Ghent Harbour were counted; bins 1-02 and 4-02 of Ghent North differ.")


@pytest.mark.parametrize("every", [3, *slow(1_000_000)])
def test_order_numbers_that_leave_the_context_are_counted_as_lost(every: int) -> None:
    """Customers name them, and the summary keeps one in three, or none at all."""
    messages = [stored(row) for row in support.session().rows]
    named = list(dict.fromkeys(re.findall(r"B-\d{5}", _everything(messages))))[every - 1 :: every]
    done = _compacted(messages, f"Orders dealt with: {', '.join(named) or 'many'}.")
    gone = _everything([done.plan.messages[i] for i in done.report.summarised])
    left = _everything(done.messages)
    orders = set(re.findall(r"B-\d{5}", gone))
    lost = {order for order in orders if order not in left}
    assert len(orders) > 400 and len(lost) > 250
    survival = loss_report(done)
    assert {one.text for one in survival.lost if re.fullmatch(r"B-\d{5}", one.text)} == lost
    survived, total = survival.by_kind["id"]
    assert (total, total - survived) == (len(orders), len(lost)), "no other ids are in this session"


def test_a_finding_is_lost_although_its_bin_stands_in_another_warehouse(warehouses: compaction.Result) -> None:
    gone = [warehouses.plan.messages[i] for i in (*warehouses.report.summarised, *warehouses.report.shortened)]
    left = " ".join(_everything(warehouses.messages).split())
    findings = [
        (re.search(r"### (.*)", text)[1], found[0])  # type: ignore[index]
        for text in (str(row["content"]) for row in gone if row["role"] == "assistant" and row["content"])
        if (found := re.search(r"\*\*Count again:\*\* bins [^.]*\.", text))
    ]
    lost = {
        (place, words)
        for place, words in findings
        if not re.search(rf"{re.escape(place)}\b[^#]*?{re.escape(words)}", left)
    }
    assert len(findings) > 35 and len(lost) > 20
    survival = loss_report(warehouses)
    told = [
        (re.search(r"### (.*)", str(warehouses.plan.messages[one.message]["content"]))[1], one.text)  # type: ignore[index]
        for one in survival.lost_statements
        if one.text.startswith("**Count again:**")
    ]
    assert len(told) == len(set(told)) and set(told) == lost


# --- details, and what they belong to ---------------------------------------------------------------------------------
TABLE = "## {}\n\n| bin | pieces |\n|---|---|\n| 4-02 | 17 |\n"


@pytest.mark.parametrize(
    ("said", "left", "lost"),
    [
        (["See /srv/app/main.py.", "Edit /srv/app/main.py now."], "File: /srv/app/main.py", []),
        (["We meet on 4 December."], "meeting: 4 December", []),
        (["La facture est de 1 284,50 €."], "1 facture", ["1 284,50 €"]),
        (["Die Rechnung ist 1.249,00 €."], "invoice: EUR 1,249.00", []),
        (["Верните 45 000 ₽."], "45 pieces", ["45 000 ₽"]),
        (["The lease is 30 days."], "30 files changed", ["30 days"]),
        (["The lease is 30 days."], "lease 30 d", []),
        (["The lease is 30 days."], "lease: 30", []),
        (["It costs $5M."], "cost: $5", ["$5M"]),
        (["It costs $5M."], "cost: $5M", []),
        (["Edit /srv/app/main.py."], "See /srv/app/main.py.bak", ["/srv/app/main.py"]),
        (["Edit /srv/app/main.py."], "Edited /srv/app/main.py.", []),
        (["Ask db1.example.com."], "db1.example.com.au answers", ["db1.example.com"]),
        (["Call `load_row` now."], "`load_row_all` was called", ["load_row"]),
        (["Call +49 30 1234567."], "+49301234567", []),
        (["Pay DE89 3704 0044 0532 0130 00."], "paid DE89370400440532013000", []),
        (["我叫李伟，住在上海。"], "他在上海工作", ["李伟"]),
        (["30 days", "30 files"], "30 files", ["30 days"]),
        (["Ask Priya Raman about 1,246 rows."], "priya raman: 1246 rows", []),
        (["订单 B-30551 在上海。"], "上海: B-30551", []),
        (["담당자는 김민준입니다."], "김민준에게 보냄", []),
        (["담당자는 김민준입니다."], "담당자에게 보냄", ["김민준"]),
        (["田中太郎が承認しました。"], "田中太郎: 承認済み", []),
        (["田中太郎が承認しました。"], "田中花子: 承認済み", ["田中太郎"]),
        # A date is a date, however it is written; without a year it is that of any year.
        (["Ship on 1 December."], "ships 2026-12-01", []),
        (["Ship on 2026-12-01."], "ships 1 December", []),
        (["Ship on 2026-12-01."], "ships Dec 1, 2026", []),
        (["Ship on 2026-12-01."], "ships Dec. 1st", []),
        (["Lieferung am 1. Dezember 2026."], "delivery: December 1, 2026", []),
        (["Entrega el 1 de diciembre de 2026."], "delivery: 2026-12-01", []),
        (["Livraison le 1er décembre."], "delivery: 2026-12-01", []),
        (["Доставка 1 декабря 2026."], "delivery: 01.12.2026", []),
        (["2026年12月1日に届きます。"], "delivery: 1 Dec 2026", []),
        (["2026년 12월 1일에 도착합니다."], "delivery: 2026-12-01", []),
        (["Ship on 13/12/2026."], "ships 2026-12-13", []),
        (["Ship on 12/13/2026."], "ships 2026-12-13", []),
        (["Ship on 2026-12-01."], "ships 2026-12-01 10:30", []),
        (["Log of 2026-12-01T10:30:00."], "log of 1 December 2026", ["2026-12-01T10:30:00"]),
        (["Log of 2026-12-01T10:30:00."], "log of 2026-12-01 10:30:00", []),
        (["Ship on 1 December 2026."], "ships 2025-12-01", ["1 December 2026"]),
        (["Ship on 1 December."], "ships 2026-12-11", ["1 December"]),
        (["Ship on 1 December."], "ships in December 2026", ["1 December"]),
        (["Ship on 1 December.", "It is 2026-12-01."], "nothing", ["1 December", "2026-12-01"]),
        (["Bin 12-01 is full."], "full on 1 December", ["12-01"]),
        # So is an amount, in the same unit.
        (["It costs $12.40."], "cost: $12.4", []),
        (["It costs 12,40 €."], "cost: EUR 12.4", []),
        (["It costs $12.40."], '{"cost": 12.4}', []),
        (["It costs $12.40."], "cost: 12.4 €", ["$12.40"]),
        (["It costs $12.40."], "cost: $12.04", ["$12.40"]),
        (["It costs $1,200."], "cost: 1200 USD", []),
        (["Es kostet 1.200 €."], "cost: EUR 1,200", []),
        (["Use Python 3.10 here."], "Python 3.1", ["3.10"]),
        (["Go 3.10 km north."], "3.1 km", []),
    ],
)
def test_a_detail_is_kept_however_it_is_spelled(said: list[str], left: str, lost: list[str]) -> None:
    found = survival_of([reply(words) for words in said], None, [handoff(left)])
    assert sorted(one.text for one in found.lost if one.text not in ("Ghent North", "Genk South")) == sorted(lost)


@pytest.mark.parametrize(
    ("said", "left", "kept"),
    [
        ("Bin 4-02 holds 17 pieces.", "4-02: 17 pieces in the bin", True),
        ("Bin 4-02 holds 17 pieces.", "bin 4-02\n17 pieces", False),
        ("Count bins 4-02 and 4-07 again.", "counted again: bins 4-02, 4-03, 4-07", True),
        ("Count bins 4-02 and 4-07 again.", '{"a": "4-02", "b": "4-07", "state": "in order"}', False),
        ("## Ghent North\n\nCount bin 4-02 again.", "Count bin 4-02 again.", False),
        ("## Ghent North\n\nCount bin 4-02 again.", "Ghent North: count bin 4-02 again", True),
        ("The proxy listens on port 8080.", "proxy: port 8080", True),
        ("The proxy listens on port 8080.", "8081 is the port of the proxy", False),
        ("The timeout is 30 seconds.", "timeout 30s", True),
        ("The timeout is 30 seconds.", "timeout: 30", True),
        ("The timeout is 30 seconds.", "30 files changed", False),
        ("We set the limit to 30.", "30 files", False),
        ("We set the limit to 30.", "limit 30", True),
        ("Bay 17 | 4", "4 calls", False),
        ("Заказ № 20918 едет в Казань.", "Казань", False),
        ("B-10002 costs $40.", "B-10001 costs $40.\nAlso B-10002.", False),
        ("B-10002 costs $40.", "B-10001 ($40), B-10002 costs the same", True),
        # Prose without any name or number: most of its words in one sentence.
        (
            "The cache is not cleared on logout.",
            "Cause: the cache is not cleared when somebody logs out (logout)",
            True,
        ),
        ("The cache is not cleared on logout.", "The cache was looked at. The logout works.", False),
        ("The getters are cheap reads.", "Getters: cheap", True),
    ],
)
def test_a_statement_is_kept_where_its_details_stand_together(said: str, left: str, kept: bool) -> None:
    found = survival_of([reply(said)], None, [handoff(left)])
    text = said.split("\n")[-1]
    assert (text not in [one.text for one in found.lost_statements]) is kept


@pytest.mark.parametrize(
    "line",
    [
        "Thank you, Sofia!",
        "Thanks so much for your patience, Omar Rossi.",
        "Hello Priya Raman,",
        "Have a great trip to Seattle!",
        "Vielen Dank, Frau Okafor!",
        "Merci beaucoup, Mme Durand.",
        "김민준 고객님, 감사합니다.",
        "田中様、ありがとうございます。",
    ],
)
def test_a_courtesy_is_no_statement(line: str) -> None:
    found = survival_of([reply(line)], None, [handoff("nothing")])
    assert found.total == 1 and found.statements == (0, 0), "its name is a detail still"


@pytest.mark.parametrize(
    "line",
    [
        "Thank you, B-20918 arrived.",
        "Thank you for asking Priya Raman.",
        "Thanks, let's go with Porto.",
        "Hi, I am Priya Raman.",
        "Good, ask Sofia Kim.",
    ],
)
def test_a_polite_line_that_says_something_is_one(line: str) -> None:
    assert survival_of([user(line)], None, [handoff("nothing")]).statements == (0, 1)


def test_a_statement_is_kept_for_the_place_it_speaks_of_alone() -> None:
    said = [reply(TABLE.format(place)) for place in ("Ghent North", "Genk South")]
    for left, lost in [
        ("Ghent North: bin 4-02 has 17.", [1]),
        (TABLE.format("Genk South"), [0]),
        ("bins: 4-02", [0, 1]),
    ]:
        found = survival_of(said, None, [handoff(left)])
        assert sorted(one.message for one in found.lost_statements) == lost


SAID: list[tuple[Message, str]] = [
    (user("Never push to main without my yes."), "instruction"),
    (user("We decided to ship without the new undo."), "decision"),
    (reply("We keep the old parser until the next release."), "decision"),
    (user("Wir nehmen stattdessen den Zug."), "decision"),
    (reply("The session is lost because the cache is cleared on logout."), "cause"),
    (reply("It turned out that the plugin is loaded twice."), "cause"),
    (reply("Die Tests scheitern, weil der Server fehlt."), "cause"),
    (reply("The layout does not render flash messages."), "cause"),
    (reply("Still open: write the migration guide."), "open task"),
    (reply("The changelog has to be translated."), "open task"),
    (reply("Es fehlt noch die Kündigung."), "open task"),
    (user("I prefer short answers."), "preference"),
    (user("Mornings are better for me."), "preference"),
    (user("Ich fahre lieber mit dem Zug."), "preference"),
    (user("I was out of town."), "circumstance"),
    (user("I lost my phone yesterday."), "circumstance"),
    (user("My mother hears badly."), "circumstance"),
    (user("Fix the login bug"), "request"),
    (user("Can you look at the gas bill?"), "request"),
    (user("因为缓存没有清空，会话丢失了。"), "cause"),
]


@pytest.mark.parametrize(("row", "category"), SAID, ids=[str(row["content"]) for row, _ in SAID])
def test_prose_without_a_detail_is_lost_with_what_it_is(row: Message, category: str) -> None:
    found = survival_of([row], None, [handoff("The work went on.")])
    assert [(one.text, one.category) for one in found.lost_statements] == [(row["content"], category)]
    assert survival_of([row], None, [handoff(f"Then: {row['content']}")]).statements == (1, 1)


def test_what_matters_most_comes_first() -> None:
    said = [row for row, _ in SAID]
    found = survival_of([reply("The order is B-20918."), *reversed(said)], None, [handoff("nothing")])
    needed = [one for one in found.lost_statements if one.matters in SERIOUS]  # instructions, the request
    assert needed == list(found.lost_statements[: len(needed)])
    order = [one.category for one in found.lost_statements[len(needed) :]]
    assert order == [*sorted(order[:-1], key=[category for _, category in SAID].index), ""]
    assert [one.source for one in found.lost_statements if one.category == "decision"] == ["person", "person", "agent"]


def test_what_says_the_same_again_comes_behind_the_others_of_its_category() -> None:
    why = ["dust", "rain", "rain"]
    said = [reply(f"## Ghent {n}\n\nThe light is broken because of {each}.") for n, each in enumerate(why)]
    found = survival_of([*said, reply("Everybody waits for the lamp which was ordered.")], None, [handoff("nothing")])
    assert [one.message for one in found.lost_statements] == [2, 0, 1, 3]


@pytest.mark.parametrize(
    "line",
    [
        "Let me look at the callers next.",
        "Now I'll write the complete file with all changes at once.",
        "Good! Now let me update the tests and the configuration:",
        "Would you like me to book the window seat?",
        "If there's anything else you need assistance with, feel free to let me know!",
        "#### 1. The second part of the work",
        "**Everything about the second part**",
        "- Price:",
        "```\nthe cache is cleared because of the logout\n```",
    ],
)
def test_what_an_agent_announces_offers_or_asks_is_no_statement(line: str) -> None:
    assert survival_of([reply(line)], None, [handoff("nothing")]).statements == (0, 0)


def test_rows_of_the_user_role_that_a_program_wrote_are_no_ones_words() -> None:
    row = user(
        "<task-notification>\n<summary>The build failed because of a missing file.</summary>\n</task-notification>"
    )
    found = survival_of([row], None, [handoff("nothing")])
    assert (found.statements, found.by_kind) == ((0, 0), {})


@pytest.mark.parametrize(
    "text",
    [
        "It says 17 of 42.",
        "It took 30 seconds.",
        "The call toolu_01Dp29Lm was made.",
        "The request req_011CQ4Hx was made.",
        "It is 3f2b8c1e-9d4a-4c6e-8f01-2a3b4c5d6e7f.",
        "Unlocks, levels and shops are new.",
        "The text is #8f8f99.",
        "The text is #FFA500.",
        "Colour #282832.",
        "The palette is #3B4252 #282832.",
        '{"color": "#333"}',
        "## Heading Foo",
        "#### 2. The Lower Ghent",
        "**Heading Foo**",
    ],
)
def test_a_detail_that_nobody_asks_for_by_itself_is_none(text: str) -> None:
    assert survival_of([reply(text)], None, [handoff("nothing")]).lost == ()


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("## The parser of `load_row`", ["load_row"]),
        ("## Order B-20918", ["B-20918"]),
        ("Order #282832 is open.", ["#282832"]),
        ("Issue #333 is about the colour.", ["#333"]),
        ("Order #B17420 is open.", ["B17420"]),
    ],
)
def test_an_exact_name_in_a_heading_and_a_number_behind_its_sign_are_details(line: str, lost: list[str]) -> None:
    assert [one.text for one in survival_of([reply(line)], None, [handoff("nothing")]).lost] == lost


def test_a_colour_that_a_tool_printed_is_no_id() -> None:
    found = survival_of([result("a", "color: #FFA500; fill: #282832 B-20918")], None, [handoff("nothing")])
    assert found.printed == {"id": (0, 1)}


@pytest.mark.parametrize("line", ["3ms 18ms", "1.", "1. 2m 30s", "42", "req_011CQ4Hx 18ms", "#8f8f99 #8f8f98"])
def test_numbers_and_ids_of_programs_alone_are_no_statement(line: str) -> None:
    for row in (user(line), reply(line)):
        assert survival_of([row], None, [handoff("nothing")]).statements == (0, 0)
    for said in (f"Timeout {line}", "17 files", "$1,200", "是 42"):
        assert survival_of([user(said)], None, [handoff("nothing")]).statements == (0, 1)


@pytest.mark.parametrize("box", ["[open] ", "[answered] ", "[taken back] ", "[ ] ", "[x] "])
def test_the_box_before_a_line_of_an_earlier_summary_is_no_part_of_it(box: str) -> None:
    earlier = [(0, f"## Intent\n- {box}Mend the door because of the rain.")]
    found = survival_of([], None, [handoff("nothing")], earlier)
    assert [one.text for one in found.lost_statements] == ["- Mend the door because of the rain."]
    for left in (earlier[0][1], "Mend the door because of the rain."):
        assert survival_of([], None, [handoff(left)], earlier).statements == (1, 1)


def test_code_that_somebody_pastes_is_no_statement() -> None:
    code = "if (cache) { return rows; } else { load(rows); }"
    assert survival_of([user(code)], None, [handoff("nothing")]).statements == (0, 0)


def test_a_row_of_a_table_has_no_category() -> None:
    row = reply("| bin | why |\n|---|---|\n| 4-02 | wrong bin because of a mistake |")
    found = survival_of([row], None, [handoff("nothing")])
    assert [(one.text[:6], one.category) for one in found.lost_statements] == [("| 4-02", "")]


def test_how_an_earlier_summary_was_made_is_no_statement() -> None:
    lines = [
        "- This fallback was generated locally because no model answered.",
        "- The cache is broken because of a bug.",
    ]
    made = offline.summarize(SummaryRequest((user("Hi"), reply("Hello.")), count=count)).partition("\n")[0]
    found = survival_of([], None, [handoff("nothing")], [(0, "\n".join([made, "", *lines]))])
    assert [one.text for one in found.lost_statements] == lines[1:]


def test_a_credential_that_json_escapes_is_not_shown() -> None:
    ran = {**reply(""), "tool_calls": [call("c", "sh", '{"command": "login --password\\u003dhunter2pass1"}')]}
    found = survival_of([ran], None, [handoff("nothing")])
    assert found.lost and not any("hunter2pass1" in one.text for one in found.lost if one.kind == "command")


def test_what_a_call_writes_is_no_detail_of_the_call() -> None:
    arguments = json.dumps({"path": "/srv/app/notes.md", "content": "Ask Priya Raman about B-20918. " * 20})
    found = survival_of([{**reply(""), "tool_calls": [call("c", "write", arguments)]}], None, [handoff("nothing")])
    assert [one.text for one in found.lost] == ["/srv/app/notes.md"]


def test_a_kept_row_of_a_tool_stands_under_the_call_that_printed_it() -> None:
    def read(place: str) -> list[Message]:
        arguments = json.dumps({"warehouse": place})
        return [{**reply(""), "tool_calls": [call("c", "read_scan", arguments)]}, result("c", "4-02;oak;17")]

    said = reply("## Ghent North\n\n4-02: oak, 17 pieces.")
    other = reply("## Genk South\n\n4-02: oak, 17 pieces.")
    for place, lost in (("Ghent North", {"Genk South"}), ("Genk South", {"Ghent North"})):
        found = survival_of([said, other], None, read(place))
        assert {("Ghent North", "Genk South")[one.message] for one in found.lost_statements} == lost


def test_what_tools_merely_printed_is_counted_apart_and_last() -> None:
    rows = json.dumps([{"order": f"B-{n}", "state": "sent"} for n in range(10_000, 15_000)])
    messages = [
        user("Is B-10007 sent to Priya Raman?"),
        {**reply(""), "tool_calls": [call("a", "list", '{"state": "sent"}')]},
        result("a", rows),
        reply("Yes, B-10007 left on 4 December."),
    ]
    found = survival_of(messages, None, [handoff("One order was looked up.")])
    assert found.by_kind == {"id": (0, 1), "name": (0, 1), "date": (0, 1)}
    assert [one.source for one in found.lost] == ["person", "person", "agent"]
    assert found.printed["id"] == (0, 4_999) and found.statements == (0, 2)
    assert found.lost[0].line == "Is B-10007 sent to Priya Raman?"


def test_what_only_an_earlier_summary_says_is_not_said_by_the_agent() -> None:
    messages = [user("Is B-10007 sent?"), reply("B-10008 left on 4 December.")]
    found = survival_of(messages, None, [handoff("One order was looked up.")], [(0, "Order B-10009 was returned.")])
    by = {one.text: one.source for one in found.lost}
    assert (by["B-10007"], by["B-10008"], by["B-10009"]) == ("person", "agent", "summary")
    assert [one.source for one in found.lost_statements if "B-10009" in one.text] == ["summary"]


def test_a_short_command_does_not_stand_inside_a_word() -> None:
    calls = [{**reply(""), "tool_calls": [call(name, "sh", json.dumps({"command": name}))]} for name in ("ls", "make")]
    found = survival_of(calls, None, [handoff("The tools are there; make was run.")])
    assert found.by_kind["command"] == (1, 2)
    assert [one.text for one in found.lost] == ["ls"]


@pytest.mark.parametrize("sign", sentences._TROUBLE)
def test_an_error_that_a_tool_printed_is_found_also_where_its_words_were_printed_before(sign: str) -> None:
    outputs = [f"{sign} at disk {name}" for name in ("one", "two")]
    messages = [result(str(n), text) for n, text in enumerate((*outputs, "all is well", *outputs))]
    found = survival_of(messages, None, [handoff(outputs[0])])
    assert found.printed["error"] == (1, 2)
    assert [one.text for one in found.lost_printed if one.kind == "error"] == outputs[1:]


@settings(deadline=None)
@given(transcripts)
def test_what_stays_word_for_word_is_kept(messages: list[Message]) -> None:
    found = survival_of(messages, None, messages)
    assert (found.lost, found.lost_printed, found.lost_statements) == ((), (), ())


def test_commands_are_arguments_of_that_name() -> None:
    assert commands_of('{"command": "pytest -q tests", "cwd": "/srv"}') == ["pytest -q tests"]
    assert commands_of('{"path": "command"}') == commands_of("command: ls") == commands_of('["command"]') == []


def test_a_compaction_reports_what_survived_and_what_is_lost() -> None:
    messages = [system(), user("Fix /srv/old/app.py for ticket ABC-77."), *exchange(12), user("Go on."), reply("Yes.")]
    plan = compaction.plan(messages, Policy(context_window=4_000, protect_first_n=1), count)
    found = compaction.loss_report(compaction.apply(plan, "The ticket is ABC-77."))
    assert found.by_kind["path"] == (0, 1) and found.by_kind["id"] == (1, 1)
    lost = next(one for one in found.lost if one.kind == "path")
    assert (lost.kind, lost.text, lost.message) == ("path", "/srv/old/app.py", 1)
    assert (lost.source, lost.line) == ("person", "Fix /srv/old/app.py for ticket ABC-77.")


def test_what_only_an_earlier_summary_knew_counts_too() -> None:
    messages = [handoff("The port is localhost:8080, the file /srv/a/b.py."), *exchange(12)]
    plan = compaction.plan(messages, SMALL, count)
    survived = compaction.loss_report(compaction.apply(plan, "It listens on localhost:8080."))
    assert (survived.by_kind["id"], survived.by_kind["path"]) == ((1, 1), (0, 1))


def test_what_is_lost_names_no_credential() -> None:
    key = "abcdEFGH12345678ijkl"
    secret = [
        user("Never share password=hunter2pass1 with anyone."),
        {
            **reply(""),
            "tool_calls": [call("a", "sh", json.dumps({"command": f"curl -H 'Bearer {key}' https://x.org"}))],
        },
        result("a", f"Error: token={key} refused for https://bob:hunter2pass1@h.example/x/y"),
    ]
    messages = [system(), *exchange(1), *secret, *exchange(12, first=2), user("Go on."), reply("Yes.")]
    plan = compaction.plan(messages, Policy(context_window=4_000, protect_first_n=1), count)
    survival = compaction.loss_report(compaction.apply(plan, "Nothing of it."))
    lost = (*survival.lost, *survival.lost_printed, *survival.lost_statements)
    assert {anchor.kind for anchor in lost} >= {"statement", "command", "error", "url"}
    shown = [text for anchor in lost for text in (anchor.text, anchor.line)]
    assert not any(part in text for text in shown for part in (key, "hunter2pass1"))
    summary = compaction.summarize(plan, compaction.offline.summarize)
    kept = compaction.loss_report(compaction.apply(plan, summary))
    assert "instruction" not in {one.category for one in kept.lost_statements}, "it is quoted, without the password"


def test_what_a_client_says_in_the_place_of_a_person_is_nobodys_statement() -> None:
    notice = "Core rules: never use the other list, because the tracker has all of it in section 12."
    rows = [user(notice) | {"display_kind": "hook"}, reply("The door is shut because the key is lost.")]
    found = survival_of(rows, None, [])
    assert [each.text for each in found.lost_statements] == ["The door is shut because the key is lost."]

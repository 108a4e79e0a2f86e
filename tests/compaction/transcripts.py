"""Short ways to write transcripts, and hypothesis strategies for any transcript at all."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

import compaction
from compaction import Message, Policy, Result
from compaction import messages as m
from compaction.handoff import (
    CURRENT_HEADER,
    END_MARKER,
    FLAG,
    FORMS,
    FRAMING,
    HYPHEN_HEADER,
    LEGACY_HEADER,
    MERGE_DELIMITER,
    NOTE,
    NOTE_SENTENCE,
    PRIOR_HEADER,
    handoff_text,
)
from compaction.llm.digest import Ask
from compaction.planning.boundaries import align_end, anchor_last_reply, anchor_last_user, by_tokens
from compaction.tokens import Counter, Sizes

SMALL = Policy(context_window=4_000, handoff="hermes")  # tail budget 400, soft ceiling 600, summaries up to 200 tokens


def count(text: str) -> int:
    """A counter without a vocabulary: four characters a token, rounded up."""
    return (len(text) + 3) // 4


def compacted_by(messages: list[Message], policy: Policy, ask: Ask, counter: Counter = count) -> Result:
    """A plan, its summary by `ask`, and both together."""
    plan = compaction.plan(messages, policy, counter)
    return compaction.apply(plan, compaction.summarize(plan, ask))


def tail_start(messages: list[Message], head_end: int, policy: Policy, counter: Counter = count) -> int:
    """Where the tail starts: by tokens, then aligned, then anchored, as where nothing speaks against an anchor."""
    lifted = {i for i in range(head_end, len(messages)) if m.is_standalone_handoff(messages[i])}
    index, _ = by_tokens(len(messages), head_end, policy, Sizes(messages, counter), lifted)
    for move in (align_end, anchor_last_user, anchor_last_reply):
        index = move(messages, index, head_end)
    return index


def system(text: str = "You are a careful agent.") -> Message:
    return {"role": "system", "content": text}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def reply(text: Any, *ids: str) -> Message:
    message: Message = {"role": "assistant", "content": text}
    if ids:
        message["tool_calls"] = [call(id_) for id_ in ids]
    return message


def call(id_: str, name: str = "read_file", arguments: str = '{"path": "a.txt"}') -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id_: str, text: Any = "done") -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def call_item(id_: str, name: str = "read_file", arguments: Any = '{"path": "a.txt"}') -> Message:
    """A call as the Responses API has it: a row of its own, without a role."""
    return {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name, "arguments": arguments}


def result_item(id_: str, output: Any = "done") -> Message:
    return {"type": "function_call_output", "call_id": id_, "output": output}


def stored(row: dict[str, Any]) -> Message:
    """A row of a demo session as the engine reads it."""
    message: Message = {"role": row["role"], "content": row["content"]}
    if row.get("tool_calls"):
        message["tool_calls"] = json.loads(row["tool_calls"])
    if row.get("tool_call_id"):
        message["tool_call_id"] = row["tool_call_id"]
    return message


def image(url: str = "data:image/png;base64,AAAA") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def words(n: int, name: str = "word") -> str:
    """About n tokens by `count`."""
    return " ".join([name[:3]] * n)


def exchange(n: int, size: int = 40, first: int = 0) -> list[Message]:
    """n questions and answers of `size` tokens each, numbered from `first`."""
    pairs = ((user(f"question {i} {words(size)}"), reply(f"answer {i} {words(size)}")) for i in range(first, first + n))
    return [message for pair in pairs for message in pair]


def tool_turn(i: int, size: int = 40, parallel: int = 1) -> list[Message]:
    """A question, a call of `parallel` tools with their results, and the answer."""
    ids = [f"call_{i}_{j}" for j in range(parallel)]
    results = [result(id_, f"output {id_} {words(size)}") for id_ in ids]
    return [user(f"task {i} {words(10)}"), reply("", *ids), *results, reply(f"answer {i} {words(10)}")]


def handoff(body: str = "What was done before.", role: str = "user", live: str = "") -> Message:
    text = handoff_text(body)
    return {"role": role, "content": f"{text}\n\n{live}" if live else text, FLAG: True}


# --- every layout of an earlier handoff ------------------------------------------------------------------------------
LONG_DIRECTIVE = (
    "Earlier turns were compacted into the summary below. Respond to the latest message only. The current session state"
    " may reflect work described here — avoid repeating it:"
)
OPENINGS = (
    f"{LEGACY_HEADER} ",
    f"{LEGACY_HEADER} {FRAMING}\n",
    f"{CURRENT_HEADER} {LONG_DIRECTIVE}\n",
    f"{CURRENT_HEADER}\n",
    f"{HYPHEN_HEADER} ",
)
LAYOUTS = ("standalone", "summary first", "prior first")


def carrier(layout: str, opening: str = OPENINGS[0], body: str = "Earlier work.", live: str = "And now?") -> str:
    """The text of an earlier handoff as the agents write it; `live` is the row's own text, if the layout has any."""
    summary = f"{opening}{body}\n\n{END_MARKER}"
    if layout == "standalone":
        return summary
    if layout == "summary first":
        return f"{summary}\n\n{live}"
    return f"{PRIOR_HEADER}\n{live}\n\n{MERGE_DELIMITER}\n\n{summary}"


# --- strategies ------------------------------------------------------------------------------------------------------
SENTENCES = ("Please fix the login.", "It must never delete rows.", "Done: see /srv/app/main.py.", "Which one?", "")
ODD_TEXTS = (
    "\ud800 a lone surrogate",
    "\x00json:[1]",
    " " * 5_000,
    "\n" * 3_000,
    "\u3000\u200b\ufeff",
    f"What does {LEGACY_HEADER} mean?",
    f"I read {MERGE_DELIMITER} and {END_MARKER}",
    f"```\n{handoff_text('shown')}\n```",
    "[System: a process ended]",
    f"Cite: {NOTE_SENTENCE}",
    "<|endoftext|>",
)
LENGTHS = tuple(words(n) for n in (1, 5, 15, 30, 60, 90, 120))
# Drawing is what the property tests spend their time on: one choice makes most texts.
plain = st.one_of(st.sampled_from([*SENTENCES, *SENTENCES, *LENGTHS, *LENGTHS, *ODD_TEXTS]), st.text(max_size=30))
ids = st.sampled_from([f"c{i}" for i in range(5)])  # few, so that they repeat
junk: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.just({}),
    st.just([None, 3, {"type": 7}]),
    st.binary(max_size=3),
    st.sampled_from(
        [
            {"type": ["text"], "text": {"a": 1}},
            [[["nested"]], {"type": "text"}, {"type": "image_url"}, {"type": "tool_result", "content": 7}],
            [{"type": "tool_use", "id": ["x"], "input": {1: {2, 3}}}],
            [{"type": "tool_result", "tool_use_id": {}, "content": [[{"type": "image"}]]}],
            [{"type": "thinking", "thinking": None}, {"type": "text", "text": 3}, {"text": "untyped"}],
            {1: 2},
            ("a", "tuple"),
            10**4_500,
        ]
    ),
)
parts = st.lists(
    st.one_of(
        plain.map(lambda t: {"type": "text", "text": t}),
        plain.map(lambda t: {"type": "input_text", "text": t}),
        plain.map(lambda t: {"type": "output_text", "text": t, "annotations": []}),
        st.just(image()),
        st.just({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
        st.just({"type": "image", "source": {"type": "base64", "data": "AAAA"}}),
        st.just({"type": "thinking", "thinking": "hm", "signature": "s"}),
        plain,
    ),
    max_size=3,
)
content = st.one_of(plain, plain, plain, parts, plain.map(lambda t: {"type": "text", "text": t}), junk)
no_calls: st.SearchStrategy[Any] = st.one_of(
    junk,
    st.sampled_from(
        ["not json", "null", '"text"', "[1, null, []]", "{}", "[{}]", '[{"id": 7}]', "[" * 3_000, [[]], [{"id": ["x"]}]]
    ),
    st.sampled_from([[{"function": 3}], [{"id": "c0", "function": {"name": {}, "arguments": [1]}}], {"id": "c1"}]),
)


@st.composite
def tool_groups(draw: st.DrawFn) -> list[Message]:
    """An assistant with calls and its results; some unanswered, some between other rows, some answering nothing."""
    names = draw(st.lists(ids, min_size=1, max_size=3, unique=bool(draw(st.integers(0, 4)))))
    answered = names if draw(st.integers(0, 4)) else names[:-1]
    shape = draw(st.sampled_from(["dicts", "dicts", "text", "call_id"]))
    asking = reply(draw(content), *names)
    if shape == "text":
        asking["tool_calls"] = json.dumps(asking["tool_calls"])
    if shape == "call_id":
        asking["tool_calls"] = [{"id": f"fc_{name}", "call_id": name, "name": "look"} for name in names]
    rows: list[Message] = [asking]
    for name in answered:
        if not draw(st.integers(0, 9)):
            rows.append(user(draw(plain)))
        answer = result(name, draw(content))
        if shape == "call_id" and draw(st.booleans()):
            answer = {"role": "tool", "call_id": name, "content": answer["content"]}
        rows.append(answer)
    if not draw(st.integers(0, 9)):
        rows.append(result(draw(ids), "an orphan"))
    return rows


@st.composite
def anthropic_groups(draw: st.DrawFn) -> list[Message]:
    """An assistant with tool_use blocks, and the user row of their results, which may say something too."""
    names = draw(st.lists(ids, min_size=1, max_size=2))
    said = draw(st.lists(plain.map(lambda t: {"type": "text", "text": t}), max_size=1))
    rest = draw(st.lists(plain.map(lambda t: {"type": "text", "text": t}), max_size=1))
    uses = [{"type": "tool_use", "id": name, "name": "look", "input": {"q": 1}} for name in names]
    found: Any = draw(st.one_of(plain, plain.map(lambda t: [{"type": "text", "text": t}, image()]), junk))
    answers = [{"type": "tool_result", "tool_use_id": name, "content": found} for name in names]
    if not draw(st.integers(0, 6)):
        answers.pop()
    return [reply([*said, *uses]), user([*answers, *rest])]


OTHER_ITEMS: list[Message] = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gA"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "refund"}},
    {"type": ["odd"], "role": None, "output": {"a": 1}},
    {"output": "untyped"},
]


@st.composite
def item_groups(draw: st.DrawFn) -> list[Message]:
    """Responses items without a role: parallel calls and their outputs, some missing, others between or behind them."""
    names = draw(st.lists(ids, min_size=1, max_size=3))
    custom = draw(st.booleans())
    rows: list[Message] = [reply(draw(content))] if draw(st.booleans()) else []
    rows += [call_item(name, arguments=draw(st.one_of(plain, junk, st.just('{"q": 1}')))) for name in names]
    rows += [result_item(name, draw(content)) for name in draw(st.permutations(names))]
    if not draw(st.integers(0, 4)):
        rows.pop(draw(st.integers(0, len(rows) - 1)))
    if custom:
        rows = [{"type": "custom_tool_call", "call_id": r["call_id"], "name": "run", "input": r["arguments"]}
                if "arguments" in r else r for r in rows]  # fmt: skip
        rows = [{**r, "type": "custom_tool_call_output"} if "output" in r else r for r in rows]
    if not draw(st.integers(0, 3)):
        rows.insert(draw(st.integers(0, len(rows))), draw(st.sampled_from([*OTHER_ITEMS, user("Wait.")])))
    return rows


@st.composite
def handoffs(draw: st.DrawFn) -> list[Message]:
    """One row that is or contains an earlier handoff, in any layout, as text or in a list, flagged or not."""
    body = draw(st.sampled_from(["Earlier work.", "## Goal\n- ship it", f"It quoted {END_MARKER}."]))
    live = draw(st.sampled_from([*SENTENCES[:4], "```\nopen fence", f"What is {MERGE_DELIMITER}?"]))
    text = carrier(draw(st.sampled_from(LAYOUTS)), draw(st.sampled_from(OPENINGS)), body, live)
    shape: Any = draw(st.sampled_from(["text", "text", "blocks", "strings", "media", "dict"]))
    block = {"type": "text", "text": text}
    shapes: dict[str, Any] = {"blocks": [block], "strings": [text], "media": [block, image()], "dict": block}
    row: Message = {"role": draw(st.sampled_from(["user", "assistant"])), "content": shapes.get(shape, text)}
    if draw(st.booleans()):
        row[FLAG] = draw(st.sampled_from([True, 1, "1"]))
    elif not draw(st.integers(0, 9)):
        row = {"role": row["role"], "content": draw(plain), FLAG: True}
    if row["role"] == "assistant" and not draw(st.integers(0, 5)):
        return [{**row, "tool_calls": [call("c9")]}, result("c9")]
    return [row]


odd_roles: st.SearchStrategy[Any] = st.sampled_from(
    ["system", "developer", "session_meta", "function", "model", "", 7, None, ["user"], {"role": "user"}]
)
rows = st.one_of(
    st.builds(lambda c: [user(c)], content),
    st.builds(lambda c: [reply(c)], content),
    st.builds(lambda a, b: [user(a), reply(b)], plain, plain),
    tool_groups(),
    tool_groups(),
    anthropic_groups(),
    item_groups(),
    handoffs(),
    st.builds(lambda r, c: [{"role": r, "content": c, "extra": 1}], odd_roles, content),
    st.builds(lambda c, calls: [{"role": "assistant", "content": c, "tool_calls": calls}], content, no_calls),
    st.builds(lambda c, id_: [{"role": "tool", "tool_call_id": id_, "content": c}], content, st.one_of(ids, junk)),
    st.builds(lambda c, kind: [{**user(c), "display_kind": kind}], plain, st.one_of(st.just("hidden"), junk)),
)
leads: st.SearchStrategy[list[Message]] = st.sampled_from(
    [
        [],
        [],
        [system()],
        [system()],
        [{"role": "system", "content": [{"type": "text", "text": "Be kind."}]}],
        [{"role": "developer", "content": "Be kind."}],
        [system(f"Be kind.\n\n{NOTE}")],
        [{"role": "system", "content": None}],
        [{"role": "system", "content": {"type": "text", "text": "Be kind."}}],
    ]
)
transcripts = st.builds(
    lambda lead, groups: [*lead, *(row for group in groups for row in group)],
    leads,
    st.lists(rows, min_size=8, max_size=22),
)
policies = st.builds(
    Policy,
    context_window=st.sampled_from([1_000, 4_000, 20_000]),
    protect_first_n=st.integers(0, 6),
    protect_last_n=st.sampled_from([0, 3, 20]),
    keep_last=st.sampled_from([None, None, None, 0, 2, 9]),
    handoff=st.sampled_from(FORMS),
)

"""Short ways to write transcripts, and hypothesis strategies for any transcript at all."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction import Message, Policy, protocol

SMALL = Policy(context_window=4_000)  # tail budget 400, soft ceiling 600, summaries up to 200 tokens


def count(text: str) -> int:
    """A counter without a vocabulary: four characters a token, rounded up."""
    return (len(text) + 3) // 4


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
    text = protocol.handoff_text(body)
    return {"role": role, "content": f"{text}\n\n{live}" if live else text, protocol.FLAG: True}


# --- strategies ------------------------------------------------------------------------------------------------------
SENTENCES = ("Please fix the login.", "It must never delete rows.", "Done: see /srv/app/main.py.", "Which one?", "")
plain = st.one_of(st.sampled_from(SENTENCES), st.text(max_size=60), st.integers(1, 120).map(words))
ids = st.sampled_from([f"c{i}" for i in range(5)])  # few, so that they repeat
junk: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.integers(), st.just({}), st.just([None, 3, {"type": 7}]), st.binary(max_size=3)
)
parts = st.lists(
    st.one_of(
        plain.map(lambda t: {"type": "text", "text": t}),
        plain.map(lambda t: {"type": "input_text", "text": t}),
        st.just(image()),
        st.just({"type": "image", "source": {"type": "base64", "data": "AAAA"}}),
        plain,
    ),
    max_size=3,
)
content = st.one_of(plain, plain, plain, parts, junk)


@st.composite
def tool_groups(draw: st.DrawFn) -> list[Message]:
    """An assistant with calls and its results; some unanswered, some between other rows, some answering nothing."""
    names = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    answered = names if draw(st.integers(0, 4)) else names[:-1]
    rows: list[Message] = [reply(draw(plain), *names)]
    for name in answered:
        if not draw(st.integers(0, 9)):
            rows.append(user(draw(plain)))
        rows.append(result(name, draw(plain)))
    if not draw(st.integers(0, 9)):
        rows.append(result(draw(ids), "an orphan"))
    return rows


@st.composite
def anthropic_groups(draw: st.DrawFn) -> list[Message]:
    name = draw(ids)
    rest = draw(st.lists(plain.map(lambda t: {"type": "text", "text": t}), max_size=1))
    answer = {"type": "tool_result", "tool_use_id": name, "content": [{"type": "text", "text": draw(plain)}, image()]}
    return [reply([{"type": "tool_use", "id": name, "name": "look", "input": {"q": 1}}]), user([answer, *rest])]


handoffs = st.builds(
    handoff, st.sampled_from(["Earlier work.", "## Goal\n- ship it"]), st.sampled_from(["user", "assistant"])
)
merged = st.builds(
    lambda live, role: handoff("Earlier work.", role, live),
    st.sampled_from(SENTENCES[:4]),
    st.sampled_from(["user", "assistant"]),
)
rows = st.one_of(
    st.builds(lambda c: [user(c)], content),
    st.builds(lambda c: [reply(c)], content),
    st.builds(lambda a, b: [user(a), reply(b)], plain, plain),
    tool_groups(),
    anthropic_groups(),
    st.builds(lambda m: [m], st.one_of(handoffs, merged)),
    st.builds(
        lambda r, c: [{"role": r, "content": c, "extra": 1}], st.sampled_from(["system", "session_meta", 7]), content
    ),
)
transcripts = st.builds(
    lambda lead, groups: [*lead, *(row for group in groups for row in group)],
    st.sampled_from([[], [system()], [{"role": "system", "content": [{"type": "text", "text": "Be kind."}]}]]),
    st.lists(rows, min_size=8, max_size=30),
)
policies = st.builds(
    Policy,
    context_window=st.sampled_from([1_000, 4_000, 20_000]),
    protect_first_n=st.integers(0, 6),
    protect_last_n=st.sampled_from([0, 3, 20]),
    keep_last=st.sampled_from([None, None, None, 0, 2, 9]),
)

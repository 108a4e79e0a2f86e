"""What lists and headers say of Claude Code sessions: tokens, cost, clients, what was left, what is added."""

from __future__ import annotations

import json
from typing import Any

import genai_prices
import pytest

from tests.agents.base import Line
from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader, record
from tests.agents.claude_code.recorded import RECORDED
from tests.agents.talk import talk, turn
from tests.listed import activity_of, newest_ids
from viewer.stores.base import Store
from viewer.stores.reader import Reader
from viewer.stores.registry import agent_of, open_store
from viewer.usage import pricing
from viewer.usage.pricing import TokenUsage

__all__ = ["agent", "reader"]

OPUS = "claude-opus-4-5-20251101"


def reply(name: str, reported: dict[str, Any], model: str = OPUS) -> Line:
    """The line of a response."""
    content = [{"type": "text", "text": name}]
    message = {"id": f"msg_{name}", "role": "assistant", "model": model, "content": content, "usage": reported}
    return {"type": "assistant", "message": message}


def hang(agent: ClaudeByHand, line: Line) -> None:
    agent.hang("s", agent.lines("s")[-1].get("uuid"), line)


def listed(**counts: int) -> float:
    """What the price list says."""
    return float(genai_prices.calc_price(genai_prices.Usage(**counts), OPUS, provider_id="anthropic").total_price)


def test_a_response_counts_once_with_its_last_usage(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1)[:1])
    assert reader.usage(agent.id_of("s")).cost is None
    cached = {"cache_creation_input_tokens": 1_000, "cache_read_input_tokens": 20_000}
    for output in (1, 500):  # two lines of one response
        hang(agent, reply("a", {"input_tokens": 10, "output_tokens": output, **cached}))
    hang(agent, reply("b", {"input_tokens": 30_000, "output_tokens": 10}))
    hang(agent, reply("told", {"input_tokens": 0, "output_tokens": 0}, "<synthetic>"))
    told = reader.usage(agent.id_of("s"))
    first = listed(input_tokens=21_010, cache_write_tokens=1_000, cache_read_tokens=20_000, output_tokens=500)
    assert told.tokens == 30_000
    assert told.cost and told.cost.dollars == pytest.approx(first + listed(input_tokens=30_000, output_tokens=10))


def test_one_id_of_all_responses_makes_no_one_price(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1)[:1])
    for tokens in (1_000, 2_000, 3_000, 3_000):  # the last one is a copy, as compactions wrote them once
        hang(agent, {"type": "user", "message": {"role": "user", "content": f"more of {tokens}"}})
        hang(agent, reply("same", {"input_tokens": tokens, "output_tokens": 10}))
    cost = reader.usage(agent.id_of("s")).cost
    assert cost and cost.dollars == pytest.approx(listed(input_tokens=6_000, output_tokens=30)) and not cost.is_least


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "cache_read_input_tokens"])
@pytest.mark.parametrize("value", ["1000", -1, 10**15, True, 1.5, float("inf"), [1]])
def test_a_usage_that_says_no_number_has_no_price(agent: ClaudeByHand, reader: Reader, field: str, value: Any) -> None:
    agent.write("s", talk(1)[:1])
    hang(agent, reply("a", {"input_tokens": 1_000, "output_tokens": 10}))
    hang(agent, reply("b", {"input_tokens": 1_000, "output_tokens": 10, field: value}))
    cost = reader.usage(agent.id_of("s")).cost
    assert cost and cost.is_least and cost.dollars == pytest.approx(listed(input_tokens=1_000, output_tokens=10))


@pytest.mark.parametrize(
    "more", [{"service_tier": ["batch"]}, {"speed": 7}, {"server_tool_use": {"web_search_requests": 10**9}}]
)
def test_nothing_is_priced_by_what_cannot_be(agent: ClaudeByHand, reader: Reader, more: dict[str, Any]) -> None:
    agent.write("s", talk(1)[:1])
    hang(agent, reply("a", {"input_tokens": 1_000, "output_tokens": 10, **more}))
    assert reader.usage(agent.id_of("s")).cost is None


def test_a_price_nobody_knows_is_not_guessed(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1)[:1])
    hang(agent, reply("a", {"input_tokens": 10, "output_tokens": 10}, "a-model-of-my-own"))
    assert reader.usage(agent.id_of("s")).cost is None
    hang(agent, reply("b", {"input_tokens": 10, "output_tokens": 10}))
    found = reader.usage(agent.id_of("s")).cost
    assert found and found.is_least and found.dollars == pytest.approx(listed(input_tokens=10, output_tokens=10))


USED = {"input_tokens": 1_000, "output_tokens": 1_000}


@pytest.mark.parametrize(
    ("model", "more", "dollars"),
    [
        ("claude-opus-4-6", {}, 0.03),
        ("claude-opus-4-6", {"speed": "standard", "service_tier": "standard"}, 0.03),
        ("claude-opus-4-6", {"speed": "fast"}, 0.18),
        ("claude-opus-4-8", {"speed": "fast"}, 0.06),
        ("claude-haiku-4-5", {"speed": "fast"}, None),  # nobody sells it so
        ("claude-opus-4-6", {"service_tier": "batch"}, 0.015),
        ("claude-opus-4-6", {"service_tier": "batch", "speed": "fast"}, 0.09),
        ("claude-opus-4-6", {"service_tier": "a tier of tomorrow"}, None),
        ("claude-opus-4-6", {"server_tool_use": {"web_search_requests": 100}}, 1.03),
        ("claude-opus-4-6", {"server_tool_use": {"web_search_requests": "many"}}, None),
        ("claude-opus-4-6", {"server_tool_use": []}, 0.03),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", {}, 0.03),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {}, 0.0198),  # a tenth more within a region
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", {}, 0.0198),
        ("claude-sonnet-4-5@20250929", {}, 0.018),  # Vertex
        ("vertex_ai/claude-sonnet-4-5@20250929", {}, 0.018),
        ("anthropic/claude-sonnet-4.5", {}, 0.018),
        ("claude-sonnet-4-5-20250929[1m]", {}, 0.018),
        ("glm-4.6", {}, 0.0028),
        ("z-ai/glm-4.6", {}, 0.0028),
        ("us.anthropic.claude-of-nobody", {}, None),
        ("claude-opus-4-6", {"input_tokens": 900_000_000}, None),  # no window is so large
        ("/", {}, None),
    ],
)
def test_a_response_costs_what_its_mode_searches_and_seller_ask(
    agent: ClaudeByHand, reader: Reader, model: str, more: dict[str, Any], dollars: float | None
) -> None:
    agent.write("s", talk(1)[:1])
    hang(agent, reply("a", {**USED, **more}, model))
    cost = reader.usage(agent.id_of("s")).cost
    assert (cost and cost.dollars) == (dollars and pytest.approx(dollars, rel=0.05))


@pytest.mark.parametrize("context", [1_000, 150_000, 250_000])
@pytest.mark.parametrize("model", [OPUS, "claude-sonnet-4-5-20250929"])
def test_prices_are_those_of_the_list_also_of_long_requests(model: str, context: int) -> None:
    used = TokenUsage(fresh=context, written=200, written_long=100, cached=3_000, output=700)
    asked = genai_prices.Usage(
        input_tokens=context + 3_300, cache_write_tokens=300, cache_write_1h_tokens=100, cache_read_tokens=3_000,
        output_tokens=700,
    )  # fmt: skip
    price = genai_prices.calc_price(asked, model, provider_id="anthropic").total_price
    assert pricing.price(model, used) == pytest.approx(float(price))


@pytest.mark.parametrize("wrong", [None, [], "x", {"input_tokens": "1"}, {"input_tokens": -5}, {"input_tokens": 1e400}])
def test_a_usage_that_is_none_counts_nothing(agent: ClaudeByHand, reader: Reader, wrong: Any) -> None:
    agent.write("s", talk(1)[:1])
    line = reply("a", {})
    line["message"]["usage"] = wrong
    hang(agent, line)
    told = reader.usage(agent.id_of("s"))
    assert told.tokens is None and not (told.cost and told.cost.dollars)


def test_tokens_of_before_a_compaction_are_not_those_of_now(reader: Reader, agent: ClaudeByHand) -> None:
    agent.write("s", talk(1)[:1])
    hang(agent, reply("a", {"input_tokens": 90_000, "output_tokens": 10}))
    kept = agent.lines("s")[-1]["uuid"]
    boundary = {"type": "system", "subtype": "compact_boundary", "content": ""}
    agent.hang(
        "s", None, boundary | {"compactMetadata": {"preservedMessages": {"anchorUuid": "none", "uuids": [kept]}}}
    )
    lines = agent.lines("s")
    lines[-1]["compactMetadata"]["preservedMessages"]["anchorUuid"] = "summary"
    lines.append({**record(turn("x")[0]), "uuid": "summary", "parentUuid": lines[-1]["uuid"], "isCompactSummary": True})
    path = agent.project / f"{agent.id_of('s')}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(reader.live(agent.id_of("s"))) == 2
    assert reader.usage(agent.id_of("s")).tokens is None
    hang(agent, reply("b", {"input_tokens": 7_000, "output_tokens": 10}))
    assert reader.usage(agent.id_of("s")).tokens == 7_000


def test_a_session_is_active_while_a_client_has_it_open(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1))
    session_id, owner = agent.id_of("s"), agent_of(reader.store)
    assert owner.open_sessions() is None and reader.session(session_id).active, "by its time: no client ever told"
    with agent.compacting("s"):
        assert owner.open_sessions() == {session_id} and reader.session(session_id).active
    assert owner.open_sessions() == set() and not reader.session(session_id).active
    stale = {"pid": 2**22 + 1, "sessionId": session_id, "procStart": "1", "status": "idle"}
    (agent.root / "sessions" / "1.json").write_text(json.dumps(stale))
    assert owner.open_sessions() == set()


def test_what_a_rewind_left_is_one_branch(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", [*talk(2), *turn("left")])
    session_id = agent.id_of("s")
    before = [row.id for row in reader.live(session_id)]
    assert reader.abandoned(session_id) == []
    agent.take_back("s")
    (branch,) = reader.abandoned(session_id)
    live = [row.id for row in reader.live(session_id)]
    assert [*live, *branch.ids] == before and branch.after == live[-1]
    for message in turn("other"):
        agent.say("s", message)
    agent.take_back("s")
    assert [len(each.ids) for each in reader.abandoned(session_id)] == [len(branch.ids), len(turn("other"))]
    assert {each.after for each in reader.abandoned(session_id)} == {live[-1]}


def test_what_the_client_adds_stands_where_it_is_sent() -> None:
    recorded = RECORDED / "plain-turns.own-process"
    (path,) = recorded.glob("projects/*/*.jsonl")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    kinds = [line["attachment"]["type"] for line in lines if line.get("attachment")]
    with open_store(Store("work", f"claude-code:///{recorded}", "configured")) as reader:
        live = [row.id for row in reader.live(path.stem)]
        added = reader.additions(path.stem, live, end=True)
        assert reader.additions(path.stem, live[:1], end=False) == [each for each in added if each.before == live[0]]
    assert len(added) == len(kinds) > 5
    assert {each.before for each in added} <= {*live, None}
    (date,) = [each for each in added if each.name == "date"]
    assert date.is_sent and "Today's date is" in date.text
    assert [each.is_sent for each in added if each.name == "system prompt and tools"][0] is False


def test_git_branch_and_directory_are_listed(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1))
    facts = reader.listing.sessions([agent.id_of("s")])[agent.id_of("s")]
    assert (facts.cwd, facts.git_branch) == ("/home/user/work", "main")


def test_a_title_is_taken_from_lines_that_name_a_session_alone(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = agent.id_of("s")
    agent._append("s", {"type": "summary", "summary": "Of an older\ntalk", "leafUuid": "x"})
    agent.hang("s", None, record({"role": "user", "content": "the first request"}))
    call = {"type": "tool_use", "id": "t", "name": "Ticket", "input": {"summary": "[P3] printer out of paper"}}
    said = record({"role": "assistant", "content": "I file it."})
    said["message"]["content"].append(call)
    hang(agent, said)
    hang(agent, {"type": "user", "customTitle": "not a name", "message": {"role": "user", "content": "go on"}})
    assert reader.session(session_id).title == "Of an older talk"
    agent._append("s", {"type": "ai-title", "aiTitle": "Printers"})
    assert reader.session(session_id).title == "Printers"
    agent._append("s", {"type": "custom-title", "customTitle": "Mine"})
    agent._append("s", {"type": "custom-title", "customTitle": ["x"]})
    assert reader.session(session_id).title == "Mine"


def test_a_session_of_commands_alone_is_called_by_them_and_an_empty_file_is_none(
    agent: ClaudeByHand, reader: Reader
) -> None:
    run = "<command-name>/usage</command-name>\n<command-message>usage</command-message>\n<command-args></command-args>"
    agent.hang("s", None, record({"role": "user", "content": run}))
    (agent.project / f"{agent.id_of('t')}.jsonl").touch()
    assert reader.session(agent.id_of("s")).name == "/usage"
    assert newest_ids(reader) == [agent.id_of("s")]
    assert reader.session(agent.id_of("t")).id == agent.id_of("t"), "it can be asked for"


def test_a_file_without_messages_is_called_by_its_id(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = agent.id_of("s")
    agent._append("s", {"type": "permission-mode", "permissionMode": "default", "sessionId": session_id})
    agent._append("s", {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})
    facts = reader.listing.sessions([session_id])[session_id]
    assert (facts.title, activity_of(reader, session_id).first_words) == ("", "")
    assert reader.session(session_id).name == session_id

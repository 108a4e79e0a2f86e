"""Changes of a YAML text that leave every other byte as it is: comments, order, quotes and blank lines.

Positions are those of PyYAML's nodes. Nothing here is certain of its result: whoever calls compares what the text says
then with what it should say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

Pair = tuple[yaml.Node, yaml.Node]


def inserted(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with the value below these keys; of a list the items are added to the list that is there."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = _path(root, keys)
    missing: Any = value
    for key in reversed(keys[len(pairs) :]):
        missing = {key: missing}
    key_node, node = pairs[-1] if pairs else (None, root)
    if node is not None and _is_flow(node):
        return _in_flow(text, node, missing)
    if key_node is None:
        return _at_end(text, missing)
    column, at = key_node.start_mark.column + 2, _line_end(text, key_node.end_mark.index)
    if isinstance(node, yaml.CollectionNode):  # else nothing is behind the key
        column = node.start_mark.column
    if isinstance(node, yaml.SequenceNode):
        at = _line_end(text, _end(node))
    return _lines(text[:at], missing, column, _break(text)) + text[at:]


def replaced(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with another scalar below these keys."""
    *_, (_, node) = _path(yaml.compose(text, Loader=yaml.SafeLoader), keys)
    return text[: node.start_mark.index] + json.dumps(value) + text[node.end_mark.index :]


def removed(text: str, keys: Sequence[str], item: Any = None) -> str:
    """The text without what is below these keys, or without this item of the list there; what has nothing else below
    it goes, too.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = _path(root, keys)
    if item is not None:
        each = next(each for each in pairs[-1][1].value if _value(each) == item)
        if len(pairs[-1][1].value) > 1:
            return _cut(text, pairs[-1][1], each, each)
    assert root is not None
    holders = [root, *(node for _, node in pairs)]
    level = len(pairs) - 1
    while level and len(holders[level].value) == 1:
        level -= 1
    return _cut(text, holders[level], *pairs[level])


def _path(root: yaml.Node | None, keys: Sequence[str]) -> list[Pair]:
    """The keys that are there, each with its value."""
    pairs: list[Pair] = []
    node = root
    for key in keys:
        entries = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next((each for each in entries if isinstance(each[0], yaml.ScalarNode) and each[0].value == key), None)
        if pair is None:
            break
        pairs.append(pair)
        node = pair[1]
    return pairs


def _value(node: yaml.Node) -> Any:
    return yaml.safe_load(yaml.serialize(node, Dumper=yaml.SafeDumper))


def _is_flow(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _in_flow(text: str, node: yaml.Node, missing: Any) -> str:
    new, start, end = json.dumps(missing, ensure_ascii=False)[1:-1], node.start_mark.index + 1, node.end_mark.index - 1
    if isinstance(node, yaml.MappingNode):
        return text[:start] + new + (", " if node.value else "") + text[start:]
    before = text[:end].rstrip()
    between = ("" if before.endswith((",", "[")) else ",") + (" " if node.value else "")
    return before + between + new + text[len(before) :]


def _at_end(text: str, missing: Any) -> str:
    return _lines(text, missing, 0, _break(text))


def _lines(before: str, value: Any, column: int, end: str) -> str:
    """The text and the value in lines below it."""
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
    between = end if before and not before.endswith("\n") else ""
    return before + between + "".join(" " * column + line + end for line in dumped.splitlines())


def _break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_end(text: str, at: int) -> int:
    """Where the next line begins."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _cut(text: str, holder: yaml.Node, first: yaml.Node, last: yaml.Node) -> str:
    """The text without what is from one node to another."""
    start, end = first.start_mark.index, _end(last)
    if not _is_flow(holder):
        return text[: text.rfind("\n", 0, start) + 1] + text[_line_end(text, end) :]
    behind = text[end:].lstrip()
    if behind.startswith(","):
        return text[:start] + behind[1:].lstrip()
    return text[:start].rstrip().removesuffix(",") + text[end:]


def _end(node: yaml.Node) -> int:
    """Where a node's own text ends. PyYAML's end of a block includes comments and blank lines behind it."""
    if not isinstance(node, yaml.CollectionNode) or _is_flow(node) or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)

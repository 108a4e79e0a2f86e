"""Names of code: what it defines, what it calls elsewhere, names of several parts; the language's own are none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from .names import NameUse, names_of
from .sentences import set_of

_DEFINED = re.compile(
    r"(?<![\w.])(?:def|defp|defmodule|defmacro|defstruct|class|function|func|fn|fun|interface|type|struct|enum|trait"
    r"|(?<![^\n])(?:export\s)?(?:const|let|var|val)|CREATE TABLE"  # indented, they are local
    r"|create table)\s+(?:async\s+)?(?:\([^)\n]{0,60}\)\s*)?\*?([A-Za-z_][\w.]{2,60}[!?]?)"
    r"(?=\s*[(=:{<,;]|\s+do\b|\s+(?:extends|implements)\b|\s*\n|\s*$)"
)
_CALLED = re.compile(r"(?<![\w./\\-])([A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}){1,3}[!?]?)\(")
_DOTTED = re.compile(r"(?<![\w./\\@-])([A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}){1,3})(?![\w(/!?-]|\.\w)")
_OWN_ROOTS = set_of(
    """Math JSON Object Array String Number Boolean Promise Date RegExp Symbol Map Set Reflect Intl Error
    console window document event navigator localStorage sessionStorage crypto process module exports React
    ReactDOM e err evt this self cls super os sys re json math random time datetime logging itertools
    functools collections pathlib subprocess shutil np pd plt torch fmt strings strconv errors http ctx Enum
    String Logger IO File Path Regex Keyword System Application Process GenServer Agent Task List Integer
    Float Atom Kernel std io vec Vec Some Ok Err Box Rc Arc Option Result res req response request assert
    expect test jest vi describe it text args kwargs"""
)
_OWN = set_of(
    """None True False null undefined result value index item items data self this test main init setup name
    error response request props state args options params config key"""
)


def defined_in(code: str) -> list[str]:
    """The names a piece of code defines, in order."""
    return [name for name in dict.fromkeys(_DEFINED.findall(code)) if name not in _OWN and len(name) > 3]


def called_in(code: str) -> list[str]:
    """The dotted names it calls, in order, but those of the language."""
    if "." not in code:
        return []
    found = dict.fromkeys(_CALLED.findall(code))
    return [name for name in found if name.split(".", 1)[0] not in _OWN_ROOTS]


_COMPOUND = re.compile(
    r"(?<![\w./-])(?:[a-z]+[0-9]*(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}|[a-z][a-z0-9]*(?:_[a-z0-9]+)+[!?]?"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w/-])"
)
_COMMON = set_of(
    """useState useEffect useRef useMemo useCallback useContext className onClick onChange onSubmit innerHTML
    textContent addEventListener removeEventListener getElementById querySelector querySelectorAll
    createElement appendChild preventDefault stopPropagation toLowerCase toUpperCase toString toFixed
    toISOString indexOf findIndex forEach charAt startsWith endsWith parseInt parseFloat isNaN setTimeout
    setInterval clearTimeout clearInterval hasOwnProperty instanceof beforeEach afterEach beforeAll afterAll
    toBe toEqual toHaveBeenCalled console stringify localStorage is_nil is_binary is_map is_list is_integer
    is_atom is_function to_string start_link handle_call handle_cast handle_info type_name ValueError
    TypeError KeyError IndexError RuntimeError AttributeError ImportError NotImplementedError StopIteration
    FileNotFoundError isinstance issubclass setattr getattr hasattr sys_path JavaScript TypeScript GitHub
    README node_modules"""
)
_LONGEST_CODE = 20_000  # characters of one piece that are read
_MOST_READ = 600_000  # characters that are read in all


def _used_in(text: str) -> list[str]:
    """Names of several parts that a piece of code uses: `annotation_id`, `HooksController`, `project.name`."""
    dotted = (
        name
        for name in (_DOTTED.findall(text) if "." in text else ())
        if name.split(".", 1)[0] not in _OWN_ROOTS and not names_of(name)
    )
    return [*(name for name in _COMPOUND.findall(text) if name not in _COMMON), *dotted]


_SENTENCES = re.compile(r"[a-z]\w*\.[A-Z][a-z]*")  # two that no space parts, as in "did not work.We try"


class DatedText(NamedTuple):
    """A text of a coding session: how its names were met, how many messages ago."""

    how: Literal["said", "called", "written", "printed"]
    age: int
    text: str


def code_in(text: str) -> Iterable[str]:
    """The distinct names of code in a text: what it defines, calls elsewhere, and uses, if it has several parts."""
    found = dict.fromkeys((*defined_in(text), *called_in(text), *_used_in(text)))
    plain = (name for name in found if len(name) > 3 and not name.startswith("__"))
    return (name for name in plain if not (name.isalpha() and name.islower()))  # "range" says little


def code_names(newest: Iterable[DatedText]) -> dict[str, NameUse]:
    """Names of code in the pieces, the newest first, which are read up to a limit in all."""
    found: dict[str, NameUse] = {}
    left = _MOST_READ
    for piece in newest:
        text = piece.text[: min(_LONGEST_CODE, left)]
        left -= len(text)
        for name in code_in(text):
            if piece.how == "said" and _SENTENCES.fullmatch(name):
                continue
            known = found.setdefault(name, NameUse("id", age=piece.age))
            setattr(known, piece.how, getattr(known, piece.how) + 1)
            known.age = min(known.age, piece.age)
    return found

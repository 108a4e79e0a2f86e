"""Names that written code defines, and functions of other modules it calls; the language's own are none."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterable

from .names import names_of
from .sentences import set_of

_DEFINED = re.compile(
    r"(?<![\w.])(?:def|defp|defmodule|defmacro|defstruct|class|function|func|fn|fun|interface|type|struct|enum|trait"
    r"|const|let|var|val|CREATE TABLE"
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
_MOST = 400  # code names worth a list
_LONGEST_CODE = 20_000  # characters of one piece of written code that are read


def _used_in(text: str) -> list[str]:
    """Names of several parts that a piece of code uses: `annotation_id`, `HooksController`, `project.name`."""
    dotted = (
        name
        for name in (_DOTTED.findall(text) if "." in text else ())
        if name.split(".", 1)[0] not in _OWN_ROOTS and not names_of(name)
    )
    return [*(name for name in _COMPOUND.findall(text) if name not in _COMMON), *dotted]


def code_names(written: Iterable[Iterable[str]]) -> dict[str, int]:
    """Names that written code defines, calls elsewhere or uses in several pieces, each with the number of pieces.

    `written` are the pieces of each call, the newest call first; the most used and the newest come first.
    """
    used: Tally[str] = Tally()
    own: dict[str, None] = {}
    for texts in written:
        pieces = [text[:_LONGEST_CODE] for text in texts]
        defined = [name for text in pieces for name in defined_in(text)]
        called = [name for text in pieces for name in called_in(text)]
        own.update(dict.fromkeys([*defined, *called]))
        used.update(dict.fromkeys([*defined, *called, *(name for text in pieces for name in _used_in(text))]).keys())
    wanted = [name for name in used if len(name) > 3 and not (name.isalpha() and name.islower())]  # "range" says little
    wanted.sort(key=lambda name: (used[name] == 1 and name not in own, -used[name]))
    return {name: used[name] for name in wanted[:_MOST]}

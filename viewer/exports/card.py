"""A compaction as a card to show to others: one small self-contained HTML file. Secrets are always redacted."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from html import escape

from django.conf import settings

from compaction.handoff import without_rules
from compaction.redaction import redact_shown
from viewer.history import index_cache, records
from viewer.rendering import formats
from viewer.rendering.markdown import rendered
from viewer.runs import compaction_list
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.stores.clean_text import clean, line
from viewer.stores.errors import NotFound
from viewer.stores.message import parted
from viewer.stores.registry import Reader
from viewer.stores.transcript import Boundary, Weight

from . import page
from .style import STYLE

FILE_NAME = "before-after.html"  # a title may be left out of the card, and so of its name
TITLE_CHARS = 120
SUMMARY_LINES, SUMMARY_CHARS = 12, 1_200  # the beginning of a summary
_FACE = b64encode((settings.ASSETS / "static" / "fonts" / "inter.woff2").read_bytes()).decode()  # 52 kB
CARD = (
    STYLE
    + f"@font-face {{ font-family: Inter; src: url(data:font/woff2;base64,{_FACE}); font-weight: 400 600; }}"
    + """
body { max-width: 40rem; font-family: Inter, system-ui, sans-serif; }
main { background: var(--sheet); border: 1px solid var(--rule); border-radius: 12px; padding: 1.5rem; }
h1 { margin: 0 0 1rem; }
.sides { display: block; margin: 0 0 1rem; font-size: 15px; }
.sides div { display: grid; grid-template: "name bar tokens" / 3.5rem minmax(0, 1fr) 10rem; gap: .3rem .8rem;
  align-items: center; margin: .5rem 0; }
.bar { grid-area: bar; } .tokens { grid-area: tokens; font-weight: 650; text-align: right; }
svg { display: block; width: 100%; height: 18px; }
.all { fill: var(--rule); } .before { fill: var(--faded); } .after { fill: var(--accent); }
footer { border: 0; }
@media (max-width: 30rem) { .sides div { grid-template: "name tokens" "bar bar" / minmax(0, 1fr) max-content; } }
"""
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What a card shows besides its numbers: a title, "" for none; the model's name; the beginning of the summary."""

    title: str = ""
    model: bool = False
    summary: bool = False


def as_card(reader: Reader, session_id: str, handoff_id: int, choices: Choices) -> str:
    """The card. Raises NotFound, AlreadyUndone."""
    session = reader.session(session_id)
    index = index_cache.index_of(reader, session)
    boundary = index.boundary_at(handoff_id)
    if boundary is None:
        raise records.not_there(reader.store.name, session_id, handoff_id)
    if boundary.inherited:
        raise NotFound("The session began with this summary: what was before it is in another session.")
    if index.context.about:  # as the session's page counts
        index = index_cache.count_few(reader, session, index.live_ids)
        boundary = index.boundary_at(handoff_id) or boundary
    before, after = compaction_list.weights(index, [boundary])[handoff_id]
    title = _shown(line(choices.title, TITLE_CHARS)) or "A compaction, before and after"
    lines = [_kept(boundary), _made_by(reader, session_id, boundary, choices)]
    lines += [f"The session's model is {line(session.model, 80)}."] if choices.model and session.model else []
    paragraphs = "".join(f"<p>{_shown(each)}</p>\n" for each in lines)
    summary = _summary(reader, session_id, boundary) if choices.summary else ""
    credit = "" if boundary.run else "Made with Palimpsest. "  # else the sentence on who compacted it says so
    return (
        f'{page.head(title, CARD)}<main>\n<h1 dir="auto">{title}</h1>\n{_sides(before, after)}{paragraphs}{summary}'
        f"</main>\n<footer><p>{credit}Secrets are redacted.</p></footer>\n</body>\n</html>\n"
    )


def _shown(text: str) -> str:
    return escape(clean(redact_shown(text)))


def _sides(before: Weight, after: Weight) -> str:
    """Tokens before and after, as two bars of one scale."""
    most = max(before.tokens, after.tokens, 1)
    return f'<dl class="sides">{_side("before", before, most)}{_side("after", after, most)}</dl>\n'


def _side(name: str, weight: Weight, most: int) -> str:
    tokens = f"{'about ' if weight.about else ''}{formats.thin(weight.tokens)} tokens"
    share = f"{100 * weight.tokens / most:.1f}%"
    return (
        f'<div><dt>{name.capitalize()}</dt><dd class="bar"><svg aria-hidden="true">'
        f'<rect class="all" width="100%" height="18" rx="4"/><rect class="{name}" width="{share}" height="18" rx="4"/>'
        f'</svg></dd><dd class="tokens" title="{weight.tokens:,} tokens">{tokens}</dd></div>'
    )


def _kept(boundary: Boundary) -> str:
    total = formats.counted(boundary.kept + boundary.summarised, "message")
    shorter = f", {boundary.shortened:,} of them with shorter tool output" if boundary.shortened else ""
    gone = f"; {boundary.summarised:,} became a summary" if boundary.summarised else ""
    ending = " Nothing that anybody said was left out." if boundary.shortens else ""
    if not boundary.kept:
        return f"{formats.counted(boundary.summarised, 'message')} became a summary."
    return f"{boundary.kept:,} of {total} kept{shorter}{gone}.{ending}"


def _made_by(reader: Reader, session_id: str, boundary: Boundary, choices: Choices) -> str:
    run = Run.objects.filter(pk=boundary.run).first() if boundary.run else None
    if run is None:
        if boundary.run:
            return "Compacted with Palimpsest."
        return f"Compacted {compaction_list.by_in(reader, session_id, boundary)}."
    by = ""
    if strategy_of(run.strategy).asks_model:
        by = f" The summary is by {line(run.model, 80)}." if choices.model and run.model else ""
        by = by or ("" if run.model else " The summary was made without a model.")
    return f"Compacted with Palimpsest. Nothing was deleted.{by}"


def _summary(reader: Reader, session_id: str, boundary: Boundary) -> str:
    """The beginning of the summary, redacted before it is cut."""
    row = reader.messages(session_id, [boundary.handoff_id]).get(boundary.handoff_id)
    text = redact_shown(without_rules(parted(row).summary)).strip() if row is not None else ""
    first = "\n".join(text[:SUMMARY_CHARS].split("\n")[:SUMMARY_LINES]).rstrip()
    if not first:
        return ""
    more = "\n\n…" if len(first) < len(text) else ""
    heading = "From the note to the model" if boundary.shortens else "From the summary"
    return f'<h2>{heading}</h2>\n<blockquote dir="auto">{rendered(first + more, colours=False)}</blockquote>\n'

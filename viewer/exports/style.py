"""The style of an exported page: small, in the site's colours."""

from __future__ import annotations

import re

from django.conf import settings

_SHEET = (settings.ASSETS / "static" / "palimpsest.css").read_text()
_COLOURS = ("paper", "sheet", "ink", "faded", "rule", "scraped", "accent", "user", "assistant", "bad")


def _palette() -> str:
    """These colours, as in the site's stylesheet."""
    colours = dict(re.findall(r"--(\w+): (light-dark\([^)]*\))", _SHEET))
    return "".join(f" --{name}: {colours[name]};" for name in _COLOURS)


STYLE = (
    f":root {{ color-scheme: light dark;{_palette()} }}"
    + """
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .5rem; }
h2 { font-size: .95rem; margin: 0 0 .3rem; }
h2 span { font-weight: 400; font-size: 12.5px; color: var(--faded); margin-left: .6rem; }
a { color: var(--accent); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem; margin: 0; font-size: 13px; }
dt, .note, summary { color: var(--faded); }
dd { margin: 0; }
.note, summary { font-size: 12.5px; }
.redacting { border-left: 3px solid var(--accent); padding-left: .75rem; }
.incomplete { color: var(--bad); font-weight: 600; }
header { border-bottom: 1px solid var(--rule); margin-bottom: 1rem; padding-bottom: .5rem; }
footer { border-top: 1px solid var(--rule); margin-top: 1rem; color: var(--faded); font-size: 13px; }
article, .boundary { background: var(--sheet); border: 1px solid var(--rule); border-left-width: 3px;
  border-radius: 8px; padding: .7rem 1rem; margin: 0 0 .75rem; }
.user { border-left-color: var(--user); } .user h2 { color: var(--user); }
.assistant { border-left-color: var(--assistant); } .assistant h2 { color: var(--assistant); }
.away { background: var(--scraped); }
.boundary { border-style: dashed; background: none; margin: 1.5rem 0; }
blockquote { margin: .4rem 0; padding-left: .9rem; border-left: 2px solid var(--rule); }
p { margin: .4rem 0; }
.md p[class], blockquote p[class] { font-weight: 650; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12.5px; }
pre { margin: .4rem 0; padding: .5rem .7rem; line-height: 1.5; overflow: auto; max-height: 32rem; white-space: pre-wrap;
  background: var(--paper); border: 1px solid var(--rule); border-radius: 6px; }
.call, .column { margin: .5rem 0 0; font-size: 13px; }
table { border-collapse: collapse; font-size: 13px; }
th, td { border: 1px solid var(--rule); padding: .25rem .5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; background: none; }
  pre { max-height: none; overflow: visible; }
  h2 { break-after: avoid; }
  article, .boundary { break-inside: auto; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
)

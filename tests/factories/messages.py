"""Texts of messages."""

from __future__ import annotations

HANDOFF = {"role": "user", "content": "[CONTEXT SUMMARY]: zebrafinch", "_compressed_summary": True}

# In which agents write media into texts.
DIRECTIVES = [
    "MEDIA:/tmp/photo.png",
    "Done.\nMEDIA: ~/out/report.pdf\nAnything else?",
    "media:C:\\out\\a.csv and Media: /tmp/a/Dockerfile",
    "MEDIA:\n\n/tmp/photo.png",
    "MEDIA:`/tmp/a b.png`, MEDIA:'notes', media: \"notes\"",
    "**MEDIA:/tmp/a.pdf** and _media:/tmp/b.pdf_",
    "MEDIA:/a.pngMEDIA:/b.png media:media:/tmp/c.png",
    "media:\n> quoted\n/tmp/a.png",
    "media: `code` /tmp/a.png",
    "media: ```\nfenced\n``` /tmp/a.png",
    'media:"blanked" /tmp/a.png',
    "MEDIA:photo.png",
    "medıa:/tmp/a.png and MEDİA:/tmp/b.png",
]

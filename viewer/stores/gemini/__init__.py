"""Sessions of Gemini CLI, files of lines or older ones of one JSON object: they are only read (docs/gemini.md)."""

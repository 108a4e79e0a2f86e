"""The MCP server: an agent's own way to what was summarised away, over `viewer.recall`.

`tools` are the tools, `answers` what they do, `words` how they say it. `server` serves them with the official SDK: on
standard input and output, and to `http`.
"""

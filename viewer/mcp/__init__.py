"""The MCP server: an agent's own way to what was summarised away, over `viewer.recall`.

`tools` are the tools, `answers` what they do, `words` how they say it. `stdio` is a server of its own, because an agent
starts one with each session; `server` is for `http`, with the official SDK, which only a request imports.
"""

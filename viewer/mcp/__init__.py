"""The MCP server: an agent's own way to what was summarised away, over `viewer.recall`.

`tools` are the tools and what they do, `words` their answers; only `server` and `http`'s requests import the SDK, which
takes a second: the site does not pay for it when it starts.
"""

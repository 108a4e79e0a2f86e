"""The agents that write the stores which this site reads, as tests of several directories play them.

`hermes/`, `claude_code/`, `codex/`, `openclaw/`, `pi/`, `gemini/`, `qwen/`, `opencode/`: one directory for each kind of
agent. In each, `by_hand.py` writes sessions as the client does and reads them by its rule; the others are named there.
`json_file.py` is the kind that the guide writes as an example.

For all kinds: `base.py` is what an agent can do and what a model is told is made of, `talk.py` the messages that its
sessions consist of, `reading.py` what our readers say of them, `writing.py` compactions of them, `client_words.py` what
clients put around a person's words, `chat_views.py` what a model is told by pi or OpenClaw, in blocks that can be
compared, `google_contents.py` the same of Gemini CLI and Qwen Code.
"""

"""Runs in Hermes' own environment: compacts what comes on a line of standard input as Hermes does without a model.

It is the agent's own class; only its question to a model is answered with nothing, so that its fallback writes.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    module: Any = importlib.import_module("agent.context_compressor")

    def nobody(**_: Any) -> Any:
        raise ValueError("no model")  # a failing connection would make it give up

    module.call_llm = nobody
    compressor: Any = None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["begins"]:
            compressor = module.ContextCompressor(
                model="none/at-all", quiet_mode=True, config_context_length=asked["window"]
            )
        left = compressor.compress(asked["messages"], force=True)
        answers.write(json.dumps(left, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

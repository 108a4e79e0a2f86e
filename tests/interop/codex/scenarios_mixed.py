"""Scenarios that mix the others: words said again, a past before a compaction gone back to, rare items."""

from __future__ import annotations

import base64

from tests.interop.pictures import png

from .app_server import AppServer
from .playing import Stage
from .scenarios_compacted import compact, talk
from .scenes import BOTH, scenario, shell
from .service import Reply, calls, function, message, new_id, says


@scenario(7, models=BOTH)
def same_words(stage: Stage) -> None:
    with stage.app_server() as server:
        session = server.start()
        for _ in range(3):
            stage.service.replies += [says("Yes.")]
            server.turn(session, "Go on.")
        server.unload(session)
        for at in range(6):
            stage.service.replies += [calls(shell("echo a"), shell("echo a"), text="Yes."), says("Yes.")]
            stage.turn_of(server, session, "Go on.")
            if at % 2:
                compact(server, session)
        stage.turn_of(server, session, "Go on.")


@scenario(5, models=BOTH)
def back_behind_a_compaction(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        turn = stage.turn_of(server, session, "What grows on the roof?")
        compact(server, session)
        stage.turn_of(server, session, "And under it?")
        fork = server.fork(session)
        server.unload(fork)
        server.resume(session)
        server.revert(session, turn)
        server.unload(session)
        stage.turn_of(server, session, "All that is forgotten.")
        stage.turn_of(server, fork, "But not here.")
        compact(server, session)
        stage.turn_of(server, session, "Thank you.")


@scenario(3, models=BOTH)
def fork_of_the_past(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        turn = stage.turn_of(server, session, "What grows on the roof?")
        compact(server, session)
        options = {"threadId": session, "excludeTurns": True, "beforeTurnId": turn}
        fork = str(server.call("thread/fork", **options)["thread"]["id"])
        server.unload(fork)
        server.call("thread/archive", threadId=session)
        stage.turn_of(server, fork, "What grows in the cellar?")
        stage.turn_of(server, fork, "Thank you.")


@scenario(4, models=BOTH)
def rare_items(stage: Stage) -> None:
    (stage.work / "drawing.png").write_bytes(png(24))
    searched = {
        "type": "web_search_call",
        "id": new_id("ws"),
        "status": "completed",
        "action": {"type": "search", "query": "gardens"},
    }
    drawn = {
        "type": "image_generation_call",
        "id": new_id("ig"),
        "status": "completed",
        "revised_prompt": "A garden",
        "result": base64.b64encode(png(8)).decode(),
    }
    silent = {"type": "reasoning", "id": new_id("rs"), "encrypted_content": "hidden", "summary": []}
    with stage.app_server() as server:
        session = talk(stage, server)
        stage.service.replies += [
            calls(function("view_image", {"path": str(stage.work / "drawing.png")})),
            Reply((silent, searched, message("One thing."), silent | {"id": new_id("rs")}, message("Another thing."))),
        ]
        stage.turn_of(server, session, "Look at it, and around.")
        stage.service.replies += [Reply((drawn, message("Here it is.")))]
        stage.turn_of(server, session, "Draw one.")
        stage.turn_of(server, session, "Thank you.")
        compact(server, session)
        stage.turn_of(server, session, "Good bye.")


@scenario(2, models=BOTH)
def steered(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        server.resume(session)
        stage.service.replies += [calls(shell("sleep 0.5; echo a")), says("Both are done.")]
        turn = server.start_turn(session, "Do what takes a moment.")
        stage.wait_for(session, "sleep 0.5")
        _steer(server, session, turn, "And look at the roof.")
        server.wait_for("turn/completed")
        server.unload(session)
        stage.turn_of(server, session, "Thank you.")
        stage.turn_of(server, session, "Good bye.")


def _steer(server: AppServer, session: str, turn: str, prompt: str) -> None:
    said = [{"type": "text", "text": prompt}]
    server.call("turn/steer", threadId=session, expectedTurnId=turn, input=said)

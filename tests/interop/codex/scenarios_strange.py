"""Scenarios of sessions that were cut off, given other things than text, or told to somebody else."""

from __future__ import annotations

from contextlib import suppress

from tests.interop.processes import ClientFailed

from .app_server import AppServer
from .client import GPT_5, GPT_6
from .playing import Stage
from .scenarios_compacted import compact, talk
from .scenes import BOTH, picture, scenario, shell
from .service import calls, function, refuses, says


@scenario(3, models=BOTH)
def killed_while_asked(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        server.resume(session)
        asked = len(stage.service.of("turn"))
        with stage.service.held():
            server.start_turn(session, "Nobody will answer this.")
            stage.service.wait_for("turn", asked + 1)
            server.kill()
    _go_on(stage, session)


def _go_on(stage: Stage, session: str) -> None:
    with stage.app_server() as server:
        for prompt in ("Go on.", "And on.", "And on once more."):
            stage.turn_of(server, session, prompt)


@scenario(3, models=BOTH)
def killed_in_tools(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        server.resume(session)
        stage.service.replies += [calls(shell("echo quick"), shell("sleep 30"), text="Both.")]
        server.start_turn(session, "Do what takes long.")
        stage.wait_for(session, "sleep 30")
        server.kill()
    _go_on(stage, session)


@scenario(2)
def refused(stage: Stage) -> None:
    session = stage.start("What is in the garden?")
    stage.service.replies += [calls(shell("echo a")), refuses(400, "invalid_request_error", "Not this.")]
    with suppress(ClientFailed):
        stage.turn(session, "Try it.")
    stage.turn(session, "Try again.")


@scenario(3)
def other_models(stage: Stage) -> None:
    session = stage.start("What is in the garden?")
    stage.turn(session, "And you?", "-m", GPT_5)
    stage.turn(session, "And you again?", "-m", GPT_6)
    stage.turn(session, "Thank you.")


@scenario(3)
def sub_agent(stage: Stage) -> None:
    service = stage.service
    service.helpers |= {"Count the files": says("There are three files.")}
    task = {"task_name": "count", "message": "Count the files here.", "fork_turns": "none"}
    service.replies += [calls(function("spawn_agent", task, "collaboration"), text="Somebody else may count.")]
    service.replies += [calls(function("wait_agent", {"timeout_ms": 10_000}, "collaboration")), says("Three.")]
    session = stage.start("How many files are there?")
    with stage.app_server() as server:
        for prompt in ("Thank you.", "Good bye.", "And again."):
            stage.turn_of(server, session, prompt)


@scenario(9, models=BOTH)
def all_sorts(stage: Stage) -> None:
    rules = stage.work / "AGENTS.md"
    rules.write_text("Speak of gardens alone.\n")
    with stage.app_server() as server:
        session = talk(stage, server)
        stage.turn_of(server, session, "What is on this picture?", picture(8))
        rules.write_text("Speak of houses alone.\n")
        stage.turn_of(server, session, "And on these two?", picture(12), picture(16))
        _interrupt(stage, server, session)
        stage.turn_of(server, session, "Go on.")
        _add(server, session, "Said by a program.")
        stage.turn_of(server, session, "Who said this?")
        compact(server, session)
        stage.turn_of(server, session, "What was on the pictures?")
        with stage.rollout(session).open("a") as file:
            file.write('{"timestamp":"2026-11-26T01:00:00.000Z","type":"event_msg","payl')
        stage.turn_of(server, session, "A torn line is before this.")
        compact(server, session)
        for prompt in ("And now?", "Thank you.", "Good bye."):
            stage.turn_of(server, session, prompt)


def _interrupt(stage: Stage, server: AppServer, session: str) -> None:
    server.resume(session)
    stage.service.replies += [calls(shell("echo quick"), shell("sleep 30"), text="Both.")]
    turn = server.start_turn(session, "Do what takes long.")
    stage.wait_for(session, "sleep 30")
    server.call("turn/interrupt", threadId=session, turnId=turn)
    server.wait_for("turn/completed")
    server.unload(session)


def _add(server: AppServer, session: str, text: str) -> None:
    server.resume(session)
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    server.call("thread/inject_items", threadId=session, items=[said])
    server.unload(session)

"""What takes a request back is seen, and named in the request for a summary."""

from __future__ import annotations

import pytest

from compaction import Policy, plan
from compaction.cancelling import takes_back
from compaction.handoff import SYNTHETIC_USER_STARTS
from compaction.llm.digest import request_of
from compaction.llm.prompt import prompt_of
from tests.compaction.transcripts import count, exchange, reply, user
from tests.cost import within


@pytest.mark.parametrize(
    "words",
    [
        "stop", "Stop!", "STOP IT NOW", "No, stop. That is the wrong branch.", "Please stop", "Wait, stop doing that.",
        "undo", "Undo that, please", "ok, undo the last commit", "Revert it.", "Roll back", "Take that back",
        "never mind", "Nevermind, I found it", "Actually, never mind. That is all.", "Thanks, but forget it.",
        "That is too slow. Never mind.", "I changed my mind, use Redis", "Cancel that.", "Don't do that any more",
        "don’t bother", "Leave it as it is.", "On second thought, keep it.", "Scrap that idea",
        "Stopp!", "Halt", "Mach das rückgängig", "Bitte nimm es wieder zurück", "Vergiss es", "Lass das sein.",
        "Arrête", "Arrêtez ça !", "Annule ça", "Laisse tomber", "Oubliez cela", "Non, annule tout.",
        "Para.", "Olvídalo", "Deshaz eso", "Déjalo", "no importa", "He cambiado de idea",
        "Pare!", "Esquece isso", "Desfaz isso", "Deixa pra lá", "Fermati", "Annulla tutto", "Lascia perdere",
        "Стоп", "Отмени это", "Верни как было", "Не надо", "Неважно.",
        "停下", "撤销刚才的修改", "算了", "不用了，谢谢",
        "不，取消吧", "やめて", "元に戻してください", "もういい", "그만해", "되돌려 줘",
    ],
)  # fmt: skip
def test_words_that_take_something_back(words: str) -> None:
    assert takes_back(words)


@pytest.mark.parametrize(
    "words",
    [
        "Stop the server and start it again.", "Cancel reservation XEHM4B.", "Upgrade it to economy, then cancel it.",
        "Add an undo button to the editor.", "Never commit to main.", "The bus stops here.",
        "Leave it running on 8080.",
        "Why did the job abort?", "Revert commit 3f2a to fix the build", "I never mind waiting", "nonstop",
        "Don't stop.",
        "Para el informe, usa la tabla 4.", "Alto rendimiento, por favor", "Pare de Lisboa", "Lass uns anfangen.",
        "Annule la réservation XEHM4B", "Стоп-кран проверь", "停车费是多少", "取消订单 4711", "", "###STOP###",
    ],
)  # fmt: skip
def test_requests_that_only_sound_so(words: str) -> None:
    assert not takes_back(words)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["stop ", "ok, ", "no. ", "stop it that ", ".\n", "never", " "])
def test_any_words_are_read_in_time(piece: str) -> None:
    assert within(0.1, takes_back, piece * (100_000 // len(piece)))


def test_the_newest_words_that_cancel_are_named_to_a_model() -> None:
    """Also those that stay behind the summary, which its transcript does not show; older ones speak for themselves."""
    old, new = "Stop. Another way.", "Never mind the login page, undo that, it used password hunter2."
    messages = [*exchange(2), user(old), reply("Stopped."), *exchange(30)[1:], user(new), reply("Undone.")]
    request = request_of(plan(messages, Policy(context_window=4_000), count))
    text = prompt_of(request).user
    quoted = text.partition("<newest>")[2].partition("</newest>")[0]
    assert quoted == "\n- Never mind the login page, undo that, it used password [REDACTED].\n"
    assert "cancelled" in text.partition("</newest>")[2]
    assert "Never mind" not in request.digest and old in request.digest
    assert "<newest>" not in prompt_of(request_of(plan(exchange(40), Policy(context_window=4_000), count))).user


def test_a_notice_of_the_program_cancels_nothing() -> None:
    notice = f"{SYNTHETIC_USER_STARTS[0]} Stop. Never mind."
    request = request_of(plan([*exchange(30), user(notice), reply("ok")], Policy(context_window=4_000), count))
    assert request.taken_back == ()

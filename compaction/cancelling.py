"""Whether a person's message takes back an earlier request: "stop", "undo that", "never mind".

A summary that lists such a request as in progress makes a model continue it (hermes-agent #41607, #38364). Only the
first sentences of a message are read, in the languages of `answer`. A sentence that begins like this and then names a
thing ("Stop the server") is an ordinary request.
"""

from __future__ import annotations

import re

READ = 400  # characters of a message: what takes something back says so at once
_OPENING = (
    r"(?:(?:ok(?:ay)?|no|wait|hey|hold on|actually|please|oh|sorry|thanks|thank you|but|just|bitte|nein|doch|non"
    r"|attends|por favor|per favore|нет|不|いや|아니)[\s,.!:、，]{1,3}){0,3}"
)
_IT = r"(?:it|that|this|those|all|everything|the last|the whole|what you|your|my last)\b"
# What ends here or is followed by a sign, and what may be followed by anything.
_WHOLE = (
    r"stop(?: (?:it|that|this|now|here|there|please|everything|all of (?:it|that|this)|doing (?:it|that|this)"
    r"|right (?:now|there|here)|immediately|working on (?:it|that|this))){0,3}|halt|abort|undo|revert|cancel|roll ?back"
    r"|forget (?:it|that|this)|drop (?:it|that|this)|cancel (?:it|that|this)|skip (?:it|that|this)"
    r"|(?:don['’]?t|do not) (?:do|continue|go on with|bother with) (?:it|that|this)(?: any ?more)?"
    r"|(?:don['’]?t|do not) (?:bother|continue|go on)|leave (?:it|that|this)(?: alone| be| as (?:it|that) (?:is|was))?"
    r"|stopp|halt|abbrechen|brich (?:das |es )?ab|rückgängig|lass (?:es|das)(?: sein| bleiben| gut sein)?|schon gut"
    r"|arr[êe]te[zs]?(?: ça| tout| cela)?|annule[rz]?(?: ça| tout| cela)?|peu importe|tant pis"
    r"|para(?: ya| eso)?|det[ée]nte|alto|deshazlo|déjalo|no importa|da igual|cancela eso"
    r"|par[ae](?: isso| já)?|desfaz|deixa(?: pra lá| isso)|não importa|cancela isso"
    r"|fermati|ferma(?: tutto)?|annulla(?:lo| tutto)?|lascia (?:perdere|stare)|non importa"
    r"|стоп|остановись|остановитесь|прекрати(?:те)?|отмена|отмени(?:те)?(?: это| всё)?|не надо|неважно|забудь(?:те)?"
)
_BEGUN = (
    rf"never ?mind\b|on second thoughts?\b|i(?:['’]ve| have)? changed my mind\b|scrap (?:it|that|this)\b|undo {_IT}"
    rf"|revert {_IT}|discard {_IT}|take (?:it|that|this|everything) back\b|roll (?:it|that|this|everything) back\b"
    r"|forget (?:about )?(?:it|that|this)\b|vergiss (?:es|das)\b|ich habe es mir anders überlegt"
    r"|(?:mach|nimm) (?:das|es|alles) (?:wieder )?(?:rückgängig|zurück)|laisse[zr]? tomber|j['’]ai changé d['’]avis"
    r"|oublie[zs]? (?:ça|cela|tout)|défai[st](?:es)? (?:ça|cela|tout)|olvida(?:lo|te de eso| eso)|olvídalo"
    r"|deshaz (?:eso|lo|todo)|he cambiado de (?:idea|opinión)"
    r"|esque[çc][ae] (?:isso|tudo)|desfa(?:z|ça) (?:isso|tudo)|mudei de ideia|dimentica(?:lo| tutto)|ho cambiato idea"
    r"|верни(?:те)? (?:всё |все )?(?:как было|обратно|назад)|откати(?:те)?\b|я передумал"
    r"|停(?:下|止|手)|别(?:做|弄|管|改|搞)了|撤销|撤回|取消(?:吧|它|这个|那个|刚才)|算了|不用了|回滚|恢复原样|忘了(?:它|这个|吧)"
    r"|止めて|やめて|ストップ|中止して|取り消して|元に戻して|もういい|忘れて|キャンセルして"
    r"|멈춰|그만(?:해|둬)|중지해|취소해|되돌려|됐어|잊어버려|하지 ?마"
)
_TAKES_BACK = re.compile(
    rf"(?i)(?:\A|[.!?;\n。！？])\s*{_OPENING}(?:(?:{_WHOLE})(?=\s*(?:[.!?,;:…。！？、，—–]|-\s|please\b|bitte\b|\Z))|{_BEGUN})"
)


def takes_back(words: str) -> bool:
    """Whether the first sentences of a person's message cancel an earlier request."""
    return bool(_TAKES_BACK.search(words[:READ]))

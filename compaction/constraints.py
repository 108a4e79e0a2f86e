"""Which sentences of people bind the agent: rules, prohibitions, limits and preferences, in some twenty languages.

Theory: a word such as "never" or "must" binds only in some places. It does where it opens an order ("Never push"),
follows a modal or names a limit; it does not in a report ("it never worked"), a guess ("there must be a mistake") or a
question. So the places are listed, not the words. Scripts without spaces and languages with an imperative of their own
are recognised by phrases. Precision and recall are measured on the marked sentences of tests/data/constraints.tsv.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 1_000  # characters of a sentence that are looked at: longer ones are pasted text, and patterns cost


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What may stand before an order: "Please ...", "and ...", "From now on, ...".
_OPENING = (
    r"(?:^|[.;:,!–—(]\s+|\s-\s|\b(?:and|but|so|then|und|aber|et|mais|y|pero|e|ma)\s+)"
    r"[\"'(*\[>\s-]*(?:(?:please|also|just|and|but|so|ok|okay|then|therefore|again|bitte|aber|und|por favor"
    r"|s['’ ]il (?:te|vous) pla[iî]t)[,:]?\s+){0,3}"
)
_VERBS = (
    "use|touch|change|edit|modify|run|write|answer|reply|respond|take|book|read|send|work|commit|push|deploy|delete"
    "|remove|add|create|show|make|ask|call|pay|include|keep|test|fix|look|search|install|publish|merge|refund|cancel"
    "|charge|speak|talk|do|give|list|report|open|log|print|buy|order|contact|mention|refer|rename|move|copy|check"
)
_ORDERS = (
    r"(?:do not|don['’]t|never|always) (?!worry|mind\b|know\b|have\b|remember\b|think\b)\w",
    r"never\W+\w+ing\b",
    rf"only (?:ever )?(?:{_VERBS}|if|when|after|with|in|on|the|from|for|via)\b",
    rf"(?:{_VERBS})\s+(?:\w+\s+){{0,2}}only\b",
    r"(?:make|be) (?:very |absolutely )?(?:sure|certain)\b",
    r"(?:ensure|avoid|refrain from|stick to|stay (?:with|in|within|below|under|away)|limit yourself"
    r"|restrict yourself)\b",
    r"hands off\b|stay away from|keep (?:your )?hands off",
    r"leave\b.{1,60}\b(?:alone|untouched|unchanged|as (?:it is|they are|is))\b",
    r"keep (?:it|them|this|that|the|all|our|my|your|both|every|each|\w+ \w+ (?:to|under|below|within))\b",
    r"(?:ask|check with|consult|tell|warn|confirm with|wait for|clear (?:it|this|that) with)\s+(?:me|us|my|our"
    r"|the \w+)\b"
    r".{0,60}\b(?:before|first|whenever|ok\b|yes|go|approval|permission)",
    r"wait (?:for|until|till)\b",
    r"(?:use|write|take|prefer)\b.{1,60}(?:,| )\b(?:not|never)\b",
    rf"(?:{_VERBS}|prefer)\b.{{1,60}} (?:instead of|rather than|before (?:each|every|any)|after (?:each|every|any))\b",
    rf"instead,? (?:try to )?(?:{_VERBS})\b",
    r"(?:every|each|all|any) (?:\w+ ){1,4}(?:needs?|requires?|must|has to|have to)\b",
    r"no (?:new |more |other )?(?!\w+ \w+ed\b)\w+(?: \w+)? "
    r"(?:in|on|for|to|before|after|outside|without|unless|until|at)\b",
    r"no new \w+",
    r"(?:all|every|each) \w+ (?:in|with|by|before) \w+(?: \w+)?,? please\b",
    r"under no circumstances|in no case|by no means|on no account|from now on|at all times|whatever you do",
    rf"(?:please )?always (?:{_VERBS})\b",
)
_LABEL = re.compile(
    r"(?i)^[\W_]*(?:rules?|important|critical|constraints?|requirements?|policy|prohibited|forbidden|mandatory|required"
    r"|warning|guidelines?|limit|budget|regeln?|wichtig|verboten|vorgabe|r[eè]gles?|interdit|obligatoire|reglas?"
    r"|importante|regol[ae]|regras?|zasad[ay]|правил[оа]|важно|规则|規則|重要|注意|ルール|규칙|중요)[\W_]{0,4}[:：]\s*\S"
)
# Anywhere in a sentence: modals that leave no choice, limits, what somebody does not want.
_ANYWHERE = re.compile(
    r"(?i)\b(?:must not|mustn['’]t|may not|shall not|should not|shouldn['’]t|should never|must never|may only"
    r"|must always"
    r"|should always|should only|must only|can only be|have to be|has to be|is to be|are to be"
    r"|(?:is|are) (?:strictly )?(?:forbidden|prohibited|off[- ]limits|not allowed|mandatory|required)"
    r"|(?:do|does|did) not exceed|doesn['’]t exceed|must\s+(?!be\b|have\b|'ve\b)\w+|shall (?!I\b|we\b)\w+"
    r"|must be \w+(?:ed|en|t|wn|ne|de|pt)\b"
    r"|no (?:more|less|fewer|later|earlier|longer|sooner) than|not (?:more|less|fewer|later|earlier) than"
    r"|at (?:the )?most|(?:is|are|be|take|spend|costs?|with|budget of|limit of|exactly|for) at least"
    r"|(?:up to|within|below|under|over|above|maximum of|max(?:imum)?)\s+[$€£¥]?\d[\d,.]*\s*"
    r"(?:[$€£¥%]|lines|words|characters|dollars|euros|usd|eur|limit|budget)"
    r"|[$€£¥]\d[\d,.]* (?:limit|budget|maximum)|as long as|anything\b.{1,60}\bnothing else|unless I"
    r"|without my (?:yes|ok|consent|approval|permission|say)"
    r"|without asking|without (?:changing|touching|adding|removing|deleting|breaking|altering|modifying|using|losing"
    r"|cancel+ing|moving|renaming|installing|upgrading|leaving|rewriting)\b"
    r"|(?:always|never|only)[,]? (?:in|with|use|using) (?:english|german|french|spanish|metric|utc))"
)
_WANTS = re.compile(
    r"(?i)\b(?:I|we)(?:['’](?:d|ll|m|re))?\s+(?:(?:really|just|still|also|absolutely|definitely|certainly|strongly"
    r"|actually|would|will|do|only|much|am|are)\s+){0,3}"
    r"(?:(?:do not|don['’]t|not|won['’]t|wouldn['’]t|never)\s+(?:really\s+)?(?:want|need (?!to know)|wish"
    r"|like (?:to|it|any)|accept|take)\b"
    r"|want no|need no\b|prefer\b|rather\b|insist (?:on|that)|insisting|refuse\b|avoid\b)"
    r"|\b(?:I|we) only (?:need|want|accept|take|fly|pay|use|eat)\b|\bcan only (?:use|pay|fly|take|be|do|spend)\b"
    r"|\bgo ahead without\b|\bmy (?:budget|limit) is\b|\bprefer(?:ably)?\b.{0,40}\b(?:over|to|not)\b"
)
_FOREIGN = re.compile(
    # German
    r"(?i)\b(?:nie|niemals|keinesfalls|auf keinen fall|unter keinen umständen|unbedingt|stets|ausschließlich"
    r"|höchstens)\b"
    r"|\b(?:nicht|keine?n?|nur|immer)\b.{0,40}\b(?:darf|dürfen|darfst|soll(?:st|en|t)?|ändern|anfassen|löschen|verwenden"
    r"|benutzen|nehmen|pushen|schreiben)\b|\b(?:darf|darfst|dürfen|soll|sollst|sollen)\b.{0,40}\b(?:nicht|kein\w*|nur|nie)\b"
    r"|^(?:bitte )?(?:immer|nur)\b|\bfinger weg\b|\b(?:frage?|fragt|fragen sie)\b.{0,15}\b(?:mich|uns|erst|vorher)\b"
    r"|\bmuss(?:t)? (?!ein |es |das |etwas )\w|\bmüssen (?!wohl)\w|\b(?:lass|lasst"
    r"|lassen sie)\b.{0,40}\b(?:in ruhe|unverändert|stehen)\b"
    r"|\bbitte\b.{0,40}\b(?:nur|keine?[nmrs]?|nicht|immer|erst)\b|^(?:erst|zuerst) (?:frag|zeig|sag)"
    r"|\bohne (?:meine|unsere) \w+"
    # French
    r"|\bne (?:\w+ ){1,2}?(?:pas|jamais|plus|rien)\b|\bn['’](?!(?:ai|a|as|ont|avons|avez|est|était"
    r"|y)\b)\w+ (?:pas|jamais|plus|rien)\b"
    r"|\bil (?:ne )?faut (?!que je)|\b(?:interdit|obligatoire|impérativement|uniquement)\b|^(?:toujours|jamais)\b"
    r"|\bdemande[rz]?[- ]?(?:moi|nous)\b.{0,20}\bavant\b|\b(?:doit|doivent|devez) (?!y avoir|être une? )\w"
    # Spanish, Portuguese, Italian
    r"|(?:^|[.,;:!¡]\s*|\b(?:y|pero|ni)\s+)(?:por favor,? )?(?:no|n[uu]nca|jam[aá]s) "
    r"(?:me |lo |la |los |las |se )?\w{2,}(?:es|as|éis|áis|en|an)\b(?! (?:in|on|for|to|of|are|were|\w+ed)\b)"
    r"|\bsin (?:mi\b|pregunt|avisar|consultar)|\bsem (?:a )?minha\b|\bsenza (?:il )?mio\b|\bsans (?:mon|notre) \w+"
    r"|\b(?:y|pero|,) que (?:no )?\w+ .{0,40}\b(?:antes|después|máximo|mínimo)\b"
    r"|\b(?:usa|usad|use|usen|utiliza|env[ií]a|manda|trabaja|responde|contesta|entrega)\w* (?:solo|sólo|solamente"
    r"|únicamente|siempre)\b"
    r"|(?:^|[.,;:!¡]\s*)(?:por favor,? )?(?:não|nunca|jamais) \w{2,}(?:e|es|a|em|am|ar|er|ir)\b"
    r"|(?:^|[.,;:!]\s*)(?:per favore,? )?(?:non|mai) \w+(?:are|ere|ire|ate|ete|ite)\b"
    r"|\bpreg[uú]nt[ae](?:me|nos)\b.{0,20}\bantes\b|\bpergunt[ae][- ]?me\b.{0,20}\bantes\b"
    r"|\bchiedi(?:mi)?\b.{0,20}\bprima\b"
    r"|^(?:siempre|solo|sólo|sempre|apenas|somente|soltanto) (?!me |se |que |te )\w+"
    r"|\b(?:prohibido|obligatorio|vietato|obbligatorio|proibido|obrigatório)\b|\b(?:debes?|deben|deve|devono"
    r"|devem) (?!de |haber|haver|esserci|ser un|essere un)\w"
    # Russian, Ukrainian, Polish, Dutch, Scandinavian, Turkish, Hindi, Arabic
    r"|\b(?:никогда|ніколи) не \w+(?:й|йте|ть|ти|и|ите|ь|ьте)\b|\b(?:нельзя|запрещено|обязательно)\b|\bне (?:надо"
    r"|нужно)\b"
    r"|(?:^|[.,;:!]\s*)(?:пожалуйста,? )?(?:не|только) \w+(?:й|йте|и|ите|ь|ьте|ть)\b|\bдолж(?:ен|на|ны|но) (?!быть)\w"
    r"|\b(?:не|ні) \w{2,}(?:ай|яй|уй|юй|ій)(?:те)?\b|\b(?:и|но|а|і|та) не \w+(?<!л)и(?:те)?\b"
    r"|\bбез (?:моего|нашего|мого|нашого) \w+|\b(?:сначала|сперва|спочатку) (?:спроси|покажи|согласу|уточни|запитай)"
    r"|(?:,\s*(?:но )?|\w(?:ай|яй|уй|юй)(?:те)?\b.{1,40}\b)только (?:без|на|с|в|через|по|после|до|из|за)\b"
    r"|\b(?:zapytaj|spytaj) mnie\b|\bbez mojej \w+"
    r"|\b(?:nigdy|tylko|zawsze) (?:nie )?\w+|\bnie (?:usuwaj|zmieniaj|ruszaj|wolno|dotykaj)\w*|\b(?:nooit|verboden)\b"
    r"|^(?:alleen|altijd|aldrig|alltid|bara|asla|daima|sadece)\b|\bmag niet\b|\bmoet(?:en)? (?!een fout)\w"
    r"|कभी (?:नहीं|न|मत)|हमेशा \S+|\bلا ت\w+|ممنوع|يجب"
    # Chinese, Japanese, Korean
    r"|必须|必須|不要|不得|不可(?!能|以|思)|不准|不许|禁止|务必|務必|切勿|请勿|請勿|绝不|絕不|只(?:能用|许|准|用)|仅(?:限|用|可)"
    r"|一律|绝对不|絕對不|千万(?:别|不)|一定要(?!不要)|不能超过|没有我的|(?:^|[，。；、,\s前])(?:请|先|就)?别(?!人|的|处|墅|名|致|扭|说)"
    r"|先(?:问|告诉|通知)我|问过?我(?:再|之后|以后)|前(?:都)?不(?:能|要|得)|(?:^|[，。；,])不能(?!不)"
    r"|(?<!为什么)(?<!怎么)总是要|必ず|絶対に?|ないで(?:ください|下さい|ね|。|$)|ない(?:こと|ように)(?!が|も|は|で)"
    r"|(?:先に|事前に|まず|必ず)(?:私|僕|わたし|こちら)?に?(?:聞|確認|相談|連絡|許可)|(?:聞|確認|相談|承認|許可)\S{0,6}てから"
    r"|(?:予算|上限|期限|締め切り)は.{1,20}(?:まで|以内|以下)|てはいけ|てはなら|(?:しない|せぬ)こと|のみ|だけを?(?:使|変|に)"
    r"|(?:먼저|전에|전엔).{0,14}(?:물어|확인|알려|말해)|지 말아|말 것|"
    r"반드시|절대|하지 ?(?:마|말)|지 ?마세요|지 ?마\b|항상|금지"
)
_QUESTION = ("?", "？")
_IN_QUESTIONS = re.compile(
    r"(?i)^(?:only|never|always) \w|\bwithout (?:chang|touch|add|remov|delet|break|alter|modif|cancel|mov)\w*ing\b"
)
# A guess, a report, an excuse: words that bind elsewhere do not here.
_REPORT = re.compile(
    r"(?i)\bthere must\b|\b(?:I|we|you|he|she|they|it|that|this) must (?:have|be (?!\w+ed\b|\w+en\b))"
    r"|\b(?:I|we)['’](?:ve|m|ll) (?:always|never|only|sure|make sure)\b|\b(?:I|we) (?:have|had) (?:always|never|only)\b"
    r"|\b(?:I|we) (?:think|guess|suppose|believe|suspect|assume|wonder)\b(?!.{0,30}\b(?:you|we) should)"
    r"|\bI (?:really )?(?:do not|don[’']t|cannot|can['’]t|only) (?:have|know|remember|see|recall|mind|understand"
    r"|think)\b"
    r"|\bjust to (?:make sure|be sure|confirm)\b|\bI (?:also )?(?:just )?(?:want|wanted|would like) to make sure\b"
    r"|^(?:why|wer|warum|pourquoi|por qué|waarom|what|where|when|how|who)\b"
    r"|\b(?:no|not) (?:more|less) than (?:a (?:bit|little)|ever)\b|\bnever ?mind\b|\bfor at least \w+ (?:hours"
    r"|days|weeks|years)"
    r"|\b(?:habe?|hat|haben|hatten?|war|ist|sind|wurden?)\b.{0,50}\b(?:nie|niemals|nicht|keine?n?)\b.{0,40}\w+(?:t|en)[.!]?$"
    r"|\bnoch nie\b|^(?:thanks|thank you)\b[^.]*$"
)
# A numbered line of code, an assignment, a quoted piece, a program's own message ("cat: x: cannot open").
_PASTED = re.compile(
    r"\d{2,}[:|→]\s{2}|[\w.\[\]]+\s*[-+*/|&]?=[^=]|[\"'].*[\"'][,:]?$"
    r"|(?!(?i:rules?|important|policy|constraints?|requirements?):)(?:[\w./*-]+: ){1,2}(?:cannot|only|must)\b"
    r"|(?:import|from|def|class|return|raise|if|for|const|let|var|function|assert\w*)\b.*[({:;=]"
)
# Without one of these no sentence in Latin letters without accents binds: a first look that costs little.
_FIRST_LOOK = _set_of(
    """not don t never only always must mustn shall shouldn should may sure certain ensure avoid refrain stick
    stay limit restrict hands leave keep ask check consult tell warn confirm wait clear use write take
    prefer preferably no without circumstances case means account now times whatever please have has is are
    be exceed doesn most least more less fewer up within below under over above max maximum budget long
    unless want need wish like rather insist insisting refuse accept rule rules important critical
    constraint constraints requirement requirements policy prohibited forbidden mandatory required warning
    guideline guidelines regel regeln wichtig verboten vorgabe regle regles interdit obligatoire regla
    reglas importante regola regole regra regras zasada zasady obligatorio vietato obbligatorio proibido
    prohibido nie niemals keinesfalls unbedingt stets nicht kein keine keinen nur immer darf darfst soll
    sollst sollen finger frag frage fragt fragen muss musst lass lasst lassen ne n pas jamais plus rien il
    uniquement toujours demande demandez demander doit doivent devez nunca jamas non mai preguntame pregunte
    pregunta pergunte pergunta chiedi chiedimi siempre solo sempre apenas somente soltanto debe debes deben
    deve devono devem nigdy tylko zawsze nooit alleen altijd aldrig alltid bara asla daima sadece mag moet
    moeten go my wouldn won d m re ll every each any all before after instead nothing sin que sem senza sans
    bitte erst zuerst ohne usa usad usen utiliza envia manda trabaja responde contesta entrega zapytaj spytaj bez"""
)
_WORDS = re.compile(r"[a-z]+")
_ORDER = re.compile(f"(?i){_OPENING}(?:{'|'.join(_ORDERS)})")


@lru_cache(maxsize=1 << 14)  # a compaction asks of the same sentences for the summary and for what it loses
def is_binding(sentence: str) -> bool:
    """Whether a sentence lays something down: a rule, a prohibition, a limit, a preference.

    Questions do so only where they say what must stay as it is; lines of programs and logs that people paste do not.
    """
    text = " ".join(sentence[:LONGEST].split())
    if not text or _PASTED.match(text):
        return False
    if text.endswith(_QUESTION):
        return bool(_IN_QUESTIONS.search(text))
    if text.isascii() and _FIRST_LOOK.isdisjoint(_WORDS.findall(text.lower())):
        return False
    if _LABEL.match(text):
        return True
    if _REPORT.search(text):
        return False
    return any(pattern.search(text) for pattern in (_ORDER, _ANYWHERE, _WANTS, _FOREIGN))

"""Which sentences of people are standing instructions: lasting rules, limits, preferences and circumstances.

Theory: what an order is about separates a one-time order ("Fix the login bug") from a standing one ("Use British
spelling"). An order is standing if it is general: it is about each of something that recurs ("every reply", "when you
cite a paper"), about a manner ("in French", "with two spaces"), about what is forbidden, allowed or limited; or if a
frame says so ("for the rest of this session"). Plain facts are standing if their subject binds ("the deadline is ...",
"I am vegetarian"). Words such as "never" or "must" bind in some positions only, not in a report ("it never worked"), a
guess or a question, so the positions are listed and not the words. A short sentence that classifies something
permanently ("The repo is private.") or gives a form without a verb ("Amounts in euros.") binds as a whole; one about
the present moment ("The server is down.", "Errors in logs.") does not. Other languages have the same patterns with
their own words, except for the last two. Precision and recall are measured on the labelled sentences of
tests/data/constraints*.tsv.

The rules are a table. Each is tried only if a sentence has one of its words, which is cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

LONGEST = 1_000  # characters of a sentence that are looked at: longer ones are pasted text, and patterns cost


class _Rule(NamedTuple):
    """A pattern, and words of which a text must have at least one before the pattern is tried; without words it is
    always tried.
    """

    words: frozenset[str]
    pattern: re.Pattern[str]


def _rule(words: str, *patterns: str) -> _Rule:
    return _Rule(frozenset(words.split()), re.compile("|".join(patterns), re.IGNORECASE))


# The beginning of a clause, and what may come before an order: "Please ...", "I want you to ...", "remember to ...".
_CLAUSE = re.compile(
    r"(?i)(?:^|[.;:,!–—(]\s+|\s-\s|\b(?:and|but|so|then|und|aber|et|mais|y|pero|e"
    r"|ma)\s+)[\"'(*\[>\s-]*(?:\d+[.):]\s+)?(?:(?:please|pls|plz|also|just|and|but|so|ok|okay|then|therefore|again"
    r"|btw|fyi|bitte|aber|und|por favor|per favore|s['’ ]il (?:te|vous) pla[iî]t|пожалуйста"
    r"|(?:I|we)(?:['’]d| would)? (?:want|need|like|prefer) (?:you to|that you)|you (?:should|must|can|will)"
    r"|(?:please )?(?:remember|keep in mind|bear in mind|note|be aware|be sure|try to|don['’]?t forget)(?: that| to"
    r"|:)?|could you|can you|would you)[,:]?\s+){0,4}"
)
_VERBS = (
    "use|touch|change|edit|modify|run|write|answer|reply|respond|take|book|read|send|work|commit|push|deploy|delete"
    "|remove|add|create|show|make|ask|call|pay|include|keep|test|fix|look|search|install|publish|merge|refund|cancel"
    "|charge|speak|talk|do|give|list|report|open|log|print|buy|order|contact|mention|refer|rename|move|copy|check"
    "|start|stop|release|ship|restart|schedule|plan|email|mail|ring|post|upload|format|sign|name|put|store|deliver"
)
_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTHS = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)\w*"
_TIME = rf"(?:\d{{1,2}}(?::\d\d)?\s?(?:[ap]\.?m\b|o['’]clock|uhr|h\b)|\d{{1,2}}:\d\d|noon|midnight|lunch|{_DAYS})"
_AGAIN = (  # what recurs in a session, so that an order about each of it is standing
    r"(?:repl(?:y|ies)|answers?|responses?|messages?|e-?mails?|commits?|changes?|pull requests?|prs?|releases?"
    r"|deploys?|deployments?|steps?|tasks?|files? you|functions? you|time|day|week|month|morning|evening|night"
    r"|question|summary|summaries|report|session|meeting)\b"
)
_DEFINITE = (
    r"(?:the|this|that|these|those|it|them|my|your|our|his|her|its|a|an|one|both|another|other|option|version|what|all)"
)
# Behind a comma, what says that no order follows.
_NO_ORDER = r"(?!(?:I|we|you|it|he|she|they|the|a|an|there|that|this|what|how|is|my|our|your|nothing)\b)"
_NOTHING_NEW = (  # what follows "no" in a report
    r"(?!(?:problem|worr|thank|luck|idea|clue|error|result|output|response|answer|reply|way\b|doubt|need|difference"
    r"|change|effect|matter|sign|issue|rush|hurry|kidding|dice|match|warning|one\b|more\b|such\b|longer\b|other\b"
    r"|it\b|i\b|that|this|the\b|you\b|we\b|my\b|not\b|tests?\b|files?\b|tool\b|news|chance|joke|comment\b|harm"
    r"|point\b|reason|progress|data\b|access|time\b|good\b|but\b|question|funciona|puedo|puede|tengo|hay\b|sirve|está"
    r"|quiero|sé\b|es\b))"
)
_ORDER = _rule(
    "not don dont never always only make be ensure avoid refrain stick stay limit restrict hands away leave keep ask "
    "check consult tell warn confirm wait clear prefer instead rather before after every each all any no nothing "
    "circumstances matter think consider prices case means account times whatever use write answer reply respond talk "
    "speak explain sign indent round quote cite format name treat assume address call put store wrap express phrase "
    "give mark state spell label start begin end adhere comply conform default err lean towards prioritise prioritize "
    "favor favour minimise minimize capitalise capitalize abbreviate beware respect obey honor honour observe follow "
    "direct everything anything everyone nobody stop keep finish close aim mention include cite add list skip omit "
    "let your until between weekdays weekday weekends when whenever where if feel need go live belong addressed "
    "written named formatted spelled sorted rounded stored quoted signed capitalised capitalized",
    r"(?:do not|don['’]?t|never|always) [\"“]?(?!worry|mind\b|know\b|have\b|remember\b|think\b|seen\b|heard\b|had\b"
    r"|been\b|the same|worked\b|tried\b|happened\b|thought\b|got\b|knew\b)\w",
    rf"only (?:ever )?(?:{_VERBS}|if|when|after|with|in|on|from|for|via)\b",
    r"(?:make|be) (?:very |absolutely )?(?:sure|certain)\b",
    r"(?:ensure|avoid|refrain from|stick (?:to|with)|aim for|adhere to|comply with|conform to|default to|err on"
    r"|lean towards?|prioriti[sz]e|favou?r|minimi[sz]e|spell out|capitali[sz]e|abbreviate|beware of"
    r"|stay (?:with|in|within|below|under|away)|limit yourself|restrict yourself)\b",
    r"hands off\b|keep me (?:in|posted|updated)\b|stop (?!\w+ (?:it|that|this|the)\b)\w+ing\b",
    r"leave\b.{1,60}\b(?:alone|untouched|unchanged|as (?:it is|they are|is))\b",
    r"keep (?:it|them|this|that|the|all|our|my|your|both|every|each|\w+ (?:\w+ )?(?:to|under|below|within|short|brief"
    r"|simple|informal|formal))\b",
    r"(?:ask|check with|consult|tell|warn|confirm with|wait for|clear (?:it|this|that) with)\s+(?:me|us|my|our"
    r"|the \w+)\b.{0,60}\b(?:before|first|whenever|ok\b|yes|go|approval|permission)",
    r"(?:use|write|take|prefer|say|talk)\b.{1,60}(?:,| )\b(?:not|never)\b",
    rf"(?:{_VERBS}|prefer)\b.{{1,60}} (?:instead of|rather than|before (?:each|every|any)|after (?:each|every|any))\b",
    rf"instead,? (?:try to )?(?:{_VERBS})\b",
    r"(?:every|each|all|any) (?:\w+ ){1,4}(?:needs?|requires?|must|has to|have to)\b",
    r"no (?:new |more |other )?(?!\w+ \w+ed\b)\w+(?: \w+)? (?:in|on|for|to|before|after|outside|without|unless|until"
    r"|at)\b",
    r"under no circumstances|in no case|by no means|on no account|at all times|whatever (?:you do|happens)"
    r"|no matter what",
    rf"(?:respect|obey|honou?r|observe|follow) (?!{_DEFINITE}\b)\w|(?:respect|obey|observe|follow) .{{1,40}}\b(?:every"
    r"|each|all)\b",
    r"be (?:very |more |as |always |extra )?(?:brief|concise|short|polite|formal|informal|friendly|direct|honest"
    r"|specific|precise|kind|careful|strict|consistent|patient|critical|blunt|terse|thorough|\w+ (?:with|about))\b",
    rf"(?:{_VERBS}|address|direct) (?:\S+ ){{0,6}}only[.!]?$",
    r"(?:ask|tell) (?:me|us) (?:if|when|whenever) (?:anything|something|in doubt|unsure|unclear)\b",
    rf"(?:{_VERBS}) .{{1,40}} within (?:an?|one|two|three|\d+) (?:minute|hour|day|week)s?\b"
    rf"|(?:{_VERBS}|\w+-?check)\b.{{1,60}} before (?:you )?(?:commit|push|deploy|merg|publish|send|answer|reply|buy"
    r"|book|pay)",
    # A manner: the object is general, without an article.
    rf"use (?!{_DEFINITE}\b)(?!.*\b(?:this|these|that|those"
    r"|now)\b)(?![\w.]+ (?:command )?to \w)[\w#+./-]+(?: [\w#+./-]+){0,2}(?=[.!]?$|, | (?:for|in|as|when|unless|by"
    r"|everywhere)\b)",
    r"(?:write|explain) (?:for|as|like) (?!the\b|me\b|this\b)\w",
    r"(?:write|put|store|format|name|express|phrase|mark|quote|cite|wrap|give|state|spell|round"
    rf"|label) (?!{_DEFINITE}\b|me\b)(?:\w+ ){{0,3}}?(?:in|as|with|to|under|by|into|inside) (?!the \w+ \w+ed\b)",
    r"(?:answer|reply|respond|talk|speak|explain \w+)(?: to me| me)?,? (?:in|with|like|as|only|briefly|politely"
    r"|concisely|formally|informally|at|using|\w+ly)\b",
    r"(?:call|address) me\b(?! (?:back|when|if|on|at|in|during|before|after|later|tomorrow|today|tonight|now|again"
    r"|asap|once)\b)|(?:treat|think of|consider) (?!it\b|this\b|that\b)(?:\w+ ){1,3}?(?:as|like|to be)\b"
    r"|assume (?:that )?(?:I|we|you|the|all|every)\b|indent (?:with|by|using)\b"
    r"|sign (?!the\b|this|it\b|up|in\b|out\b|off\b|me\b|in\b)\w+ (?:\w+ )?(?:as|with)\b",
    rf"(?:{_VERBS}|begin|end|finish|close|prefix|precede|follow|state|explain|review|translate|summari[sz]e"
    rf"|verify)\b.{{0,40}}\b(?:every|each) (?:\w+ )?{_AGAIN}",
    r"(?:start|begin|end|finish|close|sign)(?: off)? (?:all|your|the) (?:\w+ )?(?:repl|answer|message|response"
    r"|e-?mail|subject)\w* (?:line )?(?:with|by)\b",
    rf"(?:please )?(?:{_VERBS}) (?:\w+ ){{0,3}}?(?:on (?:week|work)\w+|(?:only )?(?:after|before|until"
    rf"|between) {_TIME})",
    r"(?:mention|include|cite|add|list|show|put|give) [\w -]{1,40} (?:for|in|to|with|on|at) (?:all|every|each)\b"
    rf"|(?:skip|omit|leave out) (?!{_DEFINITE}\b)\w+s\b|treat (?:this|everything|all of this) as\b"
    r"|let me (?:approve|sign off|decide)\b",
    rf"no {_NOTHING_NEW}[a-z]+s(?: then| please)?[.!]*$",
    rf"(?:every|each) (?:{_DAYS}|day|week|month|morning|evening|hour"
    rf"|time you \w+)[^,]{{0,30}},? (?:please )?(?:{_VERBS})\b",
    # What holds whenever something happens.
    rf"whenever [^,]+, (?:please |then |just )?{_NO_ORDER}[a-z]+\b",
    rf"when(?:ever)? you (?!are\b|have\b|get\b|feel\b|see fit|want\b|like\b|can\b)\w+ (?!{_DEFINITE[:-1]}|with|up"
    rf"|done)\b)(?:\w+ )?[^,]{{1,60}}, (?:please |then |just )?{_NO_ORDER}[a-z]+\b",
    r"when(?:ever)? you \w+ (?:an?|any|some\w+) [^,]{2,60}, (?:please |then |just )?[a-z]+\b",
    r"(?:if|when|where) (?:ever )?(?:in doubt|unsure|you(?:['’]re| are) (?:ever )?(?:in doubt|unsure|not sure"
    r"|uncertain|stuck))|in case of doubt",
    r"if (?:an?|any|some(?:thing|one|body)|any(?:thing|one|body))\b[^,]{3,80}, (?:please |then "
    rf"|always )?{_NO_ORDER}[a-z]+\b",
    r"(?:anything|everything|everyone|nobody|no one)\b.{0,40}\b(?:goes|go|must|needs? to|has to|should|belongs?|stays"
    r"|gets|may|can)\b(?! wrong)",
    r"before (?:you )?(?:run|answer|repl|respon|send|commit|push|merg|deploy|delet|publish|chang|edit|book|buy"
    rf"|pay)\w*\b[^,]{{0,80}}(?:, [^,]{{1,40}}){{0,2}}, (?:please )?{_NO_ORDER}[a-z]+\b",
    # Laid down of all of a kind.
    r"(?:all|every|each) (?:\w+ ){1,2}(?:gets?|has (?:an?|one|its)\b|have (?:an?|their)\b|includes?|goes|go"
    r"|starts? with|ends? with|lives?|uses?|(?:is|are) (?:in|on|at|to be))\b",
    r"nothing (?:\w+ ){1,4}(?:before|until|without|unless)\b",
    r"(?:new )?\w+s (?:go|live|belong|stay) (?:in|into|under|to|at|with|on)\b"
    r"|\w+s (?:are|is) (?:always |never |only )?(?:addressed|written|named|formatted|spelled|sorted|rounded|stored"
    r"|quoted|signed|capitali[sz]ed)\b(?! (?:yesterday|already))",
)
_SCOPE = _rule(  # a frame that says how long an order holds
    "now here point forward henceforth general generally rule notice rest remainder duration whole entire jetzt "
    "sofort nun zukunft künftig grundsätzlich désormais dorénavant maintenant avenir ahora agora adelante sucesivo "
    "ora daqui vanaf voortaan teraz bundan отныне впредь момента відтепер",
    r"\bfrom (?:now|here|this point) on\b|\bgoing forward\b|\bhenceforth\b|\bas a rule\b|^(?:in general|generally),"
    r"|\buntil further notice\b|\bfor the (?:rest|remainder|duration) of (?:this|the|our) \w+"
    r"|\b(?:for|during|throughout) (?:this|the) (?:whole|entire) \w+|\b(?:ab (?:jetzt|sofort)|von nun an|in zukunft"
    r"|künftig|grundsätzlich|désormais|dorénavant|à partir de maintenant|à l['’]avenir|a partir de (?:ahora|agora)"
    r"|de ahora en adelante|en adelante|en lo sucesivo|d['’]ora in (?:poi|avanti)|da ora in poi"
    r"|daqui (?:em diante|para a frente)|vanaf nu|voortaan|od teraz|bundan sonra|отныне|впредь|с этого момента"
    r"|відтепер)\b",
)
_FIELD = re.compile(  # "Language: German."
    r"(?i)^\W*(?:language|style|tone|format|length|line length|audience|pronouns|spelling|units?|currency|time ?zone"
    r"|deadline|budget|limit|indent(?:ation)?|quotes|font|reading level|timeouts?)\W{0,3}: ?[^\W_].*$"
)
_LABEL = re.compile(
    r"(?i)^[\W_]*(?:(?:\w+['’]?\w* ){0,5}(?:rules?|constraints?|requirements?|guidelines?)(?: (?:for|of"
    r"|in) [\w ]{1,30})?|(?:important|critical|policy|prohibited|forbidden|mandatory|required|limit|budget|regeln?"
    r"|wichtig|verboten|vorgabe|r[eè]gles?|interdit|obligatoire|reglas?|importante|regol[ae]|regras?|zasad[ay]"
    r"|правил[оа]|важно|规则|規則|重要|注意|ルール|규칙|중요))[\W_]{0,4}[:：]\s*\S"
)
# Anywhere in a sentence: modals that leave no choice, limits.
_MODALS = _rule(
    "must mustn may shall should shouldn only be forbidden prohibited off allowed mandatory required due limited "
    "capped",
    r"\b(?:must not|mustn['’]?t|may not|shall not|should not|shouldn['’]?t|should never|must never|may only"
    r"|must always|should always|should only|must only|can only be|have to be|has to be|is to be|are to be"
    r"|(?:is|are) (?:strictly )?(?:forbidden|prohibited|off[- ]limits|not allowed|mandatory|required)"
    r"|must\s+(?!be\b|have\b|'ve\b)\w+|shall (?!I\b|we\b)\w+|must be \w+(?:ed|en|t|wn|ne|de|pt)\b"
    r"|(?:is|are) (?:limited to|capped at|due (?:on|by|at|before)))",
    r"\b(?:tone|style|language|format|spelling|headings?|titles?|repl(?:y|ies)|answers?|responses?|messages?"
    r"|summar(?:y|ies)|e-?mails?|texts?|names|comments|dates|numbers|prices|amounts|code) should (?:be|use|have|start"
    r"|end|stay)\b|\b(?:every|each|all) (?:\w+ ){1,3}should\b|\bshould be (?:around|about|at|between|exactly)? ?\d",
)
_LIMITS = _rule(
    "exceed than most least up within below under over above maximum max limit budget long anything unless without "
    "always never only",
    r"\b(?:(?:do|does|did) not exceed|doesn['’]?t exceed|no (?:more|less|fewer|later|earlier|longer|sooner) than"
    r"|not (?:more|less|fewer|later|earlier) than|at (?:the )?most (?!.*\b(?:came|was|were|had|returned|failed"
    r"|ran)\b)|(?:is|are|be|take|spend|costs?|with|budget of|limit of|exactly|for) at least|(?:up to|within|below"
    r"|under|over|above|maximum of|max(?:imum)?)\s+[$€£¥]?\d[\d,.]*\s*(?:[$€£¥%]|lines|words|characters|dollars|euros"
    r"|usd|eur|limit|budget)|\d[\d,.]* (?:limit|budget|maximum)|as long as|anything\b.{1,60}\bnothing else|unless I"
    r"|without my (?:yes|ok|consent|approval|permission|say)|without asking"
    r"|without (?:changing|touching|adding|removing|deleting|breaking|altering|modifying|using|losing|cancel+ing"
    r"|moving|renaming|installing|upgrading|leaving|rewriting)\b|(?:always|never|only)[,]? (?:in|with|use"
    r"|using) (?:english|german|french|spanish|metric|utc))",
)
_GENERAL = _rule(
    "to that everywhere exception board whole",
    r"\b(?:the|our|all|every|each|any) (?:(?!I |you |we |they |he |she |it )\w+ ){1,3}(?:has|have"
    r"|needs?) to (?!be (?:a|an|some)\b)\w|\bit(?:['’]s| is) (?:very )?(?:important|essential|crucial|vital) that\b"
    r"|\byou(?:['’]re| are) (?:not )?to \w|^[\w -]{2,40}\b(?<!errors )(?<!bugs )(?:everywhere|without exception"
    r"|across the board|the whole time)[.!]?$",
)
_NO_SUCH = r"(?:it|this|that|them|these|those|the|your|to|how|what|where|when|why|my|you|him|her|and|working)\b"
_DIET = (
    r"(?:vegetari|vegan|végét|veggie|allerg|alérg|intoleran|celiac|celíac|coeliac|cœliaque|zöliakie|diabet|dyslexi"
    r"|colou?r-?\s?blind|farbenblind|daltoni|left-?handed|pescatarian|kosher|halal|pregnant|wegetari|аллерг"
    r"|вегетариан|веган|диабет)"
)
_WANTS = _rule(
    "i im we me us",
    r"\b(?:I|we)(?:['’](?:d|ll|m|re))?\s+(?:(?:really|just|still|also|absolutely|definitely|certainly|strongly"
    r"|actually|would|will|do|only|much|am|are)\s+){0,3}(?:(?:do not|don['’]?t|not|won['’]?t|wouldn['’]?t"
    r"|never)\s+(?:really\s+)?(?:want|need (?!to know)|wish|like (?:to|it|any)|accept|take)\b|want no|need no\b"
    r"|prefer\b|rather\b|insist (?:on|that)|insisting|refuse\b|avoid\b)|\b(?:I|we) only (?:need|want|accept|take|fly"
    r"|pay|use|eat)\b|\bcan only (?:use|pay|fly|take|be|do|spend)\b|\bgo ahead without\b",
    r"\b(?:I|we)(?: \w+ly| do| just| much)? (?:like|love|hate|dislike|detest|enjoy|can['’]?t stand|cannot stand"
    rf"|(?:don['’]?t|do not) (?:\w+ly )?(?:like|enjoy)) (?:it when |it if |(?!{_NO_SUCH}))\w",
    r"\b(?:I|we)(?: \w+ly)? (?:appreciate (?:it )?when|(?:learn|work|read|understand \w+) best|prefer)\b"
    r"|\b(?:I|we)(?:['’]?m|['’]re| am| are) (?:really )?(?:not )?(?:really )?a (?:big |huge |great )?fan of\b"
    r"|\b(?:I|we) have (?:an? )?(?:\w+ )?(?:aversion|preference|allergy|intolerance|phobia|dislike) (?:to|for|of"
    r"|against)\b|\b(?:I|we) (?:want|need) (?:all|every|each|any|no|things|everything"
    r"|(?!this )\w+s (?:in|as|with|without|explained|written|to be))\b|\bwe (?:(?:don['’]?t|do not) (?!have|know|see"
    r"|need|understand|get|think|remember|want|seem|find|feel|care|mind|use (?:it|that|this))|(?:never|only"
    r"|always) (?!\w+ed\b|had|have|got|get|been|see|know|lose|forget|seem|were|did))\w",
    r"\b(?:I|we) (?:only |never |always |usually |can['’]?t |cannot |don['’]?t |do not |can only )(?:work|eat|drink"
    rf"|fly|drive|travel|smoke|speak|do|pay|wear|cook|commute)\b(?! {_NO_SUCH})",
    r"\b(?:I|we) work (?:from home|remotely|part[- ]time|mornings|afternoons|nights|(?:on )?\w+days|from \d)",
    rf"\b(?:I|we)(?:['’]?m|['’]re| am| are) (?:\w+ ){{0,2}}{_DIET}",
    r"\b(?:I|we)(?:['’]m|['’]re| am| are) on (?:(?:a |an )?(?:mac\w*|windows|linux|ubuntu|iphone|ipad|android"
    r"|chromebook|diet)\b|(?-i:[A-Z])\w+ [\d.]+\d)",
    rf"\b(?:I|we) (?:use|follow|support|target) (?!{_NO_SUCH}|an?\b|more\b|less\b|too\b|about\b|up\b)\w"
    r"|\bwe (?:bill|invoice|charge|write|speak|publish|ship|deploy|release|code|format|name) (?:only |\w+ )?(?:in"
    r"|from|as)\b|\bwe (?:stay|stick) (?:with|to)\b|\b(?:suits? me|works? best for (?:me|us))\b|\bwe (?:write|say"
    r"|spell) [\"“]|\b(?:I|we) read (?:this|these|everything) on\b",
)
_PREFER = _rule("prefer preferably preferred", r"\bprefer(?:ably|red)?\b.{0,40}\b(?:over|to|not)\b")
_OURS = _rule(
    "my our",
    rf"\b(?:my|our) \w+ (?:is|are) (?:\w+ ){{0,2}}{_DIET}",
    r"\bour (?:\w+ )?(?:team|company|office|shop|store|customers?|clients?) (?:writes?|uses?|runs?|is|are|requires?"
    r"|opens?|closes?|follows?|works?)\b(?! (?:down|broken|up|not|wrong|back|the problem))"
    r"|\bour (?:\w+ ){1,2}only (?:has|have|supports?|runs?|accepts?|allows?|opens?)\b",
    r"\bmy (?:wife|husband|partner|son|daughter|kids?|child|children|mother|father|boss|client|doctor) (?:can['’]?t"
    r"|cannot|doesn['’]?t|don['’]?t|won['’]?t|never|only) (?:have|eat|drink|fly|drive|travel|speak|tolerate)s?\b",
)
_CUSTOMS = _rule(
    "audience readers policy tone voice style convention conventions standard code language font timezone zone "
    "currency year diet pronouns hours color colors colour colours keyboard browser system os editor",
    r"\b(?:my|our|the) (?:\w+ )?(?:audience|readers|policy|tone|voice|style|conventions?|standard|dress code|language"
    r"|font|time ?zone|currency|fiscal year|diet|pronouns|(?:working|office|opening) hours|brand colou?rs?|keyboard"
    r"|browser|operating system|os|editor) (?:is|are|starts?|should be)\b(?! (?:not|too|a bit|wrong|off|broken"
    r"|unclear|fine|good|ok|nice|great|weird|in|on|missing|hard)\b)",
)
_HOURS = _rule(
    "closed open away available unavailable free busy off out production prod staging",
    r"\b(?:is|are|am|['’]m|['’]re) (?:only )?(?:closed|open|away|available|unavailable|free|busy|off|out) (?:on|from"
    rf"|until|between|after|before|every) (?:{_TIME}|\d)",
    r"^(?:production|prod|staging)\b.{0,20} (?:runs|is) on\b",
)
# A plain fact that binds: a date or a limit, and its value, in a short sentence.
_VALUE = (
    rf"(?:\d|{_MONTHS}\b|{_DAYS}\b|noon|midnight|tomorrow|tonight|today|end of\b|next \w+|(?:two|three|four|five|six"
    r"|seven|eight|nine|ten|twelve|twenty|fifty|hundred|zero|no)\b|(?:mon|diens|mitt|donners|frei|sams|sonn)(?:tag"
    r"|woch)|morgen|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|lunes|martes|miércoles|jueves|viernes"
    r"|sábado|domingo|mañana|luned|marted|mercoled|gioved|venerd|sabato|domenica|domani|segunda|terça|quarta|quinta"
    r"|sexta|amanhã|понедельник|вторник|сред[ау]|четверг|пятниц|суббот|воскресенье|завтра"
    r"|[一二两三四五六七八九十百千万]|来週|明日|月曜|火曜|水曜|木曜|金曜)"
)
_FACT = _rule(
    "deadline due cutoff budget limit quota cap freeze embargo launch release maximum minimum frist abgabefrist "
    "stichtag abgabetermin obergrenze échéance plafond limite límite plazo presupuesto scadenza prazo orçamento срок "
    "дедлайн бюджет лимит termin budżet termijn is",
    r"^(?:[^\s,;]+ ){0,6}?(?:dead-?line|due date|cut-?off|budget|limit|quota|cap|freeze|embargo|launch|release date"
    r"|maximum|minimum|go-live)s?\b(?! (?:is|was) (?:not|never)\b)(?: (?:for|of|on|per|in|to"
    r"|at)\b[\w ]{1,30}?)?(?: is| are|:| =| starts| begins| ends| falls| stays"
    rf"| remains)\b[\w: ]{{0,20}}?[ :$€£]+[$€£]?{_VALUE}",
    r"\b(?:frist|abgabe\w*|stichtag|budget|obergrenze|limit|termin)\b.{0,20}?(?:\b(?:ist|liegt|beträgt|endet)\b"
    rf"|:).{{0,20}}?{_VALUE}",
    r"\b(?:date limite|échéance|budget|plafond|fecha límite|plazo|presupuesto|límite|scadenza|budget|prazo|orçamento"
    rf"|limite|data limite)\b.{{0,20}}?(?:\b(?:est|es|è|é|vence)\b|:).{{0,20}}?{_VALUE}",
    r"\b(?:срок|дедлайн|бюджет|лимит|termin|budżet|deadline|termijn|limit)\b.{0,12}?(?:—|-|:|\b(?:до|это|составляет"
    rf"|mija|upływa|to|wynosi|is)\b).{{0,20}}?{_VALUE}",
)
_PHRASE = _rule(  # a whole sentence without a verb
    "no zero only nothing per each every all alle tous toutes todos todas tutti tutte not never always please pls plz "
    "max maximum min minimum most least up kein keine keinen pas aucun aucune sin nada nem sem senza niente nessun "
    "nessuna nessuno geen bez без никаких inga ingen",
    rf"^\W*(?:(?:please|pls|plz|and|also|bitte|thx|thanks|but),? )*(?:(?:no|zero) {_NOTHING_NEW}[a-z-]+(?: (?!(?:was"
    r"|were|is|are|has|have|had|found|so|yet|left|did|does|do|can|could|will|for me|here|there"
    r"|at all)\b)[\w/'’-]+){0,5}|[\w#+./-]+(?: [\w#+./-]+){0,2} only|[\w-]+(?: [\w-]+)? (?:always|never"
    r"|only) (?:with|in|as|without|by|on|to|at) [\w ,-]+|[\w-]+s (?:in|with|as|by|under"
    r"|without) [\w-]+(?: [\w-]+)?,? (?:please|pls|plz)|[\w#+./-]+(?: [\w#+./-]+)?, (?:not|no"
    r"|never) (?!(?:the|that|this|it|sure|yet|now|today|really|me|you)\b)[\w-]+(?: [\w-]+)?|(?:one|two|three|four"
    r"|five|\d{1,2}) \w+ (?:per|for each|for every) \w+|nothing \w+(?: \w+)?,? please|only \w+s (?:with|from"
    r"|without|under|below|over|by)\b[^,.]*|(?:all|every|each) \w+(?: \w+)? (?:in|net|with|without|by|before|per|at"
    r"|from|to)\b(?: [\w-]+){1,4}|(?:alle|tous les|toutes les|todos los|todas las|todos os|tutti i"
    r"|tutte le) \w+ (?:in|en|im|ohne|mit|con|sin|sans|com|senza|avec|à|auf|nach)\b(?: [\w-]+){1,4}"
    r"|(?:max(?:imum|\.)?|min(?:imum|\.)?|at most|at least|up to) [$€£]?(?:\d[\d.,]*|one|two|three|four|five|six"
    r"|ten) ?(?!.*\b(?:came|was|were|had|returned|failed|ran|exceeded)\b)[\w%€£$-]+(?: [\w-]+){0,4}|kein(?:e"
    r"|en)? (?!ahnung|problem|fehler|antwort|zeit|lust|sorge|angst|ursache|frage|wunder|ding|stress|änderung"
    r"|ergebnis)[\w-]+(?: [\w-]+){0,5}|(?:pas (?:d['’]|de )|aucune? )(?!probl|idée|souci|erreur|réponse|mal\b|quoi"
    r"|soucis|nouvelle|résultat|doute|chance)[\w-]+(?: [\w’'-]+){0,5}|(?:sin|nada de|nem|sem|senza|niente"
    r"|nessun[ao]?|geen|bez|без|никаких|inga|ingen) (?!problem|dud|idea|error|respuesta|novedad|embargo|prisa|dúvid"
    r"|idee|fout|проблем|идей|ошиб|ответ|dubbio|fretta|probleem)[\w’'-]+(?: [\w-]+){0,5}),?(?: please| pls| plz"
    r"| bitte| por favor| s['’]il (?:te|vous) pla[iî]t)?\W*$",
)
_YOU_MAY = _rule(
    "you",
    r"\byou (?:don['’]?t|do not|needn['’]?t|no longer) (?:need|have) to\b"
    r"|\byou (?:may|can|are allowed to|are free to)\b.{3,60}\b(?:without|whenever|any ?time|always|freely"
    r"|as you like)\b|\byou can assume\b",
)
_GERMAN = _rule(
    "nie niemals keinesfalls auf unter unbedingt stets ausschließlich höchstens nicht kein keine keinen nur immer "
    "darf darfst dürfen soll sollst sollen finger frag frage fragt fragen muss musst müssen lass lasst lassen bitte "
    "erst zuerst ohne antworte antworten schreib schreibe sprich verwende benutze nutze duze sieze nenn nenne fasse "
    "halte ich kein duz siez",
    r"\b(?:nie|niemals|keinesfalls|auf keinen fall|unter keinen umständen|unbedingt|stets|ausschließlich|höchstens)\b"
    r"|\b(?:nicht|keine?n?|nur|immer)\b.{0,40}\b(?:darf|dürfen|darfst|soll(?:st|en|t)?|ändern|anfassen|löschen"
    r"|verwenden|benutzen|nehmen|pushen|schreiben)\b|\b(?:darf|darfst|dürfen|soll|sollst|sollen)\b.{0,40}\b(?:nicht"
    r"|kein\w*|nur|nie)\b|^(?:bitte )?(?:immer|nur)\b|\bfinger weg\b|\b(?:frage?|fragt|fragen sie)\b.{0,15}\b(?:mich"
    r"|uns|erst|vorher)\b|\bmuss(?:t)? (?!ein |es |das |etwas )\w|\bmüssen (?!wohl)\w|\b(?:lass|lasst"
    r"|lassen sie)\b.{0,40}\b(?:in ruhe|unverändert|stehen)\b|\bbitte\b.{0,40}\b(?:nur|keine?[nmrs]?|nicht|immer"
    r"|erst)\b|^(?:erst|zuerst) (?:frag|zeig|sag)|\bohne (?:meine|unsere) \w+",
    r"^(?:bitte )?(?:antworten?|schreibe?|sprich)(?: sie)?(?: mir)? (?:bitte )?(?:auf|in|immer|kurz|knapp|mit|nur"
    r"|alles)\b|^(?:bitte )?(?:verwende|benutze|nutze|nimm) (?!den|die|das|diese\w*|jene\w*|eine?n?|mal|dafür"
    r"|dazu)[\w-]+|^(?:bitte )?(?:nicht|nie|nur|keine?n?|immer)\b.*\b(?!ge\w+en\b|vorhanden)\w+en[.!]?$"
    r"|^(?:bitte )?(?:(?:duz|siez)e?|nenne?) mich\b|^fasse? dich kurz|^halte? dich\b",
    r"\bich (?:arbeite|esse|trinke|vertrage|mag|fliege|spreche|rauche|kann)\b.{0,20}\b(?:nur|keine?n?|nie)\b"
    rf"|\bmeine? \w+ (?:ist|hat)\b.{{0,15}}{_DIET}|\bich (?:bevorzuge|hasse|mag keine?n?)\b"
    rf"|\bich (?:bin|habe)\b.{{0,20}}{_DIET}",
)
_FRENCH = _rule(
    "ne n il interdit obligatoire impérativement uniquement toujours jamais demande demandez demander doit doivent "
    "devez réponds répondez écris écrivez parle parlez utilise utilisez tutoie tutoyez vouvoie appelle sans je",
    r"\bne (?:\w+ ){1,2}?(?:pas|jamais|plus|rien)\b|\bn['’](?!(?:ai|a|as|ont|avons|avez|est|était|y)\b)\w+ (?:pas"
    r"|jamais|plus|rien)\b|\bil (?:ne )?faut (?!que je)|\b(?:interdit|obligatoire|impérativement|uniquement)\b"
    r"|^(?:toujours|jamais)\b|\bdemande[rz]?[- ]?(?:moi|nous)\b.{0,20}\bavant\b"
    r"|\b(?:doit|doivent|devez) (?!y avoir|être une? )\w|\bsans (?:mon|notre) \w+",
    r"^(?:réponds|répondez|écris|écrivez|parle|parlez)(?:[- ]moi)? (?:en|toujours|avec|par|brièvement|court\w*)\b"
    r"|^utilise[zs]? (?!le|la|les|l['’]|ce|cet|cette|ces|un|une|mon|ma|mes|plutôt)[\w-]+"
    r"|^(?:tu|vou)vo?(?:ie|oie|oyez)[- ]moi|^tutoie[- ]moi|^appelle[zs]?[- ]moi (?!demain|ce|quand|plus)",
    rf"\bje (?:préfère|déteste|n[’']aime pas)\b|\bje suis\b.{{0,15}}{_DIET}",
)
_ROMANCE = _rule(
    "no nunca jamás jamas sin sem senza mi que usa usad use usen utiliza envia envía manda trabaja responde contesta "
    "entrega não non mai preguntame pregúntame pregunte pergunte pergunta chiedi chiedimi siempre solo sólo sempre "
    "apenas somente soltanto prohibido obligatorio vietato obbligatorio proibido obrigatório debe debes deben deve "
    "devono devem nuncá escribe habla háblame trátame llámame tutéame responda escreva fale fala rispondi scrivi "
    "parla dammi chiamami soy sono sou tengo ho tenho utilizza mia mio minha meu prefiero preferisco prefiro",
    r"(?:^|[.,;:!¡]\s*|\b(?:y|pero|ni)\s+)(?:por favor,? )?(?:no|nunca|jam[aá]s) (?!worries|problem)(?:me |lo |la "
    r"|los |las |se )?\w{2,}(?:es|as|éis|áis|en|an)\b(?! (?:in|on|for|to|of|are|were|\w+ed)\b)|\bsin (?:mi\b|pregunt"
    r"|avisar|consultar)|\bsem (?:a )?minha\b|\bsenza (?:il )?mio\b|\b(?:y|pero|,) que (?:no )?\w+ .{0,40}\b(?:antes"
    r"|después|máximo|mínimo)\b|\b(?:usa|usad|use|usen|utiliza|env[ií]a|manda|trabaja|responde|contesta"
    r"|entrega)\w* (?:solo|sólo|solamente|únicamente|siempre)\b|(?:^|[.,;:!¡]\s*)(?:por favor,? )?(?:não|nunca"
    r"|jamais) \w{2,}(?:e|es|a|em|am|ar|er|ir)\b|(?:^|[.,;:!]\s*)(?:per favore,? )?(?:non|mai) \w+(?:are|ere|ire|ate"
    r"|ete|ite)\b|\bpreg[uú]nt[ae](?:me|nos)\b.{0,20}\bantes\b|\bpergunt[ae][- ]?me\b.{0,20}\bantes\b"
    r"|\bchiedi(?:mi)?\b.{0,20}\bprima\b|^(?:siempre|solo|sólo|sempre|apenas|somente|soltanto) (?!me |se |que "
    r"|te )\w+|\b(?:prohibido|obligatorio|vietato|obbligatorio|proibido|obrigatório)\b|\b(?:debes?|deben|deve|devono"
    r"|devem) (?!de |haber|haver|esserci|ser un|essere un)\w",
    r"^(?:por favor,? |per favore,? )?(?:responde|contesta|escribe|habla|háblame|responda|escreva|fale|fala"
    r"|rispondi(?:mi)?|scrivi|parla(?:mi)?)(?:me)? (?:en|em|in|siempre|sempre|con|com|de forma)\b|^(?:usa|utiliza"
    r"|utilizza|use) (?!el|la|los|las|este|esta|ese|esa|un|una|uno|otro|otra|il|lo|gli|le|questo|questa|o|os|as|the"
    r"|this|that|a|an|my)[\w-]+ ?(?:$|[.,]|\w+[.]?$)|\b(?:mi|mia|mio|minha|meu) \w+ (?:es|è|é|tiene|ha"
    rf"|tem)\b.{{0,15}}{_DIET}|^(?:trátame|tutéame|llámame (?!mañana|luego|cuando|si|ahora|más)|dammi del|chiamami)\b",
    rf"\b(?:prefiero|preferisco|prefiro)\b|\b(?:soy|sono|sou|tengo|ho|tenho)\b.{{0,15}}{_DIET}",
)
_CYRILLIC = _rule(
    "",
    r"\b(?:никогда|ніколи) не \w+(?:й|йте|ть|ти|и|ите|ь|ьте)\b|\b(?:нельзя|запрещено|обязательно)\b"
    r"|\bне (?:надо|нужно)\b|(?:^|[.,;:!]\s*)(?:пожалуйста,? )?(?:не|только) \w+(?:й|йте|и|ите|ь|ьте|ть)\b"
    r"|\bдолж(?:ен|на|ны|но) (?!быть)\w|\b(?:не|ні) \w{2,}(?:ай|яй|уй|юй|ій)(?:те)?\b"
    r"|\b(?:и|но|а|і|та) не \w+(?<!л)и(?:те)?\b|\bбез (?:моего|нашего|мого|нашого) \w+"
    r"|\b(?:сначала|сперва|спочатку) (?:спроси|покажи|согласу|уточни|запитай)|^все \w+ (?:в|на|с|без|до|по)\b"
    r"|(?:,\s*(?:но )?|\w(?:ай|яй|уй|юй|и)(?:те)?\b.{1,40}\b)только (?:без|на|с|в|через|по|после|до|из|за)\b",
    # The imperfective imperative is of what is done again and again.
    r"^(?:пожалуйста,? )?(?:отвечай|говори|обращайся|объясняй|общайся|называй)(?:те)?\b"
    r"|^(?:пожалуйста,? )?(?:пиши(?:те)?|используй(?:те)?) (?:на|по|без|только|кратко|коротко|в|мне)\b",
    rf"\bя (?:предпочитаю|ненавижу|не (?:ем|пью|люблю))\b|(?:^|\b(?:я|у меня|мы|у нас)\b.{{0,15}}){_DIET}",
)
_OTHER_LATIN = _rule(
    "nigdy tylko zawsze nie zapytaj spytaj bez nooit verboden alleen altijd aldrig alltid bara asla daima sadece mag "
    "moet moeten antwoord schrijf spreek praat odpowiadaj pisz mów używaj ik jestem gebruik",
    r"\b(?:zapytaj|spytaj) mnie\b|\bbez mojej \w+|\b(?:nigdy|tylko|zawsze) (?:nie )?\w+"
    r"|\bnie (?:usuwaj|zmieniaj|ruszaj|wolno|dotykaj)\w*|\b(?:nooit|verboden)\b"
    r"|^(?:alleen|altijd|aldrig|alltid|bara|asla|daima|sadece)\b|\bmag niet\b|\bmoet(?:en)? (?!een fout)\w",
    r"^(?:antwoord|schrijf|spreek|praat) (?:in|altijd|met|kort|alleen)\b|^(?:odpowiadaj|pisz|mów|używaj) (?:po|w|z"
    r"|krótko|tylko|zawsze)\b|^gebruik (?!de|het|die|dat|een|dit|deze)[\w-]+",
    rf"\b(?:ik ben|jestem)\b.{{0,15}}{_DIET}",
)
_OTHER_SCRIPTS = _rule("", r"कभी (?:नहीं|न|मत)|हमेशा \S+|\bلا ت\w+|ممنوع|يجب")
_CHINESE = _rule(
    "",
    r"从现在(?:起|开始)|今后|從現在|以后(?:都|请|不|要|每)",
    r"必须|必須|不要|不得|不可(?!能|以|思)|不准|不许|禁止|务必|務必|切勿|请勿|請勿|绝不|絕不|只(?:能用|许|准|用)"
    r"|仅(?:限|用|可)|一律|绝对不|絕對不|千万(?:别|不)|一定要(?!不要)|不能超过|没有我的|(?:^|[，。；、,\s前])(?:请|先"
    r"|就)?别(?!人|的|处|墅|名|致|扭|说)|先(?:问|告诉|通知)我|问过?我(?:再|之后|以后)|前(?:都)?不(?:能|要|得)|(?:^"
    r"|[，。；,])不能(?!不)|(?<!为什么)(?<!怎么)总是要",
    r"^请?用\S{1,6}(?:回答|回复|写|交流|说)|(?:回答|回复)(?:要|请|尽量|得)|^叫我|称呼我|每(?:次|天|周\S?"
    r"|月).{0,6}(?:都|请|要|给|发|用|写|提醒)|(?:所有|全部|凡是).{1,12}(?:用|要|须|得)|我(?:是|吃|对)?.{0,6}(?:素食"
    r"|吃素|过敏)|我吃素|我不(?:吃|喝)|我(?:不|更|最|比较)?喜欢(?!这|那|它)|我讨厌(?!这|那)",
    rf"(?:截止|期限|预算|上限|限额|預算).{{0,6}}?(?:最多|不超过|是|为|為|：|:|在|到).{{0,6}}?{_VALUE}",
)
_JAPANESE = _rule(
    "",
    r"今後|これから(?:は|、)|以降は|必ず|絶対に?|ないで(?:ください|下さい|ね|。|$)|ない(?:こと|ように)(?!が|も|は|で)"
    r"|(?:先に|事前に|まず|必ず)(?:私|僕|わたし|こちら)?に?(?:聞|確認|相談|連絡|許可)|(?:聞|確認|相談|承認"
    r"|許可)\S{0,6}てから|てはいけ|てはなら|(?:しない|せぬ)こと|のみ|だけを?(?:使|変|に)",
    r"(?:語|体|調)で(?:お願い|回答|返信|書い|話し|答え)|毎回|は.{1,14}でお願い|(?:簡潔|手短)に|(?:私"
    r"|僕)は.{0,12}(?:ベジタリアン|菜食|ヴィーガン|アレルギー)|(?:私|僕).{0,12}(?:食べられません|飲めません)"
    r"|^[^こそあ]{1,20}が(?:好き|嫌い|苦手)",
    rf"(?:予算|上限|期限|締め?切り?)は.{{0,6}}?{_VALUE}",
)
_KOREAN = _rule(
    "",
    r"앞으로|이제부터|(?:먼저|전에|전엔).{0,14}(?:물어|확인|알려|말해)|지 말아|말 것|반드시|절대|하지 ?(?:마|말)"
    r"|지 ?마세요|지 ?마\b|항상|금지",
    r"(?:어|말|체)로 (?:해|답|써|대답|작성)|(?:답변|대답)은.{0,10}(?:로|게)\b|매번|저는.{0,8}(?:채식|비건|알레르기)"
    r"|(?:마감|예산|한도)(?:은|는|이|일은)?.{0,8}?\d",
)
# What something or somebody is for good: a predicate that sorts ("private", "a minor") and does not tell how things are
# just now ("down", "ready"). Always a whole short sentence, so that no report is one by its first half.
_TROUBLE = (  # of these, and of what code consists of, such a sentence reports
    r"(?:bug|error|crash|issue|problem|failure|warning|reason|cause|fix|method|function|field|class|attribute"
    r"|constructor|property|variable|member|key|disk|mount|file ?system|volume|partition|file|folder|directory)"
)
_KIND = _rule(
    "private public confidential secret classified proprietary copyrighted licensed read write append immutable open "
    "closed shared owned hosted meant intended written aimed reserved governed regulated multilingual bilingual gapped "
    "based",
    rf"^(?:the|our|my|this|these|all|their) (?!(?:[\w'’-]+ ){{0,4}}{_TROUBLE}s? (?:is|are)\b)(?:[\w'’-]+ ){{1,5}}"
    r"(?:is|are) (?:not |now |strictly |highly |completely |entirely )?(?:private|public|confidential|secret"
    r"|classified|proprietary|copyrighted|(?:read|write|append)[ -]only|immutable|multilingual|bilingual|(?:open"
    r"|closed)[ -]source|[a-z]+-(?:owned|hosted|based|gapped)|(?:shared with(?! (?:me|you|us|him|her|them)\b)"
    r"|owned by|licensed (?:under|to|from)|hosted (?:on|in|at|by)|aimed at|governed by|regulated by|(?:meant|intended"
    r"|written|reserved) for(?= [\w-]+(?: [\w-]+)?s\b| children)) [\w'’ -]{1,60})[.!]?$",
)
_PARTIES = (
    "customer|client|user|guest|patient|tenant|buyer|seller|reader|recipient|student|pupil|passenger|caller|owner"
    "|employee|candidate|applicant|author|speaker|supplier|translator|reviewer|visitor|mother|father|wife|husband"
    "|partner|son|daughter|sister|brother|boss|landlord|traveller|traveler"
)
_NO_PARTY = (  # praise, blame and degrees; and what a user or a client is in code
    r"(?:bit|little|lot|mess|pain|joke|jerk|idiot|moron|fool|genius|gem|star|hero|legend|nightmare|problem|disaster"
    r"|liar|nice|good|great|real|total|bad|terrible|big|huge|complete|lovely|wonderful|very|really|pretty|such|true"
    r"|(?:\w+ ){0,2}(?:scripts?|wrappers?|threads?|nodes?|elements?|pointers?|strings?|objects?|class|functions?"
    r"|librar\w+|modules?|services?|process\w*|programs?|apps?|apis?|numbers?|integers?|lists?|dicts?|arrays?|rows?"
    r"|tables?|files?|variables?|instances?|types?|errors?|no-show))\b"
)
_PARTY = _rule(
    " ".join(f"{party} {party}s" for party in _PARTIES.split("|")),
    rf"^(?:the|our|my|their) (?:[\w-]+ )?(?:{_PARTIES}) is (?:(?:already |only )?\d{{1,2}}(?: years old)?"
    rf"|an? (?!{_NO_PARTY})(?:[a-z-]+ ){{0,2}}[a-z-]+)[.!]?$|^(?:the|our|my"
    rf"|their) (?:[\w-]+ )?(?:{_PARTIES})s are (?:(?:all|mostly|mainly) )?(?!{_NO_PARTY})(?:[a-z-]+ )?"
    r"(?:children|people|men|women|[a-z]+(?<!ou)(?<!le)(?<!ne)(?<!s)s)[.!]?$",
)
_LACKS = _rule(  # a part that a device or a place is without; what runs out is a report
    "no",
    r"^(?:the|our|my|this|these|that) (?:[\w-]+ )?(?:machine|laptop|computer|device|phone|tablet|printer|office|flat"
    r"|house|building|venue|kitchen|car|van|hotel)s? (?:has|have) no (?!power|signal|space|battery|charge|fuel|gas"
    r"|petrol|memory|sound|reception|coverage|heat|water|light|errors?|issues?|problems?|updates?|idea"
    r"|label)[\w-]+(?: access| connection)?[.!]?$",
)
# What an answer or a document consists of, and its form: "Amounts in euros." "Errors in logs." and "Tests without
# errors." have the same grammar and report, so the nouns are listed.
_MEASURES = (
    r"(?:amount|price|weight|length|distance|temperature|size|total|sum|fee|cost|duration|time|date|rate|unit"
    r"|measurement|salarie)s"
)
_PARTS = (
    r"(?:number|name|comment|heading|title|caption|label|source|citation|reference|quote|footnote|sentence|paragraph"
    r"|table|invoice|quotation|offer|answer|replie|summarie|report|text|email|e-mail|letter|docstring|addresse)s"
)
_FORM = _rule(
    "in as with without tone spelling style voice language units punctuation wording notation sentences paragraphs "
    "answers replies",
    rf"^(?:(?:and|please|also),? )?(?:all )?(?:{_MEASURES}|{_PARTS})(?: and (?:{_MEASURES}|{_PARTS}))? "
    r"(?:in (?:(?-i:[A-Z])[a-z]*(?:[eim]an|ish|ese|tch|nch|eek|bic|ndi)|(?-i:[A-Z]{3,4})(?: [\w-]+)?"
    r"|[\w-]+ (?:format|form|case|order|notation|style|letters|brackets|quotes|type)|bold"
    r"|italics?|capitals|caps|brackets|parentheses|quotes|lowercase|full)"
    r"|as (?!(?:expected|usual|before|planned|intended|discussed|always|requested|above|below|of|if|well|is|the"
    r"|an?|you|I|we|it|follows)\b)[\w-]+(?: [\w-]+)?|with(?:out)? (?!(?:the|an?|this|that|these|those|my|your|our"
    r"|their|his|her|it|them|me|us|errors?|warnings?|issues?|problems?|bugs?|typos?|failures?|conflicts?|success|luck"
    r"|effect|reply|replies|answers?|response|match|matches)\b)[\w-]+(?: [\w-]+)?)[.!]?$",
    rf"^(?:(?:and|please|also),? )?(?:all )?{_MEASURES} in (?!(?:logs|comments|tests|files|lots|pieces)\b)"
    r"(?:whole |full )?[a-z]+s[.!]?$",
    r"^(?-i:[A-Z])[a-z]+(?:an|ish|ese|ch|ford) (?:spelling|language|units|punctuation|notation|style"
    r"|wording)(?:,? please)?[.!]?$",
    r"^(?:formal|informal|neutral|friendly|casual|professional|polite|matter-of-fact|metric|imperial|SI|plain|simple"
    r"|short|brief|concise|active|passive|inclusive|gender-neutral)(?:,? (?:and )?(?:formal|informal|neutral|friendly"
    r"|plain|simple|short|concise|clear))? (?:tone|spelling|style|voice|language|units|punctuation|wording|notation"
    r"|sentences|paragraphs|answers|replies|words)(?:,? please)?[.!]?$",
)
_QUALITY = (
    r"(?:(?!univers|electri|communit|witness|business|facilit|activit|realit|identit)[a-z]{3,}(?:ity|ness|acy)|speed"
    r"|price|cost|comfort|depth|breadth|substance|performance|function|convenience|compliance|looks)"
)
_NOUN = rf"(?!(?:{_VERBS}|me|you|we|they|he|she|it|lunch|dinner|coffee|breakfast|food|sleep|women|ladies)\b)"
# Two things are put first, or a quality is; a single thing ("Parser first.") is only what comes next.
_PRIORITY = _rule(
    "first over before above",
    rf"^(?:{_NOUN}[\w#+./-]+,? (?:and|&) {_NOUN}[\w#+./-]+|{_QUALITY}|mobile) first(?:,? please)?[.!]?$"
    rf"|^(?:{_QUALITY} (?:over|above|before) (?!the\b|this\b|that\b|noon|lunch)[a-z]+|[a-z]+ (?:over|above"
    rf"|before) {_QUALITY})[.!]?$",
)
_CANNOT = _rule(  # out of an agent's reach, by verbs of its work: "you can't click it" is what any user sees
    "cannot can",
    r"^(?:(?:and|but|also|note|remember|please|however|keep in mind|that),? ){0,4}you (?:cannot|can['’]t|can not) (?:"
    r"(?:test|deploy|install|push|commit|merge|publish|release|run|modify|rename|touch|charge|refund|rely on|contact"
    r"|call|email|restart|ask|reach (?:me|us)|write to)\b(?! (?:it|them)\b| (?:this|that)[.!]*$)|(?:use|access"
    r"|reach) (?:the |our |any )?(?:internet|network|production|prod|live|customer|interactive)\b)"
    r"(?!.*\b(?:any ?more|twice|when|if|yet|currently|even|again|longer|button|page|form|field|link|menu|screen|tab"
    r"|dialog|window|popup|website|right now|at the moment)\b)[^?]*$",
)
_RULES = (
    _SCOPE,
    _PHRASE,
    _MODALS,
    _LIMITS,
    _GENERAL,
    _WANTS,
    _PREFER,
    _OURS,
    _CUSTOMS,
    _HOURS,
    _FACT,
    _YOU_MAY,
    _KIND,
    _PARTY,
    _LACKS,
    _FORM,
    _PRIORITY,
    _CANNOT,
    _GERMAN,
    _FRENCH,
    _ROMANCE,
    _OTHER_LATIN,
)
_SCRIPTS = (
    (re.compile("[Ѐ-ӿ]"), (_CYRILLIC,)),
    (re.compile("[ऀ-ॿ؀-ۿ]"), (_OTHER_SCRIPTS,)),
    (re.compile("[一-鿿぀-ヿ]"), (_CHINESE, _JAPANESE)),
    (re.compile("[가-힯]"), (_KOREAN,)),
)
_QUESTION = ("?", "？")
_IN_QUESTIONS = re.compile(
    r"(?i)^(?:only|never|always) \w|\bwithout (?:chang|touch|add|remov|delet|break|alter|modif|cancel|mov)\w*ing\b"
)
# A guess, a report, an excuse: words that bind elsewhere do not here.
_REPORT = re.compile(
    r"(?i)\bthere must\b|\b(?:I|we|you|he|she|they|it|that|this) must (?:have|be (?!\w+ed\b|\w+en\b))"
    r"|\b(?:I|we)['’](?:ve|m|ll) (?:always|never|only|sure|make sure)\b|\b(?:I|we) (?:have|had) (?:always|never"
    r"|only)\b|\b(?:I|we) (?:think|guess|suppose|believe|suspect|assume|wonder)\b(?!.{0,30}\b(?:you|we) should)"
    r"|\b(?:thinks|believes|claims)\b|\bI (?:really )?(?:do not|don[’']?t|cannot|can['’]?t|only) (?:have|know"
    r"|remember|see|recall|mind|understand|think)\b|\bjust to (?:make sure|be sure|confirm)\b"
    r"|\bI (?:also )?(?:just )?(?:want|wanted|would like) to make sure\b|^(?:why|wer|warum|pourquoi|por qué|waarom"
    r"|what|where|when (?!you\b|in doubt|unsure)|how|who)\b|\b(?:no|not) (?:more|less) than (?:a (?:bit|little)"
    r"|ever)\b|\bnever ?mind\b|\bfor at least \w+ (?:hours|days|weeks|years)|\b(?:habe?|hat|haben|hatten?|war|ist"
    r"|sind|wurden?)\b.{0,50}\b(?:nie|niemals|nicht|keine?n?)\b.{0,40}\w+(?:t|en)[.!]?$|\bnoch nie\b|^(?:thanks"
    r"|thank you)\b[^.]*$|\b(?:if|suppose|imagine) I (?:told|asked|said)\b"
)
# A numbered line of code, an assignment, a quoted piece, a program's own message ("cat: x: cannot open").
_PASTED = re.compile(
    r"\d{2,}[:|→]\s{2}|[\w.\[\]]+\s*[-+*/|&]?=[^=]|[\"'].*[\"'][,:]?$|(?!(?i:rules?|important|policy|constraints?"
    r"|requirements?):)(?:[\w./*-]+: ){1,2}(?:cannot|only|must)\b|(?:import|from|def|class|return|raise|if|for|const"
    r"|let|var|function|assert\w*)\b.*[({:;=]|\[?(?i:info|warn(?:ing)?|error|debug|fatal|err!)\b\]?[:\s]|npm \w+\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|\||(?i:usage): |</?\w|\x1b|.*[;{]$|> "
)
_WORDS = re.compile(r"[^\W\d_]+")
# What somebody quotes is not what they lay down.
_QUOTED = re.compile(
    r"\"[^\"]{15,}\"|“[^”]{15,}”|„[^“]{15,}“|«[^»]{15,}»|(?<![\w'])'[^'\n]{20,}'(?!\w)|<(\w+)>.*?</\1>"
)
# A sentence that only frames the text after it: "This is an important constraint: for the rest of this session."
_HOW_LONG = (
    r"(?:from (?:now|here|this point) on|going forward|henceforth|until further notice|as a rule|(?:for|during"
    r"|throughout) (?:the (?:rest|remainder|duration) of )?(?:this|the|our)(?: whole| entire)? (?:session"
    r"|conversation|chat|thread|project|repo\w*|day|trip))"
)
_FRAME = re.compile(
    rf"(?i)^\W*(?:(?:{_HOW_LONG}|(?:this is|these are|here (?:is|are)|there (?:is|are)|one|an?|the|my|our|some|another"
    r"|a few|two|three|more|and|also|hard|strict|important|standing|general|house|following)[,:\s]+)*(?:(?:rules?"
    r"|constraints?|requirements?|guidelines?|instructions?|preferences?|conventions?)\b|(?:important|critical"
    r"|remember|keep in mind|regeln?|wichtig|r[eè]gles?|reglas?|regole)(?=[\s*_]*:))(?: for (?:you|me"
    rf"|us))?[\s,:]*(?:{_HOW_LONG})?|(?:and )?{_HOW_LONG})[\W_]*$"
)
_ITEM = re.compile(r"(?:[-*•–]|\d{1,2}[.)])(?:\s+\S|$)")
_TAG = re.compile(r"<([a-z][\w-]*)>")


@lru_cache(maxsize=1 << 14)  # a compaction asks of the same sentences for the summary and for what it loses
def is_binding(sentence: str) -> bool:
    """Whether a sentence states a rule, a prohibition, a limit, a preference or a circumstance.

    A question does so only if it says what must stay unchanged. Pasted lines of programs and logs do not.
    """
    text = _QUOTED.sub('""', " ".join(sentence[:LONGEST].split()))
    if not text or _PASTED.match(text):
        return False
    if text.endswith(_QUESTION):
        return bool(_IN_QUESTIONS.search(text))
    return _binds(text) and not _REPORT.search(text)


def _binds(text: str) -> bool:
    if (":" in text or "：" in text) and (_LABEL.match(text) or _FIELD.match(text)):
        return True
    words = frozenset(_WORDS.findall(text.lower()))
    if any(not words.isdisjoint(rule.words) and rule.pattern.search(text) for rule in _RULES):
        return True
    if not words.isdisjoint(_ORDER.words) and any(
        _ORDER.pattern.match(text, clause.end()) for clause in _CLAUSE.finditer(text)
    ):
        return True
    return not text.isascii() and any(
        rule.pattern.search(text) for script, rules in _SCRIPTS if script.search(text) for rule in rules
    )


def instructions(sentences: Iterable[str]) -> Iterator[str]:
    """The standing instructions among the sentences of one message, word for word and in order.

    A frame ("This is an important constraint: for the rest of this session.") and the sentence after it are one
    instruction, whatever that sentence says. If a list follows a frame, each item is one. Code blocks and text between
    tags are pasted and left out.
    """
    frame, listed = "", False
    for sentence in _joined(_typed(list(sentences))):
        item = bool(_ITEM.match(sentence))
        if _FRAME.match(sentence):
            frame, listed = sentence, False
            continue
        framed = (frame or listed) if item else frame and not sentence.endswith(_QUESTION)
        if framed:
            yield sentence if item else f"{frame} {sentence}"
        elif is_binding(sentence):
            yield sentence
        frame, listed = "", bool(framed) and item


def unframed(instruction: str) -> str:
    """The instruction without its frame: only what is to be done."""
    pieces = re.split(r"(?<=[.:,])\s+", instruction)
    while len(pieces) > 1 and _FRAME.match(pieces[0]):
        pieces = pieces[1:]
    return " ".join(pieces)


def _typed(sentences: list[str]) -> Iterator[str]:
    end = ""
    for index, sentence in enumerate(sentences):
        if end:
            end = "" if end in sentence else end
            continue
        if sentence.startswith(("```", "~~~")):
            end = sentence[:3]
        elif "<" in sentence and (tag := _TAG.search(sentence)) and f"</{tag[1]}>" not in sentence:
            end = f"</{tag[1]}>" if any(f"</{tag[1]}>" in later for later in sentences[index + 1 :]) else ""
        if not end:
            yield sentence


def _joined(sentences: Iterable[str]) -> Iterator[str]:
    """The sentences, where the number of a list item ("1.") is joined with the item."""
    number = ""
    for sentence in sentences:
        if _ITEM.fullmatch(sentence):
            number = f"{sentence} "
        else:
            yield number + sentence
            number = ""

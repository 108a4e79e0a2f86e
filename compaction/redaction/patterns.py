"""The forms of credentials: the published formats of common services' keys, and values next to a telling name.

A word alone is a secret only if it has the form of a known credential; reservation numbers, hashes, UUIDs and prices
must stay. Every pattern is tried only where one of its literal starts occurs (see the package), and none may read far
without a match: repeated starts in a line of 10 MB must not take minutes.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of credential. `starts` are lower case; `kind` is "" if the name next to the value determines it."""

    kind: str
    starts: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(kind: str, starts: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Rule:
    return Rule(kind, tuple(starts.split()), re.compile(pattern, flags))


# The groups that hold a secret; without one of them it is the whole match.
QUOTED = ("single", "inner")  # may be too short for one
SAID = ("asked", "set", "written", "told", "used", "named", "quoted", "near")  # may be words that only describe one
VALUES = ("value", "bare", "double", "single", "inner", "setting", "line", "part", "element", "padded", "forty", *SAID)

# -- values with a name beside them ----------------------------------------------------------------------------------

_WORDS = (
    r"passw(?:or)?d|passphrase|pwd|(?<=[_-])pass|secret(?:[_-]?access)?(?:[_-]?key)?|token|credentials?"
    # A session is in its user's language.
    r"|passwort|kennwort|contraseña|senha|mot de passe|\bmdp\b|wachtwoord|lösenord|adgangskode|passord|salasana|hasło"
    r"|heslo|jelszó|parola|şifre|kata sandi|mật khẩu|пароль"
    r"|密码|密碼|パスワード|비밀번호|كلمة المرور|סיסמה|รหัสผ่าน|पासवर्ड"
)
_WORD_STARTS = (
    "contraseña senha mot mdp wachtwoord lösenord adgangskode passord salasana hasło heslo jelszó parola şifre kata mật"
    " пароль 密码 密碼 パスワード 비밀번호 كلمة סיסמה รหัสผ่าน पासवर्ड"
)
_OF_KEYS = ("api", "access", "private", "account", "signing", "encryption")
_AGAIN = r"(?:[_-]?(?:\d|confirm(?:ation)?))?"  # password2, password_confirmation
# The end of a key of JSON: "db_password", "clientSecret", "api_keys".
LABEL = re.compile(rf"(?i)(?P<label>{_WORDS}|passwords|secrets|(?:{'|'.join(_OF_KEYS)})[_-]?keys?){_AGAIN}$")
# In a text one start, "key", does for all of them.
_KEY = rf"(?:{'|'.join(f'(?<={word})|(?<={word}[ _-])' for word in _OF_KEYS)})key"
_BARE = r"(?:[^\s\"',;()\[\]{}<>$\\]|\\(?![nrt\"']))"
_CLEAR = r"(?=[^\s\"',;]{0,80}\d)(?![\w.]{1,80}[(\[])"  # a digit in it, and no call or index of a program
_MARKUP = r"[*_`]{0,3}"  # of Markdown: **Password:** `value`
_PIECE = r"(?:[^'\\\n]|\\.)"  # of a text in single quotes
_INNER = r"(?:(?!(?P=escape)(?P=quote))[^\"'\n])"
_LABELLED = (
    rf"(?P<label>(?i:{_WORDS}|{_KEY}))(?i:{_AGAIN})(?:"
    # "password": "value", password='value', environ['PASSWORD'] = 'value', also inside JSON text, with escaped quotes
    r"(?:\\{0,7}[\"'])?\]?\s{0,8}(?:[:=]|=>)\s{0,8}(?:\"(?P<double>(?:[^\"\\\n]|\\.){4,4000}+)\""
    # an apostrophe inside of them has a letter behind it, or is doubled
    rf"|'(?P<single>{_PIECE}{{1,4000}}+(?:(?:''|'(?=\w)){_PIECE}{{0,200}}+){{0,3}})'"
    rf"|(?P<escape>\\{{1,7}})(?P<quote>[\"'])(?P<inner>{_INNER}{{1,4000}}?(?:'(?=\w){_INNER}{{0,200}}?){{0,3}})"
    r"(?P=escape)(?P=quote))"
    # PASSWORD=value, DB_PASSWORD: value: a setting in capitals needs no digit
    r"|(?:(?<=[A-Z])=|(?<=_PASSWORD):\s|(?<=--password)=)(?![\w.]{1,80}[(\[])"
    r"(?P<setting>[^\s\"'`;<>()\[\]{}$%\\][^\s\"'`;<>()\[\]\\]{3,4000}+)"
    # password=value, password: value, --password value: without quotes it must hold a digit, so that prose and code
    # stay as they are
    rf"|(?:=|{_MARKUP}(?:\\{{0,7}}[\"'])?\s?[:：]{_MARKUP}\s{{0,2}}{_MARKUP}"
    r"|(?<=-password)\s|(?<=-passphrase)\s|(?<=-token)\s|(?<=-key)\s|(?<=-secret)\s"
    # the password is value
    rf"|(?:\s(?:is|was|ist|lautet|est|es|è|é):?\s|\s?(?:是|为|為|は)\s?){_MARKUP}(?!(?i:(?:base|sha|md|aes|utf|argon|oauth|[a-z]s)-?\d)))"
    rf"{_CLEAR}(?P<bare>{_BARE}{{6,4000}}+)"
    # name = value to the end of a line, as in ini files
    rf"|\s{{1,8}}=\s{{1,8}}{_CLEAR}(?P<line>{_BARE}{{8,4000}}+)(?=\s{{0,8}}(?:[\n#;]|\\n|\Z))"
    # <password>value</password>
    r"|>(?P<element>[^\s<>{}$]{4,256}+)</"
    # AccountKey=value: Base64 up to its padding needs no digit, nor do the 40 characters of AWS
    r"|\s?[:=]\s?(?P<padded>[A-Za-z0-9+/]{24,200}={1,2}(?![\w=]))"
    r"|(?:(?<=ccess_key)|(?<=ccess-key)|(?<=ccessKey)|(?<=CCESS_KEY))(?:\\{0,7}[\"'])?(?:\s{0,8}[:=]\s{0,8}|\s{1,4})"
    r"(?:\\{0,7}[\"'])?(?P<forty>[A-Za-z0-9/+]{40}(?![\w/+]))"
    # ;Password=value; of a connection string
    r"|=(?P<part>[^\s\"';<>{}$()\[\]]{4,256}+)(?=;\s?[A-Za-z][\w ]{1,30}=)"
    r")"
)
# A password as people say it, without the marks that programs need; the package leaves out words that only describe it.
_SIGN = r"[!#%&*+./0-9:?@A-Z^_a-z~-]"
_PHRASE_END = r"(?=[.,;!?)*_`]{0,3}(?:\s|\\n|[\"']|\Z))"
_NAME_OF_CODE = r"(?![a-z]{1,30}[A-Z_]|\w{1,60}\.[a-z])"
# What is numbered in talk of passwords: a page, a step, a ticket; and how long or how often.
_NUMBERED = (
    r"(?!(?i:(?:base|sha|md|aes|utf|argon|oauth|pbkdf|bcrypt|rfc|iso|tls|ssl|step|web|v|api|attempt|box|bug|case|check"
    r"|column|config|dialog|field|file|form|gh|id|input|issue|item|length|level|line|option|page|part|phase|pr|prompt"
    r"|reset|rev|round|row|rule|screen|section|stage|tab|table|task|tests?|ticket|type|users?|utils?|view)[-_]?\d"
    rf"|\d{{1,4}}-?(?:st|nd|rd|th|[dhmswx]|am|pm|min|sec|hrs?|days?|weeks?|months?|years?|chars?|[kmg]b){_PHRASE_END}"
    rf"|tests?_)|[A-Z]{{2,10}}-\d{{1,6}}{_PHRASE_END})"
)
_MIXED = rf"{_NUMBERED}(?=[!-~]{{0,30}}[A-Za-z])(?=[!-~]{{0,30}}\d)"
_SPOKEN = r"(?i:passw(?:or)?d|passphrase|passwort|kennwort|contraseña|пароль)"
_SAID = (
    rf"(?:(?<=[?&])(?i:password)=(?P<asked>[\w!%*+.@~-]{{4,256}}+)"  # in an address
    # password=value alone on a line of settings; code is indented, or goes on
    rf"|(?<![^\n._-]){_SPOKEN}[ ]?=[ ]?{_NAME_OF_CODE}(?P<set>{_SIGN}{{3,63}}[\w!?#@])(?=[ \t]{{0,8}}(?:\n|\\n|\Z))"
    rf"|{_SPOKEN}(?:"
    # password: value, alone on its line
    rf"{_MARKUP}\s?(?::[*_`]{{0,3}}[ \t]{{1,2}}|：){_MARKUP}{_NAME_OF_CODE}"
    rf"(?P<written>{_SIGN}{{3,63}}?[\w!?#@])(?=[.!*_`]{{0,3}}[ \t]{{0,8}}(?:\n|\\n|[\"']|\Z))"
    # the password is value, at the end of what is said, which no line goes on with
    rf"|\s(?:is|was):?[ ]{_MARKUP}(?P<told>{_SIGN}{{3,63}}?[\w!?#@]){_PHRASE_END}(?!\s{{1,40}}[a-z])"
    # use password value7 here, set the password to value7
    rf"|(?:\s(?:to|of|as|with|→|->|=>|-|–))?\s{_MIXED}"
    rf"(?P<used>[A-Za-z0-9][!#%&*+.0-9?@A-Z^_a-z~-]{{3,62}}?[\w!?#@]){_PHRASE_END}"
    # PASSWORD 'value' of SQL; the password "value", (`value`)
    rf"|\s(?:(?:to|is|was|of)\s)?\(?(?P<mark>[\"'`])(?P<quoted>{_SIGN}{{4,64}}?)(?P=mark)"
    r"))"
)
# "Never use token value7 in prod", also where the word alone would say too little, or the value is a number.
_USED = (
    r"(?i:(?<=\buse )|(?<=\buse the )|(?<=\bwith )|(?<=\bwith the )|(?<=\busing )|(?<=\busing the ))"
    r"(?P<label>(?i:passw(?:or)?d|passphrase|pwd|secret|token|api[ _-]?key|senha|mot de passe))\s"
    rf"(?:(?=\d{{6,32}}{_PHRASE_END})|{_MIXED})"
    rf"(?P<named>[A-Za-z0-9][!#%&*+.0-9?@A-Z^_a-z~-]{{4,62}}?[\w!?#@]){_PHRASE_END}"
)
# Behind the word, in the same sentence: "the password of the db (prod): Xk7qTz91". Only what looks like no name: small
# letters and capitals with digits in two places.
_NEAR = (
    rf"(?i:{_WORDS})(?![\w(\[])[^\n.!?;{{}}<>$]{{1,40}}?(?<![\w/.@#$-])"
    rf"(?P<near>{_NUMBERED}"
    r"(?=[!-~]{0,30}[a-z])(?=[!-~]{0,30}[A-Z])(?=[!-~]{0,30}\d[!-~]{0,30}[A-Za-z][!-~]{0,30}\d)"
    rf"[A-Za-z0-9][!#%&*+.0-9?@A-Z^_a-z~-]{{6,62}}[\w!?#@]){_PHRASE_END}"
)
# Values in code, forms and talk that are not passwords: a type, a state, the name itself.
_TYPES = (
    "str string char text varchar bytes byte blob boolean bool integer number float none null nil true false undefined"
    " value values input output field object array dict list tuple record default bcrypt scrypt argon2 argon2id pbkdf2"
    " sha256 plain plaintext plain-text cleartext clear todo n/a"
)
_STATES = (
    "wrong incorrect correct right invalid valid missing empty blank weak strong short long longer shorter stronger"
    " weaker enough safe unsafe secure insecure random unique optional mandatory necessary unnecessary set unset reset"
    " lost gone known unknown public private fine okay good better best same different identical sent kept hidden"
    " shown written forgotten broken stolen chosen taken given read-only write-only case-sensitive one-time single-use"
    " temporary permanent important sensitive personal local remote global internal external simple easy hard difficult"
    " ready current there here this that these those below above again already always never often only also then later"
    " soon still today tomorrow yesterday mine yours ours theirs something anything nothing everything whatever else"
    " falsch richtig erforderlich vergessen leer incorrecta incorrecto requerida olvidada oublié requis incorrecte"
)
DESCRIPTIONS = frozenset((*_TYPES.split(), *_STATES.split()))
ENDINGS = ("ed", "ing", "ly", "able", "ible", "ful", "less", "tion", "ment", "ous", "ical")
NAMED_AGAIN = re.compile(r"pass|pwd|secret|token|credential|kennwort")
# Up to the next mark, or, where the text was cut off, its lines of Base64, quoted or not, behind the headers of PGP.
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:"
    r"(?:[^-]|-(?!----(?:BEGIN|END))){0,400000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\s|[>|]|\\{1,7}[nr]){0,8}(?:Version|Comment|Charset|Hash|MessageID|Proc-Type|DEK-Info):[^\n\\]{0,200}+){0,9}+"
    r"(?:(?:\s|[>|]|\\{1,7}[nr]){0,8}[A-Za-z0-9+/=]{6,}+){0,6000}+)"
)
# All pairs of a cookie header, one of which is long enough to be more than a choice.
_COOKIES = (
    r"(?=(?:[^\s=;\"'\\]{1,64}=[^\s;\"'\\]{0,400}+;\s?){0,20}?[^\s=;\"'\\]{1,64}=[^\s;,\"'\\<>{}$()]{6})"
    r"(?P<value>[^\s=;\"'\\]{1,64}=[^\s;\"'\\]{0,4000}+(?:;\s?[^\s;\"'\\]{1,4000}+){0,100})"
)
_TOKEN_AT = (  # https://token@host; a name is shorter, or of one kind of letters
    r":\\?/\\?/(?P<value>(?=[\w%~-]{32}|[\w%~-]{0,60}\d|[a-z_-]{0,60}[A-Z]\w{0,60}[a-z])[\w%~-]{20,400})@(?=[\w-]{1,63}[.:/])"
)
_OPAQUE = r"(?P<value>(?=[^\s\"']{0,80}\d)[\w+/.-]{20,}={0,2})"

# -- every kind --------------------------------------------------------------------------------------------------------

RULES = (
    _rule("private key", "-----begin", _PRIVATE_KEY),
    _rule("private key", "age-secret-key-1", r"(?i)\bAGE-SECRET-KEY-1[0-9A-Z]{40,80}"),
    _rule("API key", "sk-", r"\bsk-(?=[A-Za-z_-]{0,200}+\d)[\w-]{20,}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek
    _rule(
        "API key",
        "gsk_ xai- pplx- nvapi- tvly-",
        r"\b(?:gsk_|xai-|pplx-|nvapi-|tvly-)(?=[A-Za-z_-]{0,200}+\d)[\w-]{20,}",
    ),
    _rule("API key", "r8_ fw_ e2b_ jina_", r"\b(?:r8_|fw_|e2b_|jina_)(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}"),
    _rule("API key", "lsv2_ fc-", r"\blsv2_(?:pt|sk)_[0-9a-f_]{32,}|\bfc-[0-9a-f]{32}\b"),
    _rule("Stripe key", "sk_ rk_ pk_ whsec_", r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}"),
    _rule(
        "AWS access key", "akia asia", r"\bA[KS]IA[A-Z0-9]{16}\b(?:[,;:\s]{1,3}[A-Za-z0-9/+]{40}(?![\w/+]))?"
    ),  # with its secret
    _rule(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{40,}",
    ),
    _rule("GitLab token", "glpat- gldt- glrt- glptt- glft- glcbt-", r"\bgl(?:pat|dt|rt|ptt|ft|cbt)-[\w-]{20,}"),
    _rule("Slack token", "xox xapp-", r"\bxox[a-eoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{20,}"),
    _rule("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/(?P<value>[\w/-]{20,})"),
    _rule("Discord webhook", "/api/webhooks/", r"/api/webhooks/\d{10,}/(?P<value>[\w-]{30,})"),
    _rule("Google key", "aiza ya29. gocspx-", r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}"),
    _rule("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    _rule("package registry token", "npm_ pypi-", r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[\w-]{50,}"),
    _rule("package registry token", "rubygems_ dckr_pat_", r"\brubygems_[0-9a-f]{48}\b|\bdckr_pat_[\w-]{20,}"),
    _rule("SendGrid key", "sg.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    _rule("Telegram bot token", ":aa", r"(?<=\d{8}):(?P<value>AA[\w-]{33})\b"),
    _rule("Mailgun key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    _rule("Atlassian token", "atatt3x atbb", r"\bATATT3x[\w=-]{40,}|\bATBB[A-Za-z0-9]{28,}\b"),
    _rule("Shopify token", "shpat_ shpss_ shpca_ shppa_", r"\bshp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}\b"),
    _rule(
        "cloud token",
        "dop_v1_ doo_v1_ dor_v1_ dapi hvs. hvb. sbp_ sb_secret_ pscale_ tskey- hrku-",
        r"\bdo[por]_v1_[0-9a-f]{64}\b|\bdapi[0-9a-f]{32}\b|\bhv[sb]\.[\w-]{24,}|\btskey-[a-z]+-[\w-]{16,}|\bHRKU-[\w-]{30,}|\bsbp_[0-9a-f]{40}\b"
        r"|\bsb_secret_[\w-]{20,}|\bpscale_(?:tkn|pw|oauth)_[\w.-]{32,}",
    ),
    _rule(
        "service token",
        "lin_api_ ntn_ secret_ figd_ sntrys_ sntryu_ nrak- glsa_ glc_ pmak- dp. xkeysib- sq0",
        r"\blin_api_[A-Za-z0-9]{40}|\bntn_[A-Za-z0-9]{40,}|\bfigd_[\w-]{30,}|\bsntry[su]_[\w=/+-]{40,}"
        r"|\bsecret_[A-Za-z0-9]{43}\b|\bPMAK-[0-9a-f-]{40,}|\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}"
        r"|\bxkeysib-[\w-]{40,}|\bsq0[a-z]{3}-[\w-]{22,}"
        r"|\bNRAK-[A-Z0-9]{27}\b|\bgl(?:sa|c)_(?=[\w=/+-]{0,60}\d)[\w=/+-]{32,}",
    ),
    _rule("JSON web token", "eyj", r"(?<![\w-])eyJ[\w-]{8,2000}+\.(?:eyJ[\w-]{8,}\.[\w-]*|[\w-]*(?:\.[\w-]{8,}){3})"),
    _rule("password in an address", "://", r"://[^\s:/@'\"]{0,64}:(?P<value>[^\s/'\"<>]{1,256})@"),
    _rule("token in an address", r":// :\/\/", _TOKEN_AT),
    _rule("password in an address", r":\/\/", r":\\/\\/[^\s:/@'\"]{0,64}:(?P<value>[^\s/@'\"]{1,256})@"),  # escaped
    _rule("signature", "signature=", r"(?i)(?:(?<=x-amz-)|(?<=x-goog-)|(?<=[?&]))signature=(?P<value>[\w%+/=~-]{20,})"),
    # Of a shared access signature, whose address may be escaped, or cut off before it
    _rule("signature", "sig=", r"(?i)(?:(?<=[?&;\s])|(?<=u0026))sig=(?P<value>[\w%+/=-]{10,}+)(?![(.\[])"),
    _rule(
        "bearer token",
        "bearer",
        r"(?i)\bbearer\s+(?=[A-Z0-9+/_.~-]{0,60}\d|[A-Z0-9+/_.~-]{32})(?P<value>[A-Z0-9+/_.~-]{12,}=*)",
    ),
    _rule("basic credentials", "basic", r"(?i)\bbasic\s+(?P<value>(?=[A-Z0-9+/]{0,60}\d)[A-Z0-9+/]{12,}={0,2})"),
    _rule(
        "credentials",
        "authorization",
        r"(?i)authorization\\{0,7}[\"']?\s{0,8}[:=]\s{0,8}\\{0,7}[\"']?(?:(?:basic|token|apikey|digest)\s{1,4})?"
        r"(?=[A-Z0-9+/_.~-]{0,80}\d)(?P<value>[A-Z0-9+/_.~-]{12,}={0,2})",
    ),
    _rule(
        "cookie",
        "cookie",
        rf"(?i)cookie\\{{0,7}}[\"']?\s{{0,4}}:\s{{0,4}}\\{{0,7}}[\"']?{_COOKIES}",
    ),
    _rule("cookie", "curl", rf"\bcurl\b(?:(?!curl)[^\n|]){{0,200}}?\s(?:-b|--cookie)[ =]?\s{{0,4}}[\"']?{_COOKIES}"),
    _rule(
        "password",
        "curl",
        r"\bcurl\b(?:(?!curl)[^\n|]){0,200}?\s(?:-u|--user)[ =]?\s{0,4}[\"']?[^\s:\"']{1,64}:"
        r"(?P<value>[^\s\"'$\[]{4,})",
    ),
    # Of an environment: AZURE_OPENAI_KEY=…, and of an address: ?key=…
    _rule("key", "_key", rf"(?<=[A-Z])_KEY[\"']?\]?\s?[:=]\s?[\"']?{_OPAQUE}"),
    _rule("key", "key=", rf"(?<=[?&])key={_OPAQUE}"),
    _rule("password", "sshpass", r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<value>[^\s\"'$\[]{4,})"),
    _rule("password", "mysql", r"\bmysql(?:dump|admin)?\b(?:(?!mysql)[^\n|;]){0,200}?\s-p(?P<value>[^\s\"'$\[]{4,})"),
    _rule("password", "machine", r"\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(?P<value>[^\s\[]{4,})"),
    _rule(
        "",
        f"pass pwd secret token credential key kennwort {_WORD_STARTS}",
        _LABELLED,
    ),
    _rule("password", "passw passphrase kennwort contraseña пароль", _SAID),
    _rule("", "passw passphrase pwd secret token api senha mot", _USED),
    _rule("password", f"passw passphrase kennwort {_WORD_STARTS}", _NEAR),
)

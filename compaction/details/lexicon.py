"""Word lists that separate exact details: months, units, titles, labels, and capitalised words that are not names.

They cover the languages most used with agents. A word missing from a list costs a detail or shows one too many; it has
no other effect.
"""

from __future__ import annotations


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MONTHS = (
    "Jan January Januar januari janvier enero janeiro gennaio января",
    "Feb February Februar februari février febrero fevereiro febbraio февраля",
    "Mar March März maart mars marzo março марта",
    "Apr April april avril abril aprile апреля",
    "May Mai mei mai mayo maio maggio мая",
    "Jun June Juni juni juin junio junho giugno июня",
    "Jul July Juli juli juillet julio julho luglio июля",
    "Aug August augustus août agosto августа",
    "Sep Sept September september septembre septiembre setembro settembre сентября",
    "Oct October Oktober oktober octobre octubre outubro ottobre октября",
    "Nov November november novembre noviembre novembro ноября",
    "Dec December Dezember december décembre diciembre dezembro dicembre декабря",
)
MONTHS = "|".join("|".join(names.split()) for names in _MONTHS)
MONTH_OF = {name.casefold(): number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
CODES_OF_CURRENCIES = "EUR|USD|GBP|CHF|JPY|RUB|CAD|AUD|CNY|INR|BRL|PLN|SEK|NOK|DKK|CZK|HUF|TRY|KRW|MXN|ZAR|SGD|HKD"
CURRENCIES = rf"€|£|\$|₽|₩|¥|₹|元|円|원|руб|zł|kr|[Ee]uros?|{CODES_OF_CURRENCIES}"
UNITS = (
    "ns|us|µs|ms|s|sec|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|%|percent|B|kB|KB|MB|GB|TB|KiB"
    "|MiB|GiB|bytes?|chars?|tokens?|lines?|rows?|px|mm|cm|m²|m³|m|km|mi|miles?|g|kg|lbs?|°C|°F|Hz|MHz|GHz|W|kW|V|USD"
    "|EUR|GBP|JPY|CHF|dollars?|euros?|pounds?|people|persons?|passengers?|bags?|items?|files?|tests?|passed|failed"
    "|skipped|cores?|boxes|pieces|bins|Tage?|Stunden?|Minuten|Wochen?|jours?|heures?|días?|horas?"
    "|дней|дня|часов|часа|минут|файлов|строк|руб"
)
# Units that measure the same, of those in `UNITS` and of currencies: 30 seconds are neither 30 % nor 30 files. What is
# merely counted ("#") is called by many names; "m" is left out, which are metres or minutes.
_SAME_UNIT = {
    **{"ns": "ns", "us": "us µs", "ms": "ms", "s": "s sec second seconds", "%": "% percent"},
    "min": "min mins minute minutes minuten минут",
    "h": "h hr hrs hour hours stunde stunden heure heures hora horas часов часа",
    "d": "d day days tag tage jour jours día días дней дня",
    "week": "week weeks woche wochen",
    **{"month": "month months", "year": "year years"},
    **{"byte": "b byte bytes", "kb": "kb kib", "mb": "mb mib", "gb": "gb gib", "tb": "tb tib", "token": "token tokens"},
    **{"mm": "mm", "cm": "cm", "km": "km", "mi": "mi mile miles", "g": "g", "kg": "kg", "lb": "lb lbs", "px": "px"},
    **{"°c": "°c", "°f": "°f", "hz": "hz", "mhz": "mhz", "ghz": "ghz", "w": "w", "kw": "kw", "v": "v"},
    **{"€": "€ eur euro euros", "$": "$ usd dollar dollars", "£": "£ gbp pound pounds", "¥": "¥ ￥ jpy cny 円 元"},
    **{"₽": "₽ rub руб", "₩": "₩ krw 원", "₹": "₹ inr", "chf": "chf", "zł": "zł pln"},
    "#": "person persons people passenger passengers bag bags item items file files test tests passed failed skipped"
    " line lines row rows char chars core cores boxes pieces bins файлов строк",
}
CURRENCY_UNITS = frozenset(["€", "$", "£", "¥", "₽", "₩", "₹", "chf", "zł"])
UNIT_OF = {unit: same for same, units in _SAME_UNIT.items() for unit in units.split()}
# Words that make the next word a name.
TITLES = (
    "Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Herr|Frau|M|Mme|Mlle|Sr|Sra|Hello|Hi|Hey|Dear|Hallo|Bonjour|Hola|Liebe|Lieber|Best"
    "|Regards|Cheers|г-н|г-жа|Привет"
)
# Of a label, an argument or a column: its value names somebody or some place.
NAMED = (
    "name|names|first_name|last_name|full_name|display_name|user|username|owner|author|assignee|customer|client|guest"
    "|contact|city|town|place|country|location|address|street|origin|destination|from|to|warehouse|depot|site|company"
    "|supplier|vendor|host|hostname|bucket|branch|service|project|table|queue|database|cluster|region|model|assistance"
    "|sender|recipient|airport|hotel|station|namespace|role|tenant|node|pod|carrier|имя|клиент|город|адрес|姓名|客户|城市|地址|名前|都市|住所|이름|도시|주소"
)
# Capitalised in titles, headings and labels, but names of nothing.
COMMON = _set_of(
    """a an the and or but if then else so not no yes ok okay i you he she it we they me us him her them my your
    our their this that these those there here who what when where why how which all any both each every some
    many most more less few other another such same own new old first last next previous current final total one
    two three four five six seven eight nine ten once twice again still also only just even very too now today
    tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
    january february march april may june july august september october november december morning evening night
    week month year day date time hour minute in on at by for from to of with without into onto over under
    between after before since until as than about against is are was were be been being am do does did done has
    have had can could will would shall should may might must let please thank thanks hello hi hey dear sure
    great good fine perfect sorry welcome best regards cheers lovely super nice right wrong true false none null
    undefined error errors warning note notes info debug fatal failed success result results output input file
    files line lines page pages section chapter part step steps stop task tasks goal plan request response
    question answer reply message messages session user users assistant agent system tool tools call calls
    function functions class classes method methods module modules package packages import export return test
    tests code data type types name names id ids number numbers key keys value values field fields list lists
    table tables row rows column columns index item items object objects string integer float boolean array map
    set count sum amount price prices cost costs fee fees payment payments refund refunds balance credit debit
    card cards certificate certificates method invoice order orders ticket tickets reservation reservations
    booking bookings flight flights trip round way return departure arrival origin destination airport business basic
    travel member regular change changes update updates upgrade downgrade cancel
    cancelled cancellation confirm confirmed confirmation status state option options choice choices details
    detail information summary description title heading overview available availability direct
    connecting additional extra free original existing selected required optional cheapest cheap best
    scheduled created birth proceed policy reason reasons help support
    service services customer customers client account accounts profile email phone address city country street
    place language version build release branch commit pull push merge issue issues bug fix feature features
    project projects repository folder directory path paths open closed read write edit create delete remove add
    added removed changed run running start started end ended begin finish finished ready done pending active
    inactive enabled disabled default settings configuration config server servers client database query
    requirement requirements building installing getting collecting using already satisfied wheels everything however
    also additionally therefore instead meanwhile otherwise indeed besides moreover furthermore hence thus yep yeah
    alright correct exactly understood got noted agreed because while though although unless given say maybe perhaps
    hmm uh um ugh wow oops
    lastly afterwards later ask tell meet use see check contact send give make try keep put show find look go take move
    visit bring buy pay sell wait remember inform invite remind follow copy replace rename install start stop open close
    nothing something everyone someone nobody anything anyone oh ah well
    count difference left found known guess cause causes scan report
    article pieces ordering dates english german french dutch spanish italian portuguese russian chinese
    japanese korean american european internet web online не да нет это как что кто где когда если или его её их
    мы вы он она они для при после перед спасибо хорошо der die das ein eine und oder aber ich du er sie es wir
    ihr mein dein sein nicht ja nein bitte danke guten le la les un une des et ou mais je tu il elle nous vous
    ils elles merci bonjour oui non votre notre el los las una y o pero yo tú ella nosotros gracias hola sí het
    здравствуйте привет добрый moin guten grüß servus buenos buenas olá ciao buongiorno merhaba
    een en of maar ik jij hij zij wij jullie niet ja nee dank"""
)
# Three or four capitals that abbreviate common terms, and so are not names.
ACRONYMS = _set_of(
    """API URL URI SQL CSS PDF CSV XML HTML HTTP JSON YAML TOML USD EUR GBP CHF JPY EST UTC GMT CET PST CPU GPU RAM
    SSD DNS SSH TLS SSL TCP UDP FTP IP VPN CLI GUI IDE SDK LLM MIT BSD GPL FAQ DOB VAT AND NOT THE YOU FOR ALL
    ANY END CAN GET PUT POST HEAD PATCH NONE NULL TRUE TODO NOTE INFO WARN FAIL PASS DONE OPEN EXIT ELSE THEN
    WITH FROM INTO LEFT JOIN SHOW DROP LIST TEXT KEY ROW SET ADD NEW OLD YES FILE READ UNLESS ONLY
    NEVER MUST YYYY OK ID MM DD AM PM PAGE WHERE LIMIT STOP USED AVAIL THIS THAT WHAT DO IS
    IT IN ON TO OF OR AS AT BY SO NO EDT PDT CDT CST MST BST IST IBAN BIC PIN SMS UUID GUID ASCII UTF CRUD REST
    SOAP RPC CORS JWT ORM MVC DOM NPM PNPM AWS GCP EOF EOL LTS TTL FIFO LIFO README WCAG ARIA SVG PNG JPG GIF
    RGB FYI ASAP ETA TBD TBA RFC ISO IEEE ANSI OCR MEMBER"""
)
# Cities and countries written in scripts without capitals; others are recognised by a suffix or the word before them.
PLACES = (
    "北京|上海|广州|深圳|成都|杭州|南京|武汉|西安|重庆|天津|苏州|香港|台北|東京|东京|京都|大阪|名古屋|札幌|福岡|横浜|神戸|広島"
    "|奈良|宇治|서울|부산|인천|대구|대전|광주|제주|중국|한국|中国|日本|美国|英国|德国|法国|韩国|アメリカ|ドイツ|フランス|イギリス|中國|韓国"
)
# Objects that come with a language or its platform: `JSON.parse` is everybody's, `todos.map` this project's.
BUILT_IN = _set_of(
    """JSON Math Object Array String Number Boolean Date Promise Symbol Map Set Reflect Intl console window
    document localStorage sessionStorage crypto process module exports require navigator location event e Error
    React ReactDOM self this super cls os sys re json math time datetime pathlib Path logging random itertools
    functools collections typing subprocess io asyncio string str int float list dict tuple set bytes object
    print pytest unittest np pd plt fmt strings strconv errors fs path util http https std System Collections
    Arrays Integer Optional RegExp err evt shutil torch ctx Enum Logger IO File Regex Keyword Application
    Process GenServer Agent Task List Float Atom Kernel vec Vec Some Ok Err Box Rc Arc Option Result res req
    response request assert expect test jest vi describe it text args kwargs"""
)

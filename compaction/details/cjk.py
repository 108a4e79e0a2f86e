"""Names of people and places in Korean, Japanese and Chinese, which have no capitals.

Theory: a name consists of one of the most common family names and a given name of syllables or characters
that given names use. In addition something around it must mark it as a person: a label before it ("담당자:",
"氏名："), or a title or particle after it. Neither is enough alone. The few other words that meet both
conditions are listed, such as 이미지가 ("the picture"). A name that is not in the lists is not found; that has
no other effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..sentences import set_of
from .lexicon import PLACES

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LOOK_BACK = 24  # characters before a name that are searched for a label
_MARKED = r"[\s*_)）\"'”」]{0,4}"  # noqa: RUF001
_BETWEEN = rf"{_MARKED}[:：=—–-]{_MARKED}(?<!-)"  # noqa: RUF001  (between a label and its value)

# --- Korean ----------------------------------------------------------------------------------------------------------
_KO_LABEL = re.compile(
    r"(?:이름|성명|성함|(?P<role>담당자?|고객님?|예약자|작성자|수신[인자]|발신[인자]|신청자|주문자|받는 ?(?:사람|분)"
    r"|보내는 ?(?:사람|분)|참석자|책임자|대표자?|저자|환자|승객|탑승객|회원|직원|사원))명?"
    rf"(?:[은는이가] |(?(role) |(?!))|{_BETWEEN})[\"'“‘「*]*$"
)
_KO_TITLES = (
    "고객|회원|선생|사장|부장|차장|과장|대리|팀장|실장|이사|대표|교수|박사|변호사|기자|감독"
    "|선수|작가|원장|매니저|사원|주임"
)
_KO_GIVEN = (
    "[민서준지우현수진영호은경희정미선혜연주원성재동훈상철용태석규인환윤하예린도유나빈찬건율채승형혁아람솔결소라보세종"
    "길숙순옥란애명범욱]"
)
_KO_NAME = re.compile(
    r"(?<![\w-])(?:(?:남궁|황보|제갈|선우|독고|사공)[가-힣]{1,2}?|[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유"
    rf"남심노하곽성차주우구민진지엄채원천]{_KO_GIVEN}{{2}})"
    rf"(?=(?P<title> ?[씨님]| (?:{_KO_TITLES})님?)?"
    r"(?P<particle>이라고|라고|이에요|예요|입니다|이고|이며|이랑|에게|한테|께서|께|[이가은는을를과와의])?(?![가-힣]))"
)
_KO_CLOSED = frozenset(("이라고", "이에요", "이고", "이며", "이랑", "이", "은", "을", "과"))  # after a final consonant
_KO_OPEN = frozenset(("라고", "예요", "가", "는", "를", "와"))  # after a vowel
_KO_WORDS = set_of(
    """이미지 최소한 구성원 우주선 강원도 전도율 조수석 고용주 신용도 노선도 유명인 강아지 민주주 지우지 주인지"""
)

# --- Japanese --------------------------------------------------------------------------------------------------------
_JA_FAMILY = (
    "佐々木|長谷川|佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|山口|松本|井上|木村|斎藤|斉藤|齋藤"
    "|清水|山崎|池田|橋本|阿部|石川|山下|中島|石井|小川|前田|岡田|藤田|後藤|近藤|村上|遠藤|青木|坂本|福田|太田|西村|藤井"
    "|金子|岡本|藤原|中野|三浦|原田|中川|松田|竹内|小野|田村|中山|和田|石田|森田|上田|内田|柴田|酒井|宮崎|横山|高木|安藤"
    "|宮本|大野|小島|工藤|谷口|今井|高田|増田|丸山|杉山|村田|大塚|新井|小山|平野|藤本|河野|上野|野口|武田|松井|千葉|岩崎"
    "|菅原|木下|久保|佐野|野村|松尾|菊地|菊池|市川|林|森"
)
_JA_GIVEN = (
    "郎子美奈香恵菜花代江樹介輔太也哉斗翔平弥彦夫雄男生一二三司志史治朗真純薫光明宏浩博弘隆誠剛豊進健翼舞愛葵蓮陸蒼"
    "結衣里紀絵理沙織穂帆歩希咲空海音優悠裕祐勇直拓達哲智知千春夏秋冬由友佳加可和義良正昌孝貴久永幸洋陽大康亮涼聡俊駿"
    "修秀英栄茂実清次龍竜辰寛慎信伸仁人則典範綾彩桜梨莉瑞瞳麻摩未茉桃百合凛颯湊朝晴潤淳敦篤徹透望匠圭啓敬慶景"
)
_JA_SIGN = "\u4e00-\u9fff々\u30a1-\u30fa\u30fc"
_JA_TITLES = "さん|さま|様|氏|くん|君|ちゃん|先生|部長|課長|社長|係長|主任|店長|教授|選手|殿"
_JA_LABEL = re.compile(
    r"(?:氏名|名前|お客様名?|顧客名?|担当者?名?|予約者名?|宛名|宛先|送り主|受取人|差出人|作成者|責任者|参加者|患者名?|著者"
    rf"|代表者?|記入者|依頼者)(?:は|{_BETWEEN})[「『\"*]*$"
)
_JA_NAME = re.compile(
    rf"(?<![{_JA_SIGN}])(?P<family>{_JA_FAMILY})(?:[ 　]?(?P<given>[{_JA_GIVEN}]{{1,3}}|[\u30a1-\u30fa\u30fc]{{2,5}})"  # noqa: RUF001
    r"|(?P<kana>(?![はがをにのともへやでか]|さん|さま|くん|ちゃん|まで|たち|だけ|より|って|らし|など)[\u3041-\u3093]{2,4}?)"
    r"(?=です|さん|様|と申|$|[\s、。,.()（）|])|)"  # noqa: RUF001
    rf"(?=(?P<title>[ 　]?(?:{_JA_TITLES}))"  # noqa: RUF001
    rf"|(?P<particle>です|から|まで|と申|という|[はがをにのともへ、。])|(?![{_JA_SIGN}]))"
)
_JA_PEOPLE = frozenset(("一人", "二人", "三人", "大人", "一"))
# Anybody at all in front of a title; but not people in general, kinship, or 様 as a part of a word (仕様, 模様).
_JA_TITLED = re.compile(
    rf"(?<![{_JA_SIGN}おご])(?!(?:[皆神王各何両奥娘父母兄姉客]|息子|店員|看護師|医者)(?:さん|様))"
    rf"[{_JA_SIGN}]{{1,6}}(?<![仕同模多異有一無])(?=(?:さん|様)(?![{_JA_SIGN}]))"
)

# --- Chinese ---------------------------------------------------------------------------------------------------------
_ZH_FAMILY = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁"
    "任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫"
    "孔向汤"
)
_ZH_NAME = re.compile(
    rf"(?<=我叫)[{_ZH_FAMILY}][\u4e00-\u9fff]{{1,2}}|(?<=我是)[{_ZH_FAMILY}][\u4e00-\u9fff]{{1,2}}(?![\u4e00-\u9fff])"
    rf"|(?<!\w)[{_ZH_FAMILY}][\u4e00-\u9fff](?=女士|先生|小姐|老师)"
)
_ZH_LABELLED = re.compile(
    rf"(?:联系人|聯絡人|姓名|[收寄]件人|收货人|负责人|经办人|预订人|申请人|乘客|旅客)(?:[是叫]|{_BETWEEN})"
    rf"([{_ZH_FAMILY}](?!先生|女士|小姐|老师)[\u4e00-\u9fff]{{1,2}})(?![\u4e00-\u9fff])"
)

_PLACE = re.compile(rf"(?:{PLACES})(?:駅|市|県|省|区)?|[\u4e00-\u9fff]{{1,3}}(?:駅|寺|院|城|県)(?![\u4e00-\u9fff])")


def names_in(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the names of people, then of places; one may lie inside another."""
    for match in _KO_NAME.finditer(text):
        if _is_korean(match) or _KO_LABEL.search(text, max(match.start() - _LOOK_BACK, 0), match.start()):
            yield match.span()
    for match in _JA_NAME.finditer(text):
        if _is_japanese(match) or _JA_LABEL.search(text, max(match.start() - _LOOK_BACK, 0), match.start()):
            yield match.span()
    for match in _JA_TITLED.finditer(text):
        yield match.span()
    for match in _ZH_NAME.finditer(text):
        yield match.span()
    for match in _ZH_LABELLED.finditer(text):
        yield match.span(1)
    for match in _PLACE.finditer(text):
        yield match.span()


def _is_korean(match: re.Match[str]) -> bool:
    """Whether the text after the name marks a person: a title, or the particle that fits the name's last sound."""
    name, particle = match[0], match["particle"]
    if name in _KO_WORDS:
        return False
    if match["title"]:
        return True
    closed = (ord(name[-1]) - 0xAC00) % 28 > 0  # Unicode, 3.12: syllables are ordered by their final consonant last
    wrong = _KO_OPEN if closed else _KO_CLOSED
    noun = name[-1] in "성상형" or (name[-1] == "하" and particle == "는")  # 안정성 ("stability"), 유지하는 ("keeping")
    return bool(particle) and particle not in wrong and not noun


def _is_japanese(match: re.Match[str]) -> bool:
    """Whether the text after the name marks a person: a title, or a particle after a family and a given name."""
    if match["title"]:
        return True
    given = match["given"]
    named = match["particle"] and given and given not in _JA_PEOPLE
    return bool(named) or match["particle"] == "と申" or bool(match["kana"] and match["particle"] == "です")

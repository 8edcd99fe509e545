"""Pronouns, names, numerals, times and adjectives of the grammar.

Floor 4b.
"""

from dataclasses import dataclass

from .words import Adjective


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun.

    Args:
        english: as a subject.
        object: as an object.
        possessive: before a noun.
        chinese: the same in all three places; 的 makes it possessive.
        number: "I", "it" or "they": the pronoun whose verb forms it takes.

    Source:
        Ours; chapter 10.
    """

    english: str
    object: str
    possessive: str
    chinese: str
    number: str


PRONOUNS = (
    Pronoun("I", "me", "my", "我", "I"),
    Pronoun("you", "you", "your", "你", "they"),
    Pronoun("he", "him", "his", "他", "it"),
    Pronoun("she", "her", "her", "她", "it"),
    Pronoun("we", "us", "our", "我们", "they"),
    Pronoun("they", "them", "their", "他们", "they"),
)
NAMES = {"Tom": "汤姆", "Mary": "玛丽", "John": "约翰", "Anna": "安娜", "Peter": "彼得", "Lucy": "露西"}
CITIES = {"Beijing": "北京", "Shanghai": "上海", "London": "伦敦", "Paris": "巴黎"}
COUNTRIES = {"China": "中国", "Japan": "日本", "England": "英国", "France": "法国"}
NUMERALS = {"two": "两", "three": "三", "four": "四", "five": "五", "six": "六"}
WEEKDAYS = {"on Monday": "星期一", "on Friday": "星期五", "on Sunday": "星期天"}

PAST_TIMES = {
    "day": {"yesterday": "昨天", "this morning": "今天早上", "last night": "昨晚"},
    "week": {"yesterday": "昨天", "this morning": "今天早上", "last week": "上周", "last month": "上个月"},
    "year": {"last year": "去年", "two years ago": "两年前", "three years ago": "三年前"},
}
FUTURE_TIMES = {"tomorrow": "明天", "tonight": "今晚", "next week": "下周", "tomorrow morning": "明天早上", **WEEKDAYS}
YEARLY_FUTURE = {"next month": "下个月", "next year": "明年"}
HABITS = {"every day": "每天", "every morning": "每天早上", "every evening": "每天晚上"}
NOW = {"now": "现在"}
FREQUENCIES = {"often": "经常", "always": "总是", "sometimes": "有时候", "usually": "通常", "never": "从来不"}


def _adjectives(rows: str) -> tuple[Adjective, ...]:
    """Reads a table: English, Chinese before a noun, Chinese after 很, comparative (each or -), the nouns or tags."""
    found = []
    for row in filter(None, map(str.strip, rows.splitlines())):
        english, chinese, predicate, comparative, *names = (part.replace("_", " ").strip("-") for part in row.split())
        found.append(Adjective(english, chinese, frozenset(names), predicate, comparative))
    return tuple(found)


ATTRIBUTES = _adjectives("""
    big          大       - - cat dog fish horse tiger pig apple cake tree house room
    big          大       - - table bed box bag boat city hospital shop school park ball bowl
    small        小       - - cat dog fish bird rabbit monkey cake tree house room table
    small        小       - - box bag boat city village shop park cup bowl knife car chair
    little       小       - - girl boy dog cat bird rabbit monkey
    red          红       - - apple flower hat shirt skirt coat bag door pen ball
    red          红色     - - vehicle box chair sofa umbrella balloon pencil mat house cup
    white        白       - - cat dog horse rabbit flower hat shirt coat skirt cow chicken duck bag boat
    white        白色     - - vehicle box chair house phone cup sofa
    black        黑       - - cat dog horse hat shirt coat skirt bag pig pen
    black        黑色     - - vehicle umbrella phone camera computer sofa
    blue         蓝       - - pen
    blue         蓝色     - - vehicle box hat shirt coat skirt umbrella pencil balloon mat cup
    blue         蓝色的   - - door boat bag
    yellow       黄       - - flower ball
    yellow       黄色     - - hat shirt coat umbrella pencil bus mat balloon
    green        绿       - - ball
    green        绿色     - - hat shirt coat umbrella mat bench bicycle
    green        绿色的   - - door
    new          新       - - reading dictionary tool device bag watch hat clothes furniture seat house vehicle bicycle
    new          新       - - cup bowl toy friend teacher student job film song umbrella mat bus balloon
    old          旧       - - reading dictionary map photo computer phone camera bag watch hat
    old          旧       - - clothes table chair sofa bed bicycle car mat toy box
    old          老       - - friend dog cat horse house doctor tree
    good         好       - - friend teacher student doctor nurse child book novel film dictionary job restaurant camera pen
    young        年轻的   - - doctor teacher nurse man woman singer driver
    famous       有名的   - - singer doctor restaurant school city film
    beautiful    漂亮的   - - flower woman girl bird horse skirt hat house park city photo picture watch coat
    interesting  有趣的   - - reading told question job
    cute         可爱的   - - cat dog rabbit monkey child girl boy bird
    expensive    很贵的   - - watch car camera phone computer bag coat restaurant umbrella
    cheap        便宜的   - - watch car camera phone computer bag coat umbrella bicycle restaurant hat
    warm         暖和的   - - coat room house bed
    clean        干净的   - - shirt cup bowl room bed mat
    soft         软       - - bed mat sofa
    hot          热       - - tea coffee soup water milk
    cold         冷       - - water
    cold         冰       - - juice
    long         长       - - skirt
    long         很长的   - - letter novel story film
""")

PREDICATES = _adjectives("""
    big          - 大       bigger           cat dog fish tiger apple cake tree house room
    big          - 大       bigger           table bed box bag boat city hospital shop school park
    small        - 小       smaller          house room table box bag boat city village shop park car bed skirt
    new          - 新       newer            phone computer car bicycle coat
    old          - 旧       older            car bicycle computer phone sofa table coat
    old          - 老       -                dog cat horse grandmother grandfather
    expensive    - 贵       more_expensive   tool clothes vehicle house ticket watch bag hat umbrella mat
    cheap        - 便宜     cheaper          tool clothes vehicle house ticket watch bag hat umbrella mat
    beautiful    - 漂亮     more_beautiful   flower woman girl bird horse skirt hat house park city photo picture daughter sister
    interesting  - 有意思   more_interesting reading told job
    difficult    - 难       more_difficult   question language
    easy         - 容易     easier           question
    heavy        - 重       heavier          box bag table bed computer
    hot          - 热       -                tea coffee soup water room
    clean        - 干净     cleaner          room clothes cup bowl hospital restaurant
    dirty        - 脏       -                clothes cup bowl dog car mat room
    quiet        - 安静     quieter          room village school park restaurant
    comfortable  - 舒服     more_comfortable chair bed sofa
    useful       - 有用     more_useful      dictionary map computer
    delicious    - 好吃     -                food meal
    cute         - 可爱     cuter            cat dog rabbit child daughter son girl
    smart        - 聪明     smarter          young offspring sibling role dog monkey who
    tall         - 高       taller           young man woman sibling offspring husband father tree who
    young        - 年轻     younger          man woman role sibling wife husband who
    strong       - 强壮     stronger         man horse father sibling who
    tired        - 累       -                state
    busy         - 忙       busier           state
    happy        - 高兴     -                state
    hungry       - 饿       -                state pet
    angry        - 生气     -                state
    sad          - 难过     -                state
    nervous      - 紧张     -                state
    friendly     - 友好     friendlier       role who
    famous       - 出名     more_famous      singer doctor restaurant city school novel who
""")  # `who`: also of names and pronouns; `state`: of all people, and it passes

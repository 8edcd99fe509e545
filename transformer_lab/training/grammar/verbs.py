"""The verbs of the grammar: what they mean, what can follow them, and which forms of them sound natural.

Floor 4b. The letters of `forms` stand in `clauses.LETTERS`, those of `determiners` in `noun_phrases.DETERMINERS`.
"""

from .words import Verb

TRANSITIVE = (
    Verb("read", "看", "read", forms="hpngfwlaeqyk", objects="reading letter", determiners="a2td"),
    Verb("write", "写", "wrote", "written", "writing", forms="hpngfwayk", objects="letter novel story", determiners="a2td"),
    Verb("buy", "买", "bought", forms="pnfwmaqyk", times="week", determiners="a2td",
         objects="fruit egg cake reading map ticket tool umbrella watch toy flower plaything dictionary holder hat clothes "
                 "furniture mat house vehicle cup bowl meal tea milk"),
    Verb("sell", "卖", "sold", forms="pnfwmaqy", times="week", objects="house vehicle stock pig picture", determiners="tdo"),
    Verb("eat", "吃", "ate", "eaten", forms="hpngfwlaqyk", objects="food meal", determiners="a2td"),
    Verb("drink", "喝", "drank", "drunk", forms="hpngfwlqk", objects="drink", determiners="a"),
    Verb("open", "打开", forms="pnfwqiak", objects="door window box", determiners="etd"),
    Verb("close", "关上", ing="closing", forms="pnfwmqiak", objects="door window", determiners="etd"),
    Verb("wash", "洗", forms="pngfwmqia", objects="clothes ware car", determiners="tdo"),
    Verb("use", "用", ing="using", forms="gwse", objects="tool bicycle", determiners="tdo"),
    Verb("draw", "画", "drew", "drawn", forms="pgfwck", objects="animal flower tree house", determiners="a2"),
    Verb("make", "做", "made", forms="pgfwcak", objects="cake toy table chair", determiners="a2"),
    Verb("break", "打碎", "broke", "broken", forms="pna", objects="cup bowl window", determiners="oetda2"),
    Verb("find", "找到", "found", forms="pnfaqk", determiners="oetd",
         objects="key phone umbrella ticket hat cat dog pen bag watch ball"),
    Verb("see", "看见", "saw", "seen", ing="seeing", forms="pnqk", determiners="oatd",
         objects="animal car bicycle bus flower key umbrella"),
    Verb("watch", "看", forms="hpngfwlaeqk", objects="film television", determiners="a2td"),
    Verb("listen to", "听", forms="hgfwlk", objects="music song", determiners="td"),
    Verb("look for", "找", forms="gw", determiners="oae",
         objects="key phone umbrella ticket hat cat dog pen bag watch ball"),
    Verb("look for", "找", forms="gw", objects="job", determiners="n"),
    Verb("wait for", "等", forms="g", objects="bus train", determiners="e"),
    Verb("feed", "喂", "fed", forms="hpngfwmqk", objects="cat dog bird rabbit farm fish", determiners="eo", times="day"),
    Verb("drive", "开", "drove", "driven", "driving", forms="cw", objects="car bus", determiners="td"),
    Verb("ride", "骑", "rode", "ridden", "riding", forms="hcwlg", objects="bicycle horse", determiners="otd"),
    Verb("learn", "学", forms="hgwflsk", objects="language", determiners="a"),
    Verb("speak", "说", "spoke", "spoken", forms="c", objects="language", determiners="a"),
    Verb("sing", "唱", "sang", "sung", forms="pfc", objects="song", determiners="a2td"),
)  # fmt: skip

ANIMAL_TRANSITIVE = (
    Verb(
        "chase",
        "追",
        ing="chasing",
        forms="g",
        subjects="cat dog tiger",
        objects="mouse rabbit bird sheep",
        determiners="etd",
    ),
    Verb(
        "catch",
        "抓到",
        "caught",
        forms="pn",
        subjects="cat tiger",
        objects="mouse bird fish rabbit",
        determiners="a2td",
    ),
    Verb("eat", "吃", "ate", "eaten", forms="g", subjects="cat dog", objects="fish meat", determiners="s"),
    Verb(
        "drink", "喝", "drank", "drunk", forms="gw", subjects="cat dog horse cow", objects="water milk", determiners="s"
    ),
    Verb(
        "eat", "吃", "ate", "eaten", forms="glw", subjects="monkey pig rabbit horse", objects="fruit", determiners="s"
    ),
)

WITH_PERSON = (  # the kin that can follow: one's own, somebody else's
    Verb("help", "帮助", forms="pngfwmiqk", objects="own"),
    Verb("wait for", "等", forms="gfwimk", objects="own"),
    Verb("look for", "找", forms="g", objects="own"),
    Verb("visit", "看望", forms="pnfwmqk", objects="own", times="week"),
    Verb("thank", "感谢", forms="pmw", objects="own"),
    Verb("see", "看见", "saw", "seen", ing="seeing", forms="pnqk", objects="other"),
    Verb("meet", "遇到", "met", forms="pnqk", objects="other", times="week"),
    Verb("ask", "问", forms="pnfwmk", objects="other"),
    Verb("invite", "邀请", ing="inviting", forms="pnfwmiqk", objects="other"),
)

STATIVE_PERSON = (
    Verb("love", "爱", ing="loving", objects="family"),
    Verb("like", "喜欢", ing="liking", objects="other"),
    Verb("know", "认识", "knew", "known", objects="other"),
    Verb("miss", "想念", objects="family"),
    Verb("need", "需要", objects="family"),
    Verb("believe", "相信", ing="believing", objects="other"),
    Verb("understand", "理解", "understood", objects="family"),
)

STATIVE_THING = (
    Verb("like", "喜欢", objects="animal food meal drink told book music clothes hat flower city car house language", determiners="atdos"),
    Verb("love", "爱", ing="loving", objects="pet", determiners="o"),
    Verb("love", "爱", ing="loving", objects="city", determiners="t"),
    Verb("want", "想要", determiners="a2td",
         objects="cake fruit pet book map umbrella device bicycle hat clothes toy ticket drink"),
    Verb("need", "需要", determiners="a2td",
         objects="pen pencil key umbrella device bicycle coat hat chair table bed mat ticket map dictionary water"),
    Verb("know", "知道", "knew", "known", objects="story song", determiners="td"),
    Verb("remember", "记得", objects="story song film", determiners="td"),
    Verb("understand", "懂", "understood", objects="language question", determiners="td"),
)  # fmt: skip

INTRANSITIVE = (
    Verb("sleep", "睡觉", "slept", forms="gwm"),
    Verb("sleep", "睡觉", "slept", forms="g", subjects="animal"),
    Verb("run", "跑步", "ran", "run", "running", forms="hgfwlk"),
    Verb("swim", "游泳", "swam", "swum", "swimming", forms="hpngfwcslqku"),
    Verb("sing", "唱歌", "sang", "sung", forms="hpngfwclqku"),
    Verb("dance", "跳舞", ing="dancing", forms="hpngfwclqku"),
    Verb("cry", "哭", forms="pngqxk!"),
    Verb("laugh", "笑", forms="pngqxk!"),
    Verb("work", "工作", forms="hpngfwsqm"),
    Verb("study", "学习", forms="hngfwsm"),
    Verb("rest", "休息", forms="gwsnfqu"),
    Verb("cook", "做饭", forms="hpngfwclsqk"),
    Verb("play", "玩", forms="gwk", subjects="young pet"),
    Verb("talk", "聊天", forms="g", subjects="group"),
    Verb("take a walk", "散步", "took", "taken", ing="taking", forms="hgwlfu"),
    Verb("fly", "飞", "flew", "flown", forms="g", subjects="bird"),
    Verb("come", "来", "came", "come", ing="coming", forms="pnfsqky!"),
    Verb("leave", "走", "left", ing="leaving", forms="panfmqkt!"),
    Verb("arrive", "到", ing="arriving", forms="panfkt!"),
    Verb("play basketball", "打篮球", forms="hngfwlcqku"),
    Verb("play football", "踢足球", forms="hngfwlcqku"),
    Verb("play the piano", "弹钢琴", forms="hgfwlcqku"),
    Verb("go home", "回家", "went", "gone", forms="pnwmfqiy!u"),
    Verb("get up", "起床", "got", "got", "getting", forms="a!mq"),
    Verb("go to sleep", "睡觉", "went", "gone", forms="wm", times="year"),
)

DITRANSITIVE = (  # each with its Chinese template: {i} is who gets it
    (Verb("give", "给", "gave", "given", ing="giving", forms="pnfwmqiskr", objects="giveable letter drink", determiners="a2td"),
     "给#v + {i} {o}"),
    (Verb("lend", "借给", "lent", forms="pnfwqikr", determiners="a2td",
          objects="book novel dictionary umbrella bicycle camera pen car"), "借给#v + {i} {o}"),
    (Verb("send", "寄给", "sent", forms="pnfwkr", objects="letter book photo gift", determiners="a2td", times="week"),
     "给#v {i} 寄#v + {o}"),
    (Verb("sell", "卖给", "sold", forms="pnfw", objects="house vehicle horse cow picture", determiners="atd", times="week"),
     "卖给#v + {i} {o}"),
    (Verb("show", "给看", "showed", "shown", forms="pnfwir", objects="photo picture letter map ticket", determiners="atdo"),
     "给#v {i} 看#v + {o}"),
    (Verb("tell", "给讲", "told", forms="pfwkr", objects="story", determiners="a2t"), "给#v {i} 讲#v + {o}"),
    (Verb("buy", "给买", "bought", forms="pfwkr", times="week", determiners="a2",
          objects="fruit cake book umbrella watch toy flower bag hat clothes bicycle phone computer gift ticket"),
     "给#v {i} 买#v + {o}"),
    (Verb("make", "给做", "made", ing="making", forms="pfw", objects="cake toy soup", determiners="a2"), "给#v {i} 做#v + {o}"),
    (Verb("ask", "问", "asked", forms="pfw", objects="question", determiners="a2"), "问#v + {i} {o}"),
    (Verb("teach", "教", "taught", forms="hgfwcr", objects="language", determiners="a", subjects="teacher"),
     "教#v {i} {o}"),
)  # fmt: skip
MOVING = ("give", "lend", "send", "sell")  # these also say: he gave this book to me, 他把这本书给了我
DISPOSING = {  # and these: she has already closed the door, 她已经把门关上了; in which forms
    "open": ("past_question", "already"),
    "close": ("past_question", "already"),
    "wash": ("past_question", "already"),
    "sell": ("past", "past_question", "already"),
}

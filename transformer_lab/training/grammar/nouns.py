"""The nouns of the grammar, each with its classifier and its semantic classes.

Floor 4b. The tags decide what goes with what: one reads what is `reading`, and what is `small` lies on a table. `men` marks people whose
plural takes 们, `nobare` nouns that Chinese does not use alone for "the …" (女人 for "the woman" is stiff, 那个女人 is not).
"""

from functools import cache

from .words import Noun, read_nouns

NOUNS = read_nouns("""
    friend      朋友    个  person role
    teacher     老师    位  person role men
    doctor      医生    位  person role
    nurse       护士    位  person role men
    student     学生    个  person role men
    driver      司机    位  person role
    singer      歌手    位  person role
    child       孩子    个  person young men
    boy         男孩    个  person young
    girl        女孩    个  person young
    man         男人    个  person nobare
    woman       女人    个  person nobare
    mother      妈妈    个  person kin female
    father      爸爸    个  person kin male
    grandmother 奶奶    个  person kin female
    grandfather 爷爷    个  person kin male
    brother     哥哥    个  person kin sibling male
    sister      姐姐    个  person kin sibling female
    wife        妻子    个  person kin spouse female
    husband     丈夫    个  person kin spouse male
    daughter    女儿    个  person kin offspring female
    son         儿子    个  person kin offspring male

    cat         猫      只  animal pet cuddly
    dog         狗      只  animal pet cuddly
    rabbit      兔子    只  animal cuddly
    monkey      猴子    只  animal
    bird        鸟      只  animal
    duck        鸭子    只  animal farm
    chicken     鸡      只  animal farm
    mouse       老鼠    只  animal
    tiger       老虎    只  animal zoo
    horse       马      匹  animal farm stock
    cow         牛      头  animal farm stock
    pig         猪      头  animal farm
    sheep       羊      只  animal farm stock
    fish        鱼      条  animal

    apple       苹果    个  thing food fruit giveable small
    orange      橙子    个  thing food fruit giveable small
    pear        梨      个  thing food fruit giveable small
    egg         鸡蛋    个  thing food giveable small
    cake        蛋糕    个  thing food giveable small treat
    bread       面包    -   mass meal
    rice        米饭    -   mass meal
    meat        肉      -   mass meal
    soup        汤      -   mass dish
    tea         茶      -   mass drink
    coffee      咖啡    -   mass drink
    water       水      -   mass drink
    milk        牛奶    -   mass drink
    juice       果汁    -   mass drink
    music       音乐    -   mass
    television  电视    -   mass
    English     英语    -   mass language
    Chinese     中文    -   mass language
    French      法语    -   mass language

    book        书      本  thing reading giveable small
    newspaper   报纸    份  thing reading giveable small
    magazine    杂志    本  thing reading giveable small
    letter      信      封  thing small
    novel       小说    本  thing reading giveable small
    dictionary  词典    本  thing giveable small
    story       故事    个  thing told
    song        歌      首  thing told
    film        电影    部  thing told
    question    问题    个  thing
    map         地图    张  thing giveable small flat
    photo       照片    张  thing giveable small flat
    picture     画      幅  thing small flat
    ticket      票      张  thing giveable small
    pen         笔      支  thing giveable small tool
    pencil      铅笔    支  thing giveable small tool
    key         钥匙    把  thing giveable small
    knife       刀      把  thing giveable small tool
    umbrella    雨伞    把  thing giveable small
    cup         杯子    个  thing giveable small ware
    bowl        碗      个  thing giveable small ware
    phone       手机    部  thing giveable small tool device
    computer    电脑    台  thing small tool device
    camera      照相机  台  thing giveable small tool device
    watch       手表    块  thing giveable small
    gift        礼物    件  thing giveable small
    ball        球      个  thing giveable small plaything
    toy         玩具    个  thing giveable small plaything
    flower      花      朵  thing giveable plant
    tree        树      棵  thing plant
    bag         包      个  thing giveable small holder
    box         盒子    个  thing giveable small holder
    hat         帽子    顶  thing giveable small headwear
    shirt       衬衫    件  thing giveable clothes
    coat        大衣    件  thing giveable clothes
    skirt       裙子    条  thing giveable clothes
    table       桌子    张  thing furniture
    chair       椅子    把  thing furniture seat
    bench       长椅    条  thing furniture seat outdoors
    sofa        沙发    张  thing furniture seat
    bed         床      张  thing furniture
    mat         垫子    块  thing seat giveable
    door        门      扇  thing opening
    window      窗户    扇  thing opening
    wall        墙      面  thing
    house       房子    座  thing building
    room        房间    个  thing building
    car         汽车    辆  thing vehicle
    bicycle     自行车  辆  thing vehicle
    bus         公交车  辆  thing
    train       火车    列  thing
    plane       飞机    架  thing
    boat        船      条  thing
    city        城市    个  thing
    village     村子    个  thing
    balloon     气球    个  thing plaything
    job         工作    份  thing
    hospital    医院    家  thing institution
    shop        商店    家  thing institution
    restaurant  饭馆    家  thing institution
    school      学校    所  thing institution
    park        公园    个  thing institution
""")


@cache
def nouns(names: str) -> tuple[Noun, ...]:
    """Finds nouns by their names and tags.

    Args:
        names: English nouns or tags, separated by spaces; `_` is a space.

    Returns:
        The nouns, in the order of the lexicon, none twice.

    Raises:
        KeyError: a name is neither a noun nor a tag.

    Source:
        Ours; chapter 10.
    """
    wanted = {name.replace("_", " ") for name in names.split()}
    found = tuple(noun for noun in NOUNS.values() if noun.english in wanted or wanted & noun.tags)
    unknown = wanted - {noun.english for noun in found} - {tag for noun in found for tag in noun.tags}
    if unknown:
        raise KeyError(f"neither a noun nor a tag: {sorted(unknown)}")
    return found

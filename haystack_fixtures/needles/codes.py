"""Our own needles: seeded, high in entropy, never seen by any model.

`The <noun> code for <key> is <value>.` A key is one of 4 million, a value one of 9 million; both depend on the seed,
so that a score cannot come from memory and two trials never share a needle.
"""

from __future__ import annotations

import random

from needlework.core.draws import below, draws, pick
from needlework.core.prompts import JointQuestion, Needle

VERSION = 1


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


_NOUNS = {
    "en": ("access", "locker", "vault", "gate", "archive", "workshop", "delivery", "garage"),
    "zh": ("门禁", "储物柜", "保险库", "仓库", "档案", "工坊", "取件", "车库"),
}
_FIRST = {
    "en": _words(
        """
        amber, ashen, azure, bold, brass, bright, broad, calm, cedar, chalk, clever, cobalt, copper, coral,
        crimson, dappled, distant, dusky, early, eager, fern, flint, frosty, gentle, gilded, golden, granite,
        hazel, hollow, indigo, ivory, jade, keen, lilac, linen, lively, lunar, maple, marble, mellow, misty,
        nimble, northern, ochre, opal, pale, pewter, plum, quiet, rapid, russet, saffron, scarlet, silver,
        slate, southern, sunlit, tawny, teal, tidal, umber, velvet, violet, willow
        """
    ),
    "zh": tuple("青赤白玄碧金银铜铁玉朱紫翠丹苍素墨彤皓绛靛茜黛缃"),
}
_SECOND = {
    "en": _words(
        """
        acorn, anchor, badger, beacon, bramble, bridge, canyon, castle, comet, cypress, dolphin, dragonfly,
        ember, falcon, ferry, fjord, fountain, garnet, glacier, goblet, gull, hammer, harbour, heron, island,
        juniper, kestrel, kettle, lantern, lark, ledger, magpie, marten, meadow, mill, moth, needle, oak,
        orchard, otter, owl, paddle, pebble, pine, plover, quarry, quill, raven, reed, ridge, robin, saddle,
        sparrow, spire, stork, swallow, thistle, tower, trout, tulip, valley, walnut, wharf, wren
        """
    ),
    "zh": tuple("松竹梅兰鹤鹰雁鹿虎豹狐獭鲤鲸枫柏桐桂莲菊岩泉溪峰"),
}
_LOCATIONS = {
    "en": _words(
        """
        Abbotsmere, Aldermoor, Ashcombe, Birchwick, Blackmere, Brackenford, Caldermouth, Carrowdale, Coldharrow,
        Dunmarsh, Eastrigg, Elmsgarth, Fallowby, Fenwickstow, Galloway Cross, Glenharrow, Greyfell, Hartsmoor,
        Hawkstead, Heronsgate, Ingleport, Kelderby, Kingsfold, Larkhollow, Linmouth, Marrowgate, Millbeck,
        Netherfold, Oakhaven, Osmotherby, Pendlewick, Quarrendon, Ravensholt, Redmarsh, Saltersby, Silverdene,
        Stonewick, Thornaby Vale, Umberleigh, Wexcombe
        """
    ),
    "zh": (
        "云溪", "望川", "落霞", "听涛", "临江", "归雁", "清风", "明月", "长亭", "断桥", "寒山", "竹林", "沧浪", "烟雨",
        "流云", "晚晴", "晨曦", "暮雪", "春和", "秋实", "北岭", "南浦", "东篱", "西岭",
    ),
}  # fmt: skip
_KIND = {
    "en": ("station", "library", "bakery", "theatre", "museum", "clinic", "nursery", "boathouse", "foundry", "hostel"),
    "zh": ("车站", "书院", "茶馆", "剧场", "客栈", "渡口", "学堂", "药铺", "灯塔", "码头"),
}


def draw_codes(language: str, *, seed: int, repeat: int | str, count: int = 1) -> tuple[Needle, ...]:
    """Draw `count` needles whose keys and values all differ. Depends on nothing but the arguments.

    `repeat`: the repeat whose trials share the needle, or the name of the one trial that has it.
    """
    rng = draws(f"codes {VERSION} {language} {seed} {repeat}")
    needles: list[Needle] = []
    keys: set[str] = set()
    values: set[str] = set()
    while len(needles) < count:
        key, noun = _key(language, rng), pick(rng, _NOUNS[language])
        value = str(1_000_000 + below(rng, 9_000_000))
        if key in keys or value in values:
            continue
        keys.add(key)
        values.add(value)
        if language == "zh":
            text, question = f"{key}的{noun}代码是{value}。", f"{key}的{noun}代码是什么？"
        else:
            text, question = f"The {noun} code for {key} is {value}.", f"What is the {noun} code for {key}?"
        needles.append(Needle("code", text, question, value, keyword=value, key=key))
    return tuple(needles)


def joint_codes(language: str, needles: tuple[Needle, ...]) -> JointQuestion:
    """One question for several codes; the answer lists the values in order."""
    keys = [needle.key for needle in needles]
    values = [needle.answer for needle in needles]
    if language == "zh":
        return JointQuestion(f"以下各处的代码分别是什么：{'、'.join(keys)}？", "、".join(values))
    return JointQuestion(f"What are the codes for these places: {'; '.join(keys)}?", ", ".join(values))


def _key(language: str, rng: random.Random) -> str:
    first, second = pick(rng, _FIRST[language]), pick(rng, _SECOND[language])
    town, kind = pick(rng, _LOCATIONS[language]), pick(rng, _KIND[language])
    return f"{town}{first}{second}{kind}" if language == "zh" else f"the {first} {second} {kind} of {town}"

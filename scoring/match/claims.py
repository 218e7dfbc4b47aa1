# ruff: noqa: E501
"""What an answer says of its values: denials, corrections, owners, refusals, conclusions.

A text is read as a sketch: folded, with `MARK` in place of every value. All languages are looked for at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from needlework.scoring.match.normalize import CJK, MARK, Span, fold
from needlework.scoring.match.values import MONTHS, UNITS

Claim = Literal["given", "denied", "old", "supposed", "withdrawn", "other"]


def _words(phrases: str) -> str:
    """Phrases of languages with spaces between words, whole."""
    return rf"(?<!\w)(?:{phrases})(?!\w)"


_HARMLESS = re.compile(
    _words(
        r"(?:no|without(?: a| any)?|beyond(?: any)?) (?:doubt|mistake|problem|question|worries|trouble|wonder)|"
        r"not (?:only|just|merely|to mention|hard to|(?:\w+ )?(?:sure|certain|positive))|not mistaken|"
        r"(?:none|nothing|no one|no(?: \w+)?|not \w+|never|cannot|can't|isn't|n't) (?:\w+ ){0,5}?(?:other (?:\w+ )?than|else than|but|except(?: for)?|besides|apart from|anything but)|"
        r"(?:kein|ohne)(?:e|en)? (?:jeden )?zweifel|nicht (?:nur|\w+ sicher|sicher)|sans (?:aucun )?doute|"
        r"pas (?:\w+ )?sure?|non seulement|sin (?:ninguna )?duda|no solo|no estoy \w+|ne \w+ que|"
        r"kein\w* ander\w* (?:\w+ )?(?:als|ausser)|не только|не (?:\w+ )?уверен\w?|никакого сомнения|"
        r"(?:let me know|feel free|hope|do you|is there anything)[^.!?]*|"
        r"(?:you |i |was |were )?asked (?:for|about)|, isn't it|(?:this )?(?:is|was) not mentioned (?:anywhere|again)[^.]*|no reason to \w+|(?:not|n't) (?:\w+ )?until|don't (?:forget|worry|lose)(?: to)?|correct me if i'm \w+|"
        r"if i(?:'m| am| recall| remember)[^,.]*"
    )
    + r"|n't (?:(?:\w+ ){0,5}?(?:other (?:\w+ )?than|else than|but|except)|doubt|hard to)|毫无疑问|无疑|没错|不(?:太|是很|完全)?确定|不[仅只]|除了[^。]*没有|間違いな[くい]|に違い|だけで[はな]|他なりま|疑いな"
)
_BESIDE = re.compile(
    r"(?<!\w)(?:(?:more|less|greater|higher|lower|fewer|other) than|at (?:least|most)|before|after|between|almost|nearly"
    r"|once|under|over|mehr als|weniger als|zwischen|nach|vor|avant|apres|entre|plus de|moins de|antes de"
    r"|mas de|menos de|до|после|более|менее)(?: the| \d+ and)? ?[\"'($€£]*$|(?:约|大约|超过|少于|接近|近似|介于)$"
)
_NOT_BEFORE = re.compile(
    _words(
        r"not|never|neither|nor|no|cannot|without|unlike|except|rather than|(?:instead|in place) of|as opposed to|"
        r"(?:any|every)thing but|all but|other than|far from|"
        r"(?:ignor|disregard|reject|exclud|avoid|refus)\w*|"
        r"(?:false|wrong|untrue|incorrect|unlikely)(?:ly)?|doubt\w*|(?:confus|mistak)\w+ (?:\w+ )?(?:with|for)|"
        r"decoy\w*|distractors?|hardly|nicht|kein\w*|nie(?:mals)?|weder|noch|(?:an)?statt|falsch\w*|pas|jamais|ni|"
        r"au lieu de?|sauf|nunca|no es|en (?:lugar|vez) de|non(?=\W*$)|не|ни|вместо|неверно\w*|non e|nao e?|niet|geen|"
        r"nie jest|inte|ikke"
    )
    + r"|n't\b|不是|并非|而非|绝非|非是|不(?:为|等于|可能|认为|觉得|应|会|叫|在)|没有?(?:说|提到|提及)|未提|排除|不再|誤った|誤り"
)
_CLOSE = r"[\"')\]}*\s]*"
_PUNCT = r"[\"')\]}*\s,，]*"
_TRUE = (
    r"(?:wrong|incorrect|false|untrue|invalid|mistaken|an? (?:\w+ )?(?:mistake|typo|error|decoy|distractor|guess|lie))"
)
_NOT_AFTER = re.compile(
    rf"{_CLOSE}(?:(?:\(?(?:wrong|incorrect|false|falsch|faux|incorrecto|неверно)(?!\w)|\(?not (?:correct|right|the|valid|for)\b)"
    rf"|[^.,;:!?()、。，\n]{{0,40}}?(?:(?<!\w)(?:is|was|are|does|do|did|has|have|can|could|would|should)(?:n't| not| never)"
    rf"(?!\w)|(?<!\w)(?:cannot|is (?:\w+ )?(?:ruled|{_TRUE}))(?!\w))"
    rf"|(?:,? ?(?:which|that|this|it|who \w+) )?(?:\w+ )?(?:is|was|are|were|would be|seems|has been|had been)(?: \w+ly)? "
    rf"(?:not\b|no longer|{_TRUE}|ruled|rejected|excluded|crossed|struck|irrelevant|unrelated|dismissed|for another)"
    r"|(?:ist|war|ware|stimmt|gilt|passt)(?: \w+)? (?:nicht|falsch|inkorrekt|ungultig|ein\w* \w*(?:fehler|irrtum))"
    r"|(?:ist|war) (?:falsch|inkorrekt|ungultig)|nicht\b(?! )|stimmt nicht|n'est pas|(?:est|etait) (?:faux|incorrecte?|une err)"
    r"|(?:ya )?no (?:es|era|fue)\b|больше не|ist veraltet|(?:es|era|esta) (?:incorrect|fals|mal|equivocad|un error)|- ?(?:это )?(?:не\b(?! )|неверн|ошиб)\w*"
    r"|(?:это )?(?:не(?! )\b|неверн|неправильн|ошиб)\w*|\? ?(?:no|nope|nein|non|нет)\b|(?:has|have) nothing to do|no more\b|nowhere|if\b(?! i)"
    r"|[^。、，,\n]{0,8}?(?:并?不(?:是|对|正确|再|成立)|并非|有误|是?错的?|无效|是?假的|没有出现|与.{1,8}无关)"
    r"|[^。、,\n]{0,10}?(?:では?(?:ない|なく|ありま|なか)|じゃ(?:な|あり)|とは[^。]{0,6}(?:ん|ない)|間違|誤|違い|以外|無効))"
)
_OLD_NAME = r"(?:old|older|former|previous|prior|earlier|outdated|obsolete|original|expired|superseded|stale|retired)"
_OLD_BEFORE = re.compile(
    rf"(?:(?<!\w)(?:{_OLD_NAME} (?:code|one|number|value|key|password|version|figure|name|fee|price|tag)|formerly|previously|used to(?: be| have)?|once|no longer)(?!\w)"
    r"[^.;!?]{0,30}?|(?<!\w)(?:until|before)(?! \w+ing)[^.;,]{0,24}(?:was|had) |(?<!\w)(?:replac|supersed|overwr)\w+"
    r"\b(?! by| with)\s(?:the )?(?:\w+ ){0,3}"
    r"|(?<!\w)(?:chang|switch|updat|mov|rose|fell|went)\w* from (?:the )?|(?:fruher|ehemals|bisher|vorher|zuvor)\w*[^.;]{0,24}|alte\w* \w+ "
    r"(?:war |ist )?|(?:avant|autrefois|auparavant|ancien\w*)[^.;]{0,30}|(?:antes|antigu[oa]|anterior)[^.;]{0,30}"
    r"|(?:раньше|ранее|прежде|прежн\w+|стар\w+|бывш\w+)[^.;]{0,24}|(?:原来|原先|以前|曾经?|过去|旧|之前)[^，。,]{0,8}"
    r"|(?:以前|かつて|旧|古い|元の?|前の)[^、。]{0,8}[はが]?|取代了?|替换了?)[\"'(:*\s=]*$"
)
_NOW = r"(?:now|today|then|later|currently|since|jetzt|heute|maintenant|desormais|ahora|hoy|теперь|сеичас)"
_OLD_AFTER = re.compile(
    rf"{_PUNCT}(?:\(?(?:(?:the|an?) )?{_OLD_NAME}\b(?![^.;)]*{MARK})|\(?(?:formerly|previously|until)\b(?![^.;)]*{MARK})"
    rf"|(?:->|=>){_PUNCT}{MARK}|[^.;!?{MARK}]{{0,30}}?\b(?:was|were|been|is|got|being|wurde|wird|a ete|ete|fue|ha sido"
    r"|был\w?)\b(?: \w+)? (?:replaced|superseded|changed|updated|revoked|deprecated|withdrawn|cancell?ed|overwritten"
    r"|retired|expired|ersetzt|geandert|abgelost|remplacee?|changee?|reemplazad[oa]|sustituid[oa]|cambiad[oa]|замен\w+"
    rf"|измен\w+)|wurde \w+ {MARK} (?:ersetzt|abgelost)|замен\w+ на|(?:[,\s]*(?:(?:was|has|been|is) )*(?:revised|changed|updated|corrected|amended|switched) )?"
    rf"(?:to|auf|zu|a|en|на|[到为至]|に|から){_PUNCT}{MARK}"
    rf"|(?:but|and|which)?,? ?(?:it )?(?:is|was)? ?{_NOW}(?:\s\w+){{0,3}}[:\s-]+{_PUNCT}{MARK}|has expired|used to\b"
    rf"|wurde durch|(?:gave|give) way to|(?:[^，。]{{0,6}}已经?|早已|现已|后来|现在|被)[^，。]{{0,8}}(?:取代|替换|改|更|作废|失效|过期|不用|不能用|停用|{MARK})"
    rf"|(?:は|が|から)[^。]{{0,8}}(?:置き換え|変更|更新)|(?:でした|だった)が|は{MARK}に)"
)
_SUPPOSE = re.compile(
    _words(
        r"if(?! i\b| i'| you| we| needed| correct| so)|unless|suppos(?:e|ing)|assum(?:e|ing)|imagin(?:e|ing)|"
        r"what if|were it|had it been|ware|whether|(?:some|people|others|rumou?rs?) (?:say|claim|believe|has it)|would have|"
        r"(?:anyone|whoever|those|people) who|wenn|falls|angenommen|supposons|si|supon\w+|если"
    )
    + r"|如果|假如|要是|假设|もし|仮に"
)
_TENTATIVE = re.compile(
    _words(
        r"(?:at )?first(?:ly)?(?: \w+)?|initial(?:ly)?|original(?:ly)?|my (?:first|initial|earlier|previous) \w+|"
        r"(?:i|we|you)(?:'d| had| have| would| might)? ?(?:previously |first |mistakenly )?(?:said|wrote|answered|thought|think|assumed|believed|guessed|suspected)|"
        r"looked like|seem(?:s|ed) to be|(?:mistaken|wrong|erroneous)ly|tempted|zuerst|anfangs|zunachst|dachte|"
        r"d'abord|au debut|je (?:pensais|croyais)|al principio|primero|pense|crei|сначала|вначале|думал\w?"
    )
    + r"|一开始|起初|最初|以为|乍看|はじめ|当初"
)
_RETRACT = re.compile(
    _words(
        r"(?:it|this|that|which)(?: \w+)? (?:was|is|has been)(?: \w+)? (?:replaced|changed|superseded|revoked)|no,? wait|wait|hold on|(?:scratch|strike|belay) that|correct(?:ion|ed)(?: answer)?|w?oops|"
        r"i (?:mis\w+|was wrong|meant|mean|stand corrected|take that back|made an? (?:\w+ )?(?:mistake|error)|confused|need to correct)|"
        r"(?:my|an|a) (?:mistake|bad|error|apologies|slip)|or (?:rather|more \w+ly)|nope|never ?mind|"
        r"(?:that|this|it)(?:'s| is| was| can't be| isn't| wasn't)(?: \w+ly)? (?:not |n't )?(?:wrong|incorrect|right|an? (?:\w+ )?(?:mistake|error|typo))|"
        r"on (?:closer|second|reflection|re-?reading)[^.]*|looking (?:again|closer)|edit|"
        r"(?:disregard|ignore|forget) (?:that|this|it)|let me correct|no(?=[,.;!:]| -| it| that|$)|nein|moment|"
        r"halt|warte|korrektur|stimmt nicht|(?:genauer|besser) gesagt|vielmehr|non|attendez|pardon|"
        r"je me suis trompee?|plutot|erreur|no,? (?:espera|perdon)|espera|perdon|mejor dicho|me equivoque|нет|"
        r"подождите|стоп|ошиб\w+|точнее|извините|espere|scusa"
    )
    + r"|不对|等等|等一下|更正|纠正|[看说读弄记写]错|错了|准确地?说|いや|いえ|いいえ|待って|訂正|間違え|失礼|もとい|違いま|違う"
)
_RECONSIDER = re.compile(
    _words(
        r"sorry|actually|in fact|rather|hmm+|apologi\w+|(?:right|correct|real|true) \w+(?: is)?|entschuldigung|"
        r"eigentlich|tatsachlich|en fait|desole|en realidad|perdone|на самом деле"
    )
    + r"|实际上|其实|应该?[是为]|正确的|抱歉|実は|実際|正しくは|すみません|やはり"
)
_CONFIRMS = re.compile(r"\b(?:is|was|that's) (?:indeed )?(?:right|correct)|\byes\b|confirm|没错|正确|correct after all")
_BREAK = re.compile(
    r"[.;!?()\[\]{}|。；、:\n](?!\d)|,(?! (?:dass|que|what|that|что)\b)|\s-\s|=>|->|，"
    r"|\b(?:but|however|while|whereas|although|because|sondern|aber|jedoch|mais|sino|pero|so)\b|而是|但|が、|\sа\s"
)
_SENTENCE = re.compile(r"[.!?;](?=[\s\"')\]]|$)|[。！？；\n]|\.\.\.")
_LIST = re.compile(
    r"[\"')*\s]*(?:,\s*)?(?:,|/|nor|or|and|noch|und|oder|ni|ou|et|y|o|ни|и|или|和|或者?|与|または|や|と)?[\"'(*\s]*"
)
_EITHER = re.compile(
    r"[\"')(*\s]*,?\s*(?:or(?: maybe| perhaps)?|/|oder|ou|или|或者?|还是|または|か|o|possibly)[\"'(*\s]*(?:the )?"
)
_ASKED = r"(?:information|info|mention|reference|answers?|record|data|details?|evidence|indication|codes?|numbers?|keys?|names?|values?|passwords?|entry|statements?|clue)"
_VERBS = (
    r"(?:find|locate|identify|determine|answer|provide|see|tell|assist|help|comply|access|retrieve|give|share|confirm"
    r"|extract|infer|recall|know|have|say|disclose|reveal|fulfill?|complete|discuss|mention|contain|include|specify|state"
    r"|appear|exist|indicate|describe|list|refer|offer|cover|seem|address)"
)
_STATED = (
    r"(?:mentioned|specified|provided|stated|given|found|present|included|available(?! to (?!me\b|us\b))|listed|known"
    r"|described|disclosed|revealed|indicated|contained|discussed|clear|evident|answered|in the (?:text|document|context|passage))"
)
_REFUSAL = re.compile(
    rf"\b(?:can(?:not|'?t| not)|could(?: not|n'?t)|unable to|not able to|failed to|won't|will not|do(?:es)?(?: not|n'?t)"
    rf"|did(?: not|n'?t)|never|(?:not|n't) \w+ to) (?:\w+ ){{0,2}}?{_VERBS}s?\b"
    rf"|\b(?:not|never|isn'?t|aren't|wasn't|weren't) (?:\w+ ){{0,2}}?{_STATED}\b"
    rf"|\b(?:have|has|had)(?: not|n't) (?:\w+ ){{0,2}}?(?:found|seen|located|been)\b|\bi apologi[sz]e\b|\bas an ai\b"
    rf"|\bno (?:[\w'-]+ ){{0,6}}?(?:{_STATED}\b|(?:information|mention|reference|answer|record|data|details?|evidence)\b)"
    rf"|\b(?:ha[sd]|have|is|are|was|were|'s|found|finds?|sees?|gives?|provides?|contains?|includes?)(?:n't| not)? (?:no|any) "
    rf"(?:[\w'-]+ ){{0,4}}?{_ASKED}\b|\bnothing (?:in|about|on|regarding|is|was)\b|\b(?:says?|mentions?|states?) nothing\b"
    r"|\bi(?:'?m| am) (?:sorry|afraid|not sure|unsure|uncertain)\b|\bi have no idea\b|\bmust decline\b|\bi (?:decline|refuse)\b"
    r"|\b(?:cannot|can't|could not|couldn't) be (?:determined|found|answered|known|identified|located)\b|\bunanswerable\b"
    r"|\b(?:insufficient|not enough) (?:information|context|data|details)\b|\bimpossible to \w+|\bremains? unknown\b"
    r"|\b(?:is|are|was) (?:silent|unknown|unclear|unspecified|undisclosed|unstated|unmentioned|unavailable)\b"
    r"|\b(?:missing|absent|omitted) from the \w+|\bthe (?:text|document|context|passage|excerpt) (?:lacks|omits)\b"
    r"|\b(?:kein\w*|nicht) (?:\w+ ){0,5}?(?:erwahnt|gefunden|genannt|angegeben|enthalten|hervor|bekannt|finden|angab\w*"
    r"|hinweis\w*|information\w*|code|beantworten|sagen|bestimmen)\b|\b(?:weiss|enthalt|nennt|erwahnt) (?:\w+ )?(?:nicht|kein\w*)"
    r"|\bleider\b[^.]*\bnicht|\bne (?:\w+ )?(?:mentionne|contient|precise|donne|dit|trouve|peux|sais|fournit|figure|sont|est)\b"
    r"(?:[^.]{0,12}\b(?:pas|aucun\w*|rien))|\baucun\w* (?:\w+ )?(?:information|mention|code|reference)|\bje suis desole"
    r"|\bno (?:se |lo )?(?:\w+ )?(?:menciona\w*|contiene|indica\w*|encuentr\w+|especifica\w*|proporciona\w*|aparece|puedo|dice|hay"
    r"|figura|consta|da)\b|\blo siento\b|(?<!\w)не (?:\w+ )?(?:указан|упомина|упомян|содерж|сообща|привод|наид|наш|дан|говор|могу"
    r"|зна|сказан|удалось)\w*|(?<!\w)(?:нет (?:\w+ ){0,2}(?:кода|информации|упоминани\w|данных|сведении|ответа)|неизвестно"
    r"|ничего не|отсутству\w+|невозможно)|(?:没有?|沒有|未曾?|并未)\w{0,6}?(?:提到|提及|提供|说明|找到|给出"
    r"|給出|包含|涉及|记载|記載|出现|出現|指出|明确|看到|透露|写明|列出)|(?:无法|無法|不能|没法|不便|拒绝|恕不|不予)\w{0,6}?(?:确定|確定|回答|找到|判断"
    r"|得知|提供|获知|知道|得出|给出|查到|确认|推断|透露|告知|分享|协助|帮助)|不(?:直接|明确|曾|会|能)?(?:提到|提及|提供|说明|包含|涉及|透露)|不(?:知道|清楚|太?确定|得而知|详)|[找查]不到|抱歉|对不起|只字未提"
    r"|(?:没有|沒有|无|無)(?:相关|足够|这个|关于|此)?的?(?:信息|内容|答案|资料)|(?:文[中档本章件]?|资料|材料|段落|上下文)[中里]?(?:并|均|都)?(?:没|無|无)(?!人|法|论)"
    r"|没有?说|未知(?=\W|$)|(?:記載|言及|記述|情報|書か|示さ|触れ|含ま|見つか|見当た|答え|提供|特定|判断|回答)[^。]{0,12}(?:ません|ない|なかった|でき[ずな])"
    r"|[わ分]か(?:りませ|らな)|不明|存じませ"
)
_REFUSAL_WORD = re.compile(
    r"\W*(?:unknown|n/?a|none|nothing|not (?:stated|sure|given|available|clear)|no answer|no idea|未知|不详|暂无|无)\W*"
)
_CONCLUSION = re.compile(
    _words(
        r"therefore|thus|so|hence|final(?:ly)?|answer|conclusion|boxed|also (?:ist|lautet)|daher|somit|folglich|antwort|donc|"
        r"ainsi|reponse|entonces|por (?:lo )?tanto|respuesta|поэтому|итак|значит|ответ\w*"
    )
    + r"|\\boxed|因此|所以|答案|综上|最终|总之|故|したがって|よって|答え"
)
LONG, CLOSING = 1000, 300
"""From how many letters on an answer is long, and how many at its end count."""
_SENTENCE_END = re.compile(r"(?:[.!?](?=\s|$)|[。！？!?\n])[\"')\]]*")


_HARSH = re.compile(rf"\b(?:wrong|false|incorrect|untrue|{_OLD_NAME}|first|original|if|no|not)\b")


def read_claims(
    sketch: str, values: Sequence[int], owners: Sequence[str], asked: frozenset[str] = frozenset()
) -> list[Claim]:
    """What a sketch says of each of its values.

    `values`: a number each, alike for one value; `owners`: see `owner`; `asked`: words of the asked key, which deny
    nothing (`the false beacon`).
    """
    sketch = _HARSH.sub(lambda found: "~" * len(found[0]) if found[0] in asked else found[0], sketch)
    places = [place for place, char in enumerate(sketch) if char == MARK]
    claims: list[Claim] = []
    for rank, place in enumerate(places):
        gap = sketch[places[rank - 1] + 1 : place] if rank else ""
        linked = rank > 0 and _LIST.fullmatch(gap) and gap.strip(" \"'") not in (",", "")
        claim = claims[-1] if linked and claims[-1] in ("denied", "supposed") else _claim(sketch, place)
        claims.append("other" if claim == "given" and owners[rank] == "other" else claim)
    for rank, place in enumerate(places):
        end = places[rank + 1] if rank + 1 < len(places) else len(sketch)
        gap, last = sketch[place + 1 : end], rank + 1 == len(places)
        turned = _RETRACT.search(gap)
        if last and turned and not _CONFIRMS.search(gap, turned.end()) and claims[rank] == "given":
            claims[rank] = "withdrawn"
        changed = not last and values[rank] != values[rank + 1] and claims[rank + 1] == "given"
        if changed and (turned or _RECONSIDER.search(gap)):
            claims[: rank + 1] = [
                "withdrawn" if claim == "given" and value != values[rank + 1] else claim
                for claim, value in zip(claims[: rank + 1], values, strict=False)
            ]
        later = any(claims[at] == "given" and values[at] != values[rank] for at in range(rank + 1, len(places)))
        if claims[rank] == "given" and later and _TENTATIVE.search(_before(sketch, place, _SENTENCE)):
            claims[rank] = "withdrawn"
    return claims


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether a text denies what stands from `start` to `end`."""
    ahead = fold(f"{text[max(0, start - 110) : start]}|")[:-1]
    sketch = without_harmless(f"{ahead}{MARK}{fold(f'|{text[end : end + 70]}')[1:]}")
    return _claim(sketch, len(ahead)) == "denied"


def without_harmless(sketch: str) -> str:
    """Blank out phrases that deny nothing, as `no doubt`; every value keeps its place."""
    return _HARMLESS.sub(lambda found: re.sub(rf"[^{MARK}]", "~", found[0]), sketch)


def _claim(sketch: str, place: int) -> Claim:
    clause, sentence = _before(sketch, place, _BREAK), _before(sketch, place, _SENTENCE)
    after = sketch[place + 1 : place + 81]
    if (
        _NOT_BEFORE.search(clause)
        or _NOT_AFTER.match(after)
        or re.search(r"\b(?:not|nicht|pas): *[\"'(*]*$|\b(?:any|every|all)\w* (?:\w+ )?but\W*$", sentence)
    ):
        return "denied"
    if _SUPPOSE.search(sentence):
        return "supposed"
    return "old" if _OLD_BEFORE.search(clause or sentence) or _OLD_AFTER.match(after) else "given"


def _before(sketch: str, place: int, stop: re.Pattern[str]) -> str:
    """What stands before a value in its clause or sentence, back to the value before it."""
    before = sketch[max(0, place - 110) : place]
    before = before[before.rfind(MARK) + 1 :]
    return before[max((found.end() for found in stop.finditer(before)), default=0) :]


def is_bound(sketch: str, place: int) -> bool:
    """Whether a number is only a bound: `more than V`, `between 7 and V`."""
    between = re.compile(rf"(?<!\w)(?:between|from|zwischen|entre) {MARK} (?:and|to|und|et|y) $")
    return bool(_BESIDE.search(_before(sketch, place, _BREAK)) or between.search(sketch, max(0, place - 30), place))


def is_one_of_two(text: str, start: int, end: int) -> bool:
    """Whether an `or` and another number or code stand beside a value: `12 or V`, `V or b3`."""
    code = r"(?:[a-z]{1,4}-?)?\d[\w-]*"
    either = (
        r"(?: ?[^\W\d_]{1,6})?(?:,? ?(?:or|maybe|possibly|oder|ou|или)(?: maybe| perhaps)? |/|或者?|还是|到|至|または)"
    )
    before = re.search(rf"(?<!\w){code}[\"')*\s]*{either}[\"'(*\s]*$", text[max(0, start - 60) : start])
    return bool(before or re.match(rf"[\"')*\s]*{either}[\"'(*\s]*{code}", text[end : end + 60]))


def is_list(between: str) -> bool:
    """Whether what stands between two values makes them a list, or alternatives: `A or B`, `A, B`."""
    return bool(_EITHER.fullmatch(between) or _LIST.fullmatch(between))


def refusal_end(text: str) -> int | None:
    """Where the last words end that decline to answer or say that the answer is not there; of a folded text."""
    if _REFUSAL_WORD.fullmatch(text[:2000]):
        return len(text)
    return max((found.end() for found in _REFUSAL.finditer(text[:2000])), default=None)


def is_refusal(text: str) -> bool:
    """Whether a folded text declines to answer or says that the answer is not there."""
    return refusal_end(text) is not None


def weight(text: str) -> int:
    """A text's length in letters of an alphabet: a Chinese character says as much as three."""
    return len(text) if text.isascii() else len(text) + 2 * sum(char >= "\u2e80" for char in text)


def first_sentence(lines: str) -> Span:
    """The first sentence or line of a text."""
    match = _SENTENCE_END.search(lines)
    return Span(0, match.end() if match else len(lines))


def conclusion(lines: str) -> Span | None:
    """The last sentence or line, if it is one that concludes (`so the answer is ...`, `因此...`)."""
    last = next((place for place in range(len(lines) - 1, -1, -1) if lines[place].isalnum()), 0)
    start = max((found.end() for found in _SENTENCE_END.finditer(lines, 0, last)), default=0)
    return Span(start, len(lines)) if _CONCLUSION.search(lines, start) else None


_NEXT = re.compile(
    r"(?:\n\s*|(?<=[\w.!?。\"'*] ))(?:q(?:uestion)?|user|human|frage|pregunta|вопрос|问题|質問)\s*\d*\s*[:：]"
    r"|\n\s*(?:passage|document|context|instruction|input|問|问)\s*\d*\s*[:：.]"
)


def without_next_turn(lines: str) -> str:
    """What stands before a further question that a model asks itself, where an answer stands before it."""
    turn = _NEXT.search(lines, 1)
    before = lines[: turn.start()] if turn else ""
    return before if any(char.isalnum() for char in before) and weight(before) <= LONG else lines


def split_at_question(lines: str, question: str) -> tuple[str, str] | None:
    """What stands before the last repetition of a question in an answer, and what follows; `None`: it has none.

    Only a real question counts: what a base model is asked to go on with (`The code is`) belongs to the answer.
    """
    wanted = question.strip(" \"'.,:;。：；")
    at = lines.replace("\n", " ").rfind(wanted) if len(wanted) >= 8 and ("?" in wanted or "？" in wanted) else -1
    return None if at < 0 else (lines[:at], lines[at + len(wanted) :].lstrip(" \"'.,:;。：；_\n"))


# Whose a value is. A name is compared with the question's words; words that every answer uses are no name.
_NEUTRAL_WORDS = """
the an this that these those it its is are was were be been being who what where when which how and or but so only just also
in on at of to for from by with as you your me my us we he she him her his they their them there here one first second last
next said text texts document documents passage passages context story article file paragraph page section sentence line
middle end start beginning list table question answer answers final result response output request reference source key keys
item code codes number numbers value values pass name access entry tag label pin id magic special secret mentioned stated
provided found according only each convenience future security purposes clarity sure information note correct right exact
required needed specific particular respective corresponding associated wanted example today title user asked requested
following given above below not no yes if then than more most some any all into out up over about after before do does
did has have had can could will would should may might must i'm i've i'd it's that's there's here's let's who's code's
number's what's don't okay ok well let see look looks looking find finds identify located hidden embedded contain contains say
says saying told tell tells states stating gives give giving gave know known appear appears read reads written confirm
confirmed conclude think thought believe guess likely probably clearly explicitly exactly indeed actually again still same
complete full part unique single called named listed shown noted indicated described recorded equal equals use used uses using
need want ask asking remember memorize keep mind seven eight six nine ten hope helps help please thanks confidence confident
high explanation reasoning therefore thus hence since because quote quoted original city town situated lies stands lives lived
place country region year date month time day total amount price now never searching seek sought boxed opened completed built
erected constructed painted studied discovered received got gets pay pays paid per eur public long deep depth height wide
weighs weight cost costs fee leaves departs open opens begin begins took takes held house home family came moved went spent
born worked made conclusion truth instead new newer newest latest current currently mention mentions either once seem seems seemed would lists listed chronicle proper whole
carefully reading through went hard spot although gardening mostly bit sorry apologies incorrect wrong error previously corrected
der die das dem den des ein eine einen im ist und dokument antwort frage wert nummer zahl gesuchte lautet zugangscode laut
gemass sich befindet liegt steht lag stadt ort heisst gesucht genannt angegeben erwahnt als wurde hat dieser also daher somit
hier sie er wir mit auf zu von fur am um wird sind es gibt aktuelle nicht kein mein gut sondern nein richtig aber erst dachte
le la les un une est et du texte reponse numero valeur cle acces donnee il s'agit d'apres selon se trouve situe situee ville
dans sur au aux ce cette c'est ete etait qui que donc ainsi voici indique mentionne elle en pas actuel bien non mais
el los las del texto pregunta respuesta clave codigo acceso valor segun encuentra encuentran situado situada ubicado ubicada
esta ciudad localidad fue era por lo su al con trata indica menciona dice aqui actual tiene sino
код кода номер ответ тексте текст тексту документе вопрос значение доступа пароль согласно это в для на и находится нет
расположен расположена расположено городе город он она оно его был была было речь идет указан указано по из искомыи не новыи
деиствующии же коде а
"""
_NEUTRAL = frozenset(_NEUTRAL_WORDS.split())
_FOR = r"(?:for|of|under|fur|zu[mr]?|von|des|pour|du|de|del|para|для|у|к)"
_NAME = r"(?:(?:the|an?|der|die|das|den|le|la|les|el|los|las|your|its) |l')?((?:[a-zа-я][\w'-]* ?){1,4})"
_OWNER_BEFORE = (
    re.compile(rf"(?<!\w){_FOR} {_NAME}"),
    re.compile(
        r"((?:[a-zа-я][\w-]* ){0,2}(?!it|that|there|here|what|who|she|he|let)[a-zа-я][\w-]*)'s (?:\w+ ){0,3}(?:is|was|ist)?\W*$"
    ),
    re.compile(rf"^\W*{_NAME}(?:has|had|uses?|gets?|reads|hat|tiene)(?: the| code| number| value)*\W*$"),
    re.compile(r"(?:^|[|\n*]|- )((?:[a-zа-я][\w'-]* ?){1,3})\W*(?:[:=|(]|->|=>| - )[^\w\n]*$"),
)
_OWNER_AFTER = re.compile(
    rf"{_PUNCT}(?:\(|(?:which |that |it )?(?:is|was|belongs|goes|ist|gehort|est|es|appartient|pertenece|refers|applies"
    rf"|относится|принадлежит)(?: \w+){{0,4}}? )?(?<!\w){_FOR} {_NAME}|{_PUNCT}[(\[]{_NAME}[)\]]|{_PUNCT}\(?(?:is |was )?(?:the )?{_NAME}'s?(?!\w)"
)
_OTHER = re.compile(r"\b(?:other|another|different|someone else|andere\w*|autre|otr[oa]|друг\w+)\b|[另别]|別の|他の")
_OF_HAN = re.compile(rf"([{CJK}]{{1,12}})[的の][^的の，。、{MARK}]{{0,10}}$|([{CJK}]{{1,12}}?)(?:さん)?(?:[:：是]|が)$")
_HAN_OF = re.compile(rf"[^，。、{MARK}]{{0,6}}?(?:は|是|属于|属於)([{CJK}]{{1,12}}?)(?:さん)?(?:[的の]|$)()")
_SAID_OF_HAN = frozenset(
    "可能現今写对应储物柜新旧现在目前我认觉以為代替案的の这個个那你您我要找问所指述说提到及给出中文里本根据正确最终答案问题密码代号编值数字是为了一关于应该该コードは質問回答番号文章上下前后以為"
)


_WORD = re.compile(r"[a-zа-я][a-zа-я'-]+")


@lru_cache(1024)
def every_word(question: str) -> frozenset[str]:
    """The words of a folded question."""
    return frozenset(_WORD.findall(question))


@lru_cache(1024)
def asked_words(question: str) -> frozenset[str]:
    """The words of a folded question that say whose value is asked for."""
    return frozenset(_WORD.findall(question)) - _NEUTRAL


def owner(sketch: str, place: int, question: str) -> Literal["asked", "other", ""]:
    """Whose a value is by the words beside it: the asked key's, another's, or not said."""
    clause, after = _before(sketch, place, _BREAK), sketch[place + 1 : place + 70].partition(MARK)[0]
    after = re.split(r"[.;!?\n](?!\d)|[,，。、] ?(?!\()", after)[0]
    han = _OF_HAN.search(clause) or _HAN_OF.match(after)
    if han:
        strange = set(han[1] or han[2]) - _SAID_OF_HAN
        return "" if question.isascii() or not strange else "asked" if strange <= set(question) else "other"
    asked = asked_words(question)
    named = [
        found[1]
        for pattern in _OWNER_BEFORE
        for found in pattern.finditer(clause if clause.strip(" \"'*$") else _label(sketch, place))
    ]
    behind = _OWNER_AFTER.match(after)
    named += [name for name in behind.groups() if name] if behind else []
    said: Literal["asked", "other", ""] = ""
    for name in named:
        words = [word for word in _WORD.findall(name) if word.removesuffix("'s") not in _NEUTRAL]
        known = [word for word in words if any(_is_same(word, other) for other in asked)]
        if known and len(known) == len(words):
            said = "asked"
        elif words and (not known or _OTHER.search(name)):
            return "other"
    return "other" if _OTHER.search(clause) and not _OTHER.search(question) else said


def _label(sketch: str, place: int) -> str:
    label = sketch[max(sketch.rfind(sign, 0, place) for sign in f"\n.;{MARK}") + 1 : place][-60:]
    return label if re.search(r"[:=|(\[>-][^\w\n]*$", label) else ""


def _is_same(word: str, other: str) -> bool:
    """Whether two words are one, but for an ending."""
    word, other = word.removesuffix("'s"), other.removesuffix("'s")
    same = min(len(word), len(other), max(4, min(len(word), len(other)) - 2))
    return word == other or (same >= 4 and word[:same] == other[:same] and abs(len(word) - len(other)) <= 4)


_LANGUAGE = {
    "en": r"\b(?:the|is|for|of|was|what|which)\b", "de": r"\b(?:der|die|das|ist|lautet|fur|und|wie)\b",
    "fr": r"\b(?:le|la|est|du|des|pour|quel|quelle)\b", "es": r"\b(?:el|la|es|del|para|cual)\b", "ru": r"[а-я]{2,}",
    "zh": rf"[{CJK}]{{2}}",
}  # fmt: skip


@lru_cache(1024)
def language_of(text: str) -> str:
    """The language that a folded text has most of the commonest words of; empty: none."""
    counts = {name: len(re.findall(pattern, text[:600])) for name, pattern in _LANGUAGE.items()}
    return max(counts, key=counts.__getitem__) if any(counts.values()) else ""


_COMMENT = re.compile(
    rf"[^\w{MARK}]*(?:(?:and|but|yet|hmm+|though|und|aber|et|mais|y|pero|и|но)[\s,]+)*(?:that|this|it|which|who|what"
    rf"|c'est|das|dies\w*|esto|eso|это|там)(?: one| number| value| code)?(?:'s| is| was| has| goes| belongs| refers)(?!\w)"
    rf"(?! (?:\w+ly )?(?:in|at|near|on|found|mentioned|stated|located|hidden|given)\b)([^.!?;\n{MARK}]*)"
)


_MEASURED = frozenset(_WORD.findall(f"{UNITS} {MONTHS}"))


def is_strange(sketch: str, place: int, question: str, statement: str) -> bool:
    """Whether words stand beside a value that neither the question, the needle, nor every answer has.

    They may be another way to say what was asked, or something else (`he grew up in V`, `the joining fee is V`).
    """
    clause = _before(sketch, place, _BREAK)
    after = re.split(r"[.;!?()\n:](?!\d)|, |[，。、]", sketch[place + 1 : place + 90].partition(MARK)[0])[0]
    comment = _COMMENT.match(sketch, place + 1 + len(after))
    beside = _WORD.findall(
        f"{clause if clause.strip() else _label(sketch, place)} {after} {comment[1] if comment else ''}"
    )
    known = asked_words(question) | asked_words(statement) | _MEASURED
    return any(
        word.removesuffix("'s") not in _NEUTRAL and not any(_is_same(word, one) for one in known) for word in beside
    )

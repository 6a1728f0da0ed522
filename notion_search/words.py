"""The one way words are split, folded, compared and cut: English, Korean and mixed text, in NFC."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# A word is a run of letters and digits; hyphens, slashes, dots and apostrophes inside it belong to it
# ("multi-agent", "CI/CD", "v2.1"). Hangul, Han with kana, and all else are split apart: "gen-itgc후" is two words.
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_HAN = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_OTHER = rf"[^\W_{_HANGUL}{_HAN}]+"
_JOINER = "[-/.'_]"

# Words that say nothing about what a page is about: articles, pronouns, auxiliaries, question words, and the verbs of
# asking for something.
_STOP = frozenset(
    """a about all am an and any anyone anything are aren't as at be been being by can can't could did do does
    doesn't don't for from get had has have here how i i'm if in into is isn't it its just let let's may me
    might must my no not of on or our please shall should show so somebody someone something tell than that the
    their them then there these they this those to us want was we we're were what what's when where where's
    which who who's whom whose why will with won't would you you're your find looking need know
    및 등 그 이 저 것 수 관련 대한 대해 위한 좀 나 내 제 내가 제가 우리 저희 무엇 뭐 뭐가 뭔가 무슨 어떤
    어떻게 어디 어디서 언제 누가 누구 왜 얼마 얼마나 몇 있나요 있는지 있어 있어요 있습니까 있는 없나요 없는
    하나요 되나요 인가요 알려줘 알려주세요 찾아줘 찾아주세요 보여줘 보여주세요 해줘 해주세요 주세요 싶어
    싶어요 싶습니다 합니다 하는 되는 됩니다""".split()
)

# What follows a Korean noun, particles and the forms of "to do", "to be done" and "to be", longest first; stripped
# only where two syllables stay.
_ENDINGS = tuple(
    sorted(
        """에서는 으로는 에게서 이라고 까지 부터 에서 에게 한테 으로 처럼 보다 에는 와는 과는 이나 이랑 라고 들은 들이
    들을 들의 들 을 를 은 는 이 가 의 에 와 과 로 도 만 랑 하나요 하는지 하는가 하려면 하기 하는 하면 하고 하여 하세요
    하려고 해서 해야 해요 했다 했던 했나요 합니다 합니까 할까요 할까 할지 되나요 되는지 되는 되면 됩니다 됐나요 인가요
    인지 인가 이란""".split(),
        key=len,
        reverse=True,
    )
)

# Longer runs of letters are addresses, keys and encoded data, which no one looks for.
LONGEST_WORD = 64
# Marks a syllable that a word begins with; no word holds it.
FIRST = "…"

_CAPITALS = re.compile(r"(?<![A-Za-z0-9'-])[A-Z]{2,}(?![A-Za-z0-9'-])")
_LOOSE_END = re.compile(r"[\ud800-\udfff]")


# More marks on one letter are no language's: the limit of https://unicode.org/reports/tr15/#Stream_Safe_Text_Format.
MARK_CAP = 30
LONG = 1_000  # characters; what is shorter is composed in no time, whatever it is


def clean(text: str) -> str:
    """Return the text composed (NFC), each half surrogate replaced: text that any stream can carry."""
    return _composed(_LOOSE_END.sub("\ufffd", text))


def _composed(text: str) -> str:
    # Composing takes the square of the length of a run of marks, so that no run is longer than a language needs.
    if len(text) > LONG and not text.isascii():
        text = "".join(_few_marks(text))
    return unicodedata.normalize("NFC", text)


def _few_marks(text: str) -> Iterator[str]:
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= MARK_CAP:
            yield char


def inert(text: str) -> str:
    """Return the text as one line that no terminal acts on: no control, direction or invisible characters."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    kept: list[str] = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if char.isspace() or category in ("Zl", "Zp"):
            kept.append(" ")
        elif category == "Cf" and char not in "\u200c\u200d":  # the joiners inside emoji and Indic words stay
            continue
        elif category not in ("Cc", "Cs") and marks <= MARK_CAP:
            kept.append(char)
    return " ".join("".join(kept).split())


def unfenced(text: str) -> str:
    """Return the text as one inert line that can close no fence a prompt puts around it."""
    return inert(text).replace("<", "‹").replace(">", "›")


def quoted(text: str, limit: int) -> str:
    """Return what someone outside said as one short inert line; a web page is named, not shown."""
    line = inert(text)
    return "a web page" if line.startswith("<") else clip(line, limit)


def has_text(text: str) -> bool:
    """Whether anything of the text can be seen."""
    return any(not char.isspace() and unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Mn") for char in text)


def graphemes(text: str) -> Iterator[str]:
    """Yield what a reader takes for one character: marks, joined emoji, flags and jamo stay together.

    The rules that matter here of Unicode Standard Annex 29, https://unicode.org/reports/tr29/.
    """
    cluster = ""
    for char in text:
        if cluster and not _joins(cluster, char):
            yield cluster
            cluster = ""
        cluster += char
    if cluster:
        yield cluster


def _joins(cluster: str, char: str) -> bool:
    last = cluster[-1]
    if last == "\u200d":
        return True
    if char == "\u200d" or unicodedata.category(char) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":  # skin tones, flag tags
        return True
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        return len(cluster) == 1 and "\U0001f1e6" <= last <= "\U0001f1ff"
    return "\u1160" <= char <= "\u11ff" and ("\u1100" <= last <= "\u11ff" or "\uac00" <= last <= "\ud7a3")


def clip(text: str, limit: int) -> str:
    """Return the longest beginning of at most `limit` characters that cuts no grapheme in two."""
    if len(text) <= limit:
        return text
    if text[: limit + 1].isascii():  # where every character is a grapheme
        return text[:limit].rstrip()
    kept = ""
    for cluster in graphemes(text):
        if len(kept) + len(cluster) > limit:
            break
        kept += cluster
    return kept.rstrip()


def display_width(text: str) -> int:
    """Return how many terminal cells the text takes; Hangul, Han and emoji take two."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_cells(cluster) for cluster in graphemes(text))


def _cells(cluster: str) -> int:
    if "\ufe0f" in cluster or ("\U0001f1e6" <= cluster[0] <= "\U0001f1ff" and len(cluster) == 2):
        return 2  # an emoji by its selector, a flag by its two letters
    char = cluster[0]
    if unicodedata.category(char) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return the text in at most `width` cells, with an ellipsis where it was cut."""
    if display_width(text) <= width:
        return text
    kept, used = "", 1
    for cluster in graphemes(text):
        used += _cells(cluster)
        if used > width:
            break
        kept += cluster
    return kept.rstrip() + "…"


def fold(text: str) -> str:
    """Return the form in which two texts are compared: composed, case-blind, blanks evened out."""
    return " ".join(_composed(_composed(text).casefold()).split())


def terms(text: str) -> tuple[str, ...]:
    """Return the words of the text, folded, in order."""
    return tuple(_word().findall(fold(text).replace("’", "'")))


# Compiled when they are first asked for: such wide ranges take ten milliseconds, which a plain run need not wait.
@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    return re.compile(rf"[{_HANGUL}]+|[{_HAN}]+|{_OTHER}(?:{_JOINER}{_OTHER})*")


@lru_cache(maxsize=1)
def _unspaced() -> re.Pattern[str]:
    return re.compile(rf"[{_HANGUL}{_HAN}]")


def key_terms(text: str) -> tuple[str, ...]:
    """Return the words that say what the text is about, folded, in order, each once; of nothing but filler, all."""
    words, named = terms(text), acronyms(text)
    return tuple(dict.fromkeys(w for w in words if w in named or not is_filler(w))) or tuple(dict.fromkeys(words))


def acronyms(text: str) -> frozenset[str]:
    """Return the words written in capitals among others, folded: "IT" is a department, "it" says nothing."""
    return frozenset() if text.isupper() and text.isascii() else frozenset(map(str.casefold, _CAPITALS.findall(text)))


def is_filler(word: str) -> bool:
    """Whether a folded word says nothing about what a text is about; so does a lone Latin letter."""
    if word.isascii():
        return word in _STOP or (len(word) == 1 and word.isalpha())
    return word in _STOP or stem(word) in _STOP


def index_terms(text: str) -> list[str]:
    """Return what a text is found by, in order: for each word whatever a query for it may look like.

    English words are given by their stems; of a compound the parts, and the whole without its joints. Of words written
    in Hangul, kana or Han every two neighbouring characters; of Hangul also its first syllable, marked, which stays
    where verbs and particles change the rest; of Han each character; a lone syllable with what follows a noun, alone.
    """
    return [piece for word in terms(text) for piece in _pieces(word)]


def query_terms(text: str) -> list[str]:
    """Return what to look a query up by, each once: the index terms of its key terms."""
    return list(dict.fromkeys(piece for word in key_terms(text) for piece in _pieces(word, asked=True)))


@lru_cache(maxsize=50_000)
def _pieces(word: str, *, asked: bool = False) -> tuple[str, ...]:
    if len(word) > LONGEST_WORD:
        return ()
    if not word.isascii() and _unspaced().search(word):
        return _neighbours(word, asked=asked)
    parts = [part for part in re.split(_JOINER, word.removesuffix("'s")) if part]
    if len(parts) < 2:
        return (stem(word.removesuffix("'s")),)
    return (stem("".join(parts)), *(stem(part) for part in parts))


def _neighbours(word: str, *, asked: bool) -> tuple[str, ...]:
    pairs = tuple(word[place : place + 2] for place in range(len(word) - 1))
    if not "가" <= word[0] <= "힣":
        return (word,) if len(word) == 1 else pairs if asked else (*pairs, *word)
    if len(word) == 1:
        return (word,)
    alone = (word[0],) if not asked and word[1:] in _ENDINGS else ()
    return (*pairs, word[0] + FIRST, *alone)


def matches(term: str, word: str) -> bool:
    """Whether a word of a text is what a query's term asks for; both are folded.

    English words match by their stems, a part of a compound as the whole of it. Words of scripts written without
    blanks match inside a longer one, so that particles and compounds hide nothing; one syllable only before a particle.
    """
    sought, found = stem(term), stem(word)
    if sought == found:
        return True
    if not term.isascii() and _unspaced().search(term):
        return sought in word if len(sought) > 1 else word.removeprefix(sought) in _ENDINGS
    if word.isalnum():  # as most are: no compound
        return False
    parts = re.split(_JOINER, word)
    return len(parts) > 1 and (any(stem(part) == sought for part in parts) or "".join(parts) == term)


@lru_cache(maxsize=20_000)
def stem(term: str) -> str:
    """Return a folded English word without its commonest endings, a Korean one without what follows its noun."""
    if _unspaced().search(term):
        return _without_ending(term)
    if not term.isascii() or term.endswith(("ss", "us", "is")):
        return term
    return _without_tense(singular(term.removesuffix("'s")))


def singular(term: str) -> str:
    """Return a folded English word without the ending of its plural."""
    for ending, put in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        short = term.removesuffix(ending) + put
        if term.endswith(ending) and len(short) >= 3 and not term.endswith("ss"):
            return short
    return term


def _without_tense(term: str) -> str:
    """Return one form for "manage", "managed" and "managing", for "plan" and "planning"."""
    for ending in ("ing", "ed"):
        short = term.removesuffix(ending)
        if term.endswith(ending) and len(short) >= 3 and re.search("[aeiouy]", short) and not term.endswith("eed"):
            doubled = short[-1] == short[-2] and short[-1] not in "aeiouylsz"
            return (short[:-1] if doubled else short).removesuffix("e")
    return term.removesuffix("e") if len(term) > 3 and not term.endswith("ee") else term


def _without_ending(term: str) -> str:
    for ending in _ENDINGS:
        if term.endswith(ending) and len(term) - len(ending) >= 2:
            return term[: -len(ending)]
    return term


def keywords(text: str) -> tuple[str, ...]:
    """Return the words worth searching for, each once, as they stand inside other forms of themselves.

    "the policies for agents" gives ("polic", "agent"): what both singular and plural contain. A text of
    nothing but filler gives all its words.
    """
    return tuple(dict.fromkeys(_root(term) for term in key_terms(text)))


def _root(term: str) -> str:
    short = stem(term)
    shared = 0
    while shared < min(len(short), len(term)) and short[shared] == term[shared]:
        shared += 1
    return term[:shared]

"""The one way words are split, folded, compared and cut: English, Korean and mixed text, in NFC."""

import re
import unicodedata
from collections.abc import Iterator

# A word is a run of letters and digits; hyphens, slashes, dots and apostrophes inside it belong to it
# ("multi-agent", "CI/CD", "v2.1"). Hangul and everything else are split apart: "gen-itgc후" is two words.
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_WORD = re.compile(rf"[{_HANGUL}]+|[^\W_{_HANGUL}]+(?:[-/.'’_][^\W_{_HANGUL}]+)*")

# Words that say nothing about what a page is about.
_STOP = frozenset(
    """a about all an and any are as at be been by can could did do does for from had has have how i if in into is it
    its me my no not of on or our so than that the their them then there these they this to us was we were what when
    where which who whom why will with would you your
    및 등 그 이 저 것 수 관련 대한 대해 위한 무엇 어떻게 어디 언제 누가 왜""".split()
)

# Particles that follow a Korean noun, longest first; stripped only where two syllables stay.
_PARTICLES = tuple(
    """에서는 으로는 에게서 이라고 까지 부터 에서 에게 한테 으로 처럼 보다 에는 와는 과는 이나 이랑 라고
    을 를 은 는 이 가 의 에 와 과 로 도 만 랑""".split()
)

_LOOSE_END = re.compile(r"[\ud800-\udfff]")


# More marks on one letter are no language's: the limit of https://unicode.org/reports/tr15/#Stream_Safe_Text_Format.
MARK_CAP = 30


def clean(text: str) -> str:
    """Return the text composed (NFC), each half surrogate replaced: text that any stream can carry."""
    return unicodedata.normalize("NFC", _LOOSE_END.sub("\ufffd", text))


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
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def terms(text: str) -> tuple[str, ...]:
    """Return the words of the text, folded, in order."""
    return tuple(_WORD.findall(fold(text)))


def stem(term: str) -> str:
    """Return a folded English word without its commonest endings, a Korean one without its particle."""
    if not term.isascii():
        return _without_particle(term)
    if term.endswith(("ss", "us", "is")):
        return term
    for ending, put in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        short = term.removesuffix(ending) + put
        if term.endswith(ending) and len(short) >= 3:
            return short
    return term


def _without_particle(term: str) -> str:
    for particle in _PARTICLES:
        if term.endswith(particle) and len(term) - len(particle) >= 2:
            return term[: -len(particle)]
    return term


def keywords(text: str) -> tuple[str, ...]:
    """Return the words worth searching for, each once, as they stand inside other forms of themselves.

    "the policies for agents" gives ("polic", "agent"): what both singular and plural contain. A text of
    nothing but filler gives all its words.
    """
    words = terms(text)
    useful = [word for word in words if word not in _STOP and (len(word) > 1 or not word.isascii())]
    return tuple(dict.fromkeys(_root(word) for word in useful or words))


def _root(term: str) -> str:
    short = stem(term)
    shared = 0
    while shared < min(len(short), len(term)) and short[shared] == term[shared]:
        shared += 1
    return term[:shared]

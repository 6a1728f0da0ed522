"""The package's table of synonyms, the user's own, and what makes one malformed."""

import os
import subprocess
import sys
import unicodedata
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search import synonyms
from notion_search.synonyms import LINE_CAP, SIZE_CAP, TERM_CAP, Synonyms
from notion_search.words import fold

TABLE = (files("notion_search") / "synonyms.txt").read_text(encoding="utf-8")
PACKAGE = synonyms.parse(TABLE)


def decomposed(text):
    return unicodedata.normalize("NFD", text)


def is_korean(term):
    return any("가" <= char <= "힣" for char in term)


@pytest.fixture
def folder(outside):
    """The folder of the user's own settings, empty."""
    return outside / "home"


@pytest.fixture
def load(folder):
    """Load with these bytes or words as the user's own file; gives the synonyms and the notices."""

    def load(own=None):
        if own is not None:
            (folder / "synonyms.txt").write_bytes(own if isinstance(own, bytes) else own.encode())
        notices = []
        return synonyms.load(folder, notices.append), notices

    return load


# The package's table


def test_the_table_has_some_two_hundred_groups_most_of_them_in_both_languages():
    both = [group for group in PACKAGE.groups if any(map(is_korean, group)) and any(term.isascii() for term in group)]

    assert len(PACKAGE.groups) >= 180
    assert len(both) >= 150


def test_a_group_of_the_table_has_two_to_six_terms_and_repeats_none():
    for group in PACKAGE.groups:
        assert 2 <= len(group) <= 6, group
        assert len({fold(term) for term in group}) == len(group), group


def test_a_term_of_the_table_stands_in_two_groups_at_most():
    held = [fold(term) for group in PACKAGE.groups for term in group]

    assert [term for term in held if held.count(term) > 2] == []


def test_a_group_of_the_table_begins_in_english_and_names_korean_last():
    for group in PACKAGE.groups:
        kinds = [is_korean(term) for term in group]
        assert kinds == sorted(kinds) and not kinds[0], group


def test_the_table_is_written_as_it_is_read():
    lines = [line for line in TABLE.splitlines() if line and not line.startswith("#")]

    assert [" / ".join(group) for group in PACKAGE.groups] == lines


@pytest.mark.parametrize(
    "term",
    """휴가 연차 경비 출장 채용 면접 평가 보상 복지 보안 장애 배포 로드맵 회고 계약 견적 청구 인수인계 재택근무 결재
    품의 기획 일정 마감 매뉴얼 가이드 정책 규정 절차 템플릿 체크리스트 온보딩 회의록 에이전트""".split(),
)
def test_a_usual_korean_word_has_an_english_one(term):
    assert any(other.isascii() for other in PACKAGE.of(term))


@pytest.mark.parametrize(
    ("term", "others"),
    [
        pytest.param("onboarding", ("getting started", "온보딩"), id="English to both"),
        pytest.param("가격", ("pricing", "cost", "요금"), id="Korean to both"),
        pytest.param("pto", ("annual leave", "휴가"), id="an acronym in lower case"),
        pytest.param("CI/CD", ("continuous integration",), id="a slash within a term"),
    ],
)
def test_the_table_holds_the_terms_of_a_working_day(term, others):
    assert set(others) <= set(PACKAGE.of(term))


# Looking up

VENDORS = Synonyms(groups=(("vendor", "supplier", "협력사"), ("expense report", "경비 보고"), ("rates", "요금")))


@pytest.mark.parametrize(
    ("term", "others"),
    [
        pytest.param("vendor", ("supplier", "협력사"), id="as it stands"),
        pytest.param("  VENDOR ", ("supplier", "협력사"), id="case and blanks"),
        pytest.param("vendors", ("supplier", "협력사"), id="a plural"),
        pytest.param("Expense  reports", ("경비 보고",), id="a plural of two words"),
        pytest.param("rate", ("요금",), id="the singular of a plural"),
        pytest.param("협력사는", ("vendor", "supplier"), id="a particle"),
        pytest.param(decomposed("협력사"), ("vendor", "supplier"), id="decomposed"),
        pytest.param("vending", (), id="another word of the same stem"),
        pytest.param("vend", (), id="a part of a term"),
        pytest.param("", (), id="nothing"),
        pytest.param("[vendor]", (), id="brackets"),
    ],
)
def test_a_term_gives_the_others_of_its_group_in_order(term, others):
    assert VENDORS.of(term) == others


def test_what_a_word_only_looks_like_is_not_what_it_says():
    assert "회계" in PACKAGE.of("accounting")
    assert "회계" not in PACKAGE.of("account")
    assert PACKAGE.of("market") == ()


def test_a_term_as_it_stands_goes_before_the_singular_of_a_plural():
    assert synonyms.parse("notes / 메모\nnote / 쪽지").of("note") == ("쪽지",)


def test_the_first_group_that_holds_a_term_counts():
    two = synonyms.parse("review / 검토\nreview / 후기")

    assert two.of("review") == ("검토",)
    assert two.of("후기") == ("review",)


TERMS = st.text(st.sampled_from("abBsS1가각은[]-.é\u0301ß"), min_size=1, max_size=4)
GROUPS = st.lists(st.lists(TERMS, min_size=2, max_size=6).map(tuple), max_size=10).map(tuple)


@given(GROUPS, st.data())
def test_the_others_are_of_the_first_group_and_never_the_term_itself(groups, data):
    term = data.draw(st.sampled_from([term for group in groups for term in group]) if groups else TERMS)
    first = next((group for group in groups if fold(term) in map(fold, group)), ())

    others = Synonyms(groups=groups).of(term)

    assert set(others) <= set(first)
    assert fold(term) not in map(fold, others)


@given(GROUPS)
def test_groups_written_in_lines_read_back_composed(groups):
    text = "\n".join(" / ".join(group) for group in groups)

    read = synonyms.parse(text).groups

    assert read == tuple(tuple(unicodedata.normalize("NFC", term) for term in group) for group in groups)


@given(st.text())
def test_looking_up_anything_gives_terms_of_the_table(term):
    assert set(PACKAGE.of(term)) <= {held for group in PACKAGE.groups for held in group}


# Reading a table


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        pytest.param("", (), id="nothing"),
        pytest.param("# 주석 / comment\n\n  \n", (), id="comments and blank lines"),
        pytest.param("a / b\r\nc / d\r\n", (("a", "b"), ("c", "d")), id="lines of Windows"),
        pytest.param("  [draft]  /  초안 \n", (("[draft]", "초안"),), id="brackets and blanks around"),
        pytest.param("C# / F#", (("C#", "F#"),), id="a hash within a term"),
        pytest.param("CI/CD / pipeline", (("CI/CD", "pipeline"),), id="a slash within a term"),
        pytest.param("회의\u00a0록 / 회의\u3000록", (("회의 록", "회의 록"),), id="blanks of other kinds"),
        pytest.param(f"{decomposed('회고')} / Retro", (("회고", "Retro"),), id="composed, case kept"),
        pytest.param(f"{'가' * TERM_CAP} / b", (("가" * TERM_CAP, "b"),), id="as long as a term may be"),
        pytest.param(f"{decomposed('각' * TERM_CAP)} / b", (("각" * TERM_CAP, "b"),), id="counted when composed"),
        pytest.param("a / b\n" * LINE_CAP, (("a", "b"),) * LINE_CAP, id="as many lines as there may be"),
    ],
)
def test_a_line_is_a_group(text, groups):
    assert synonyms.parse(text).groups == groups


MALFORMED = [
    pytest.param("# own\nvacation", "line 2: fewer than two terms", id="one term"),
    pytest.param("휴가/연차", "line 1: fewer than two terms", id="no blanks around the slash"),
    pytest.param("a / b\n\na /  / b", "line 3: a blank term", id="a blank term inside"),
    pytest.param("a / / b", "line 1: a blank term", id="nothing between slashes"),
    pytest.param("/ a / b", "line 1: a blank term", id="a blank term first"),
    pytest.param("a / b /\n", "line 1: a blank term", id="a blank term last"),
    pytest.param("/", "line 1: a blank term", id="a slash alone"),
    pytest.param(f"a / {'b' * (TERM_CAP + 1)}", "line 1: a term of more than 60 characters", id="a long term"),
    pytest.param(f"a / {'가' * (TERM_CAP + 1)}", "line 1: a term of more than 60 characters", id="a long Korean one"),
    pytest.param("a / b\na\x1b[31m / b", "line 2: a control or invisible character", id="an escape sequence"),
    pytest.param("a\tb / c", "line 1: a control or invisible character", id="a tab"),
    pytest.param("a / b\rc / d", "line 1: a control or invisible character", id="lines of an old Mac"),
    pytest.param("a / \u202eb", "line 1: a control or invisible character", id="a change of direction"),
    pytest.param("a / b\u2028c", "line 1: a control or invisible character", id="a line separator"),
    pytest.param("# more\n" * (LINE_CAP + 1), "line 5001: more than 5,000 lines", id="many lines"),
    pytest.param("#" + "가" * (SIZE_CAP // 3 + 1), "larger than 1,000,000 bytes", id="a megabyte"),
]


@pytest.mark.parametrize(("text", "why"), MALFORMED)
def test_a_malformed_table_is_refused_by_the_line(text, why):
    with pytest.raises(ValueError, match=why):
        synonyms.parse(text)


def test_half_a_character_is_refused_by_the_line():
    with pytest.raises(ValueError, match="line 1: a control or invisible character"):
        synonyms.parse("a / b\ud83d")


@given(st.text(st.sampled_from("a가 /#\n\t\x00\u0301\u200b\u3000\ud800\r")))
def test_any_text_is_a_table_of_whole_groups_or_refused(text):
    try:
        groups = synonyms.parse(text).groups
    except ValueError as error:
        assert str(error).startswith("line ")
    else:
        assert all(len(group) >= 2 for group in groups)
        assert all(term == " ".join(term.split()) != "" for group in groups for term in group)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("a / b" + "\u0301\u0323" * 240_000, id="marks out of order"),
        pytest.param("a" + " " * 990_000 + "b", id="blanks"),
        pytest.param("a /" * 330_000, id="slashes"),
        pytest.param(" /" * 490_000, id="slashes alone"),
    ],
)
def test_a_line_of_nearly_a_megabyte_is_refused_at_once(line):
    with pytest.raises(ValueError, match="line 1: "):
        synonyms.parse(line)


# The user's own file


def test_without_a_folder_or_a_file_the_package_s_table_stands_alone(load):
    assert synonyms.load(None, pytest.fail) == PACKAGE
    assert load() == (PACKAGE, [])


def test_the_user_s_group_wins_for_the_terms_it_holds(load):
    found, notices = load("# 우리 팀\nvacation / 방학 / [off]\n")

    assert found.of("vacation") == ("방학", "[off]")
    assert found.of("휴가") == PACKAGE.of("휴가")
    assert found.groups[1:] == PACKAGE.groups
    assert notices == []


@pytest.mark.parametrize(
    "own",
    [
        pytest.param("\ufeff방학 / 휴가\r\n".encode(), id="a byte order mark"),
        pytest.param(decomposed("방학 / 휴가").encode(), id="decomposed"),
    ],
)
def test_the_user_s_file_may_be_as_editors_write_it(load, own):
    found, notices = load(own)

    assert found.of("방학") == ("휴가",)
    assert notices == []


@pytest.mark.parametrize(
    ("own", "why"),
    [
        *MALFORMED,
        pytest.param("a / b\n휴가 / 연차\n".encode("cp949"), "line 2: not UTF-8", id="an older encoding"),
        pytest.param("a / b\n".encode("utf-16"), "line 1: not UTF-8", id="UTF-16"),
        pytest.param(b"#" + b"a" * SIZE_CAP, "larger than 1,000,000 bytes", id="more bytes than are read"),
    ],
)
def test_a_user_s_file_of_no_use_is_told_in_one_notice_and_left_out(load, folder, own, why):
    found, (notice,) = load(own)

    assert found == PACKAGE
    assert notice.stage == "expand"
    assert notice.text.startswith(f"{folder}/synonyms.txt is left out: ")
    assert why in notice.text


def test_a_folder_in_the_place_of_the_file_is_told(load, folder):
    (folder / "synonyms.txt").mkdir()

    found, (notice,) = load()

    assert found == PACKAGE
    assert "not a file" in notice.text


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(load, folder):
    os.mkfifo(folder / "synonyms.txt")

    found, (notice,) = load()

    assert found == PACKAGE
    assert "not a file" in notice.text


def test_a_file_in_the_place_of_the_folder_is_told(load, folder):
    file = folder / "notes"
    file.touch()
    notices = []

    assert synonyms.load(file, notices.append) == PACKAGE
    assert len(notices) == 1


def test_a_file_that_cannot_be_read_is_told(load, folder):
    (folder / "synonyms.txt").symlink_to("synonyms.txt")

    found, (notice,) = load()

    assert found == PACKAGE
    assert notice.text.endswith("Too many levels of symbolic links")


def test_the_notice_is_one_line_whatever_the_folder_is_called(folder):
    odd = folder / "a\n\x1b[31mb"
    odd.mkdir()
    (odd / "synonyms.txt").write_text("alone")
    notices = []

    synonyms.load(odd, notices.append)

    assert notices[0].text.isprintable()


def test_the_module_leaves_the_slow_import_to_the_first_load():
    script = "import sys, notion_search.synonyms; print('importlib.resources' in sys.modules)"
    before = "import sys; print('importlib.resources' in sys.modules)"

    said = [subprocess.check_output([sys.executable, "-c", code], text=True) for code in (before, script)]

    assert said[0] == said[1]

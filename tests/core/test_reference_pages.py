"""The reference pages say what the code's tables say, and every key and code is on them."""

import runpy
from pathlib import Path

import pytest

from horde_core.errors import FRONT_CODES
from horde_core.keys import CLIENT_DEFAULTS, KEYS, UNSERVED
from horde_core.options import OPTIONS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "make_reference.py"))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_tables_make_it(name: str) -> None:
    """If not: python docs/make_reference.py."""
    assert (DOCS / "reference" / name).read_text() == PAGES[name]()


def rows(page: str) -> set[str]:
    """First cells of all tables."""
    return {line.split(" | ")[0][2:] for line in page.splitlines() if line.startswith("| `")}


def test_every_code_has_its_row() -> None:
    assert rows(PAGES["errors.md"]()) == {f"`{code}`" for code in FRONT_CODES}


def test_every_key_has_its_row() -> None:
    expected = {*KEYS, *CLIENT_DEFAULTS, *UNSERVED, *OPTIONS}
    assert rows(PAGES["requests.md"]()) == {f"`{key}`" for key in expected}

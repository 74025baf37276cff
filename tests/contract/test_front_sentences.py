"""The table of the front's sentences names tests that there are."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLE = (TESTS / "contract" / "sentences_front.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+)::(\w+)`", TABLE)))


def test_every_sentence_names_a_test() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 100
    for row in rows:
        assert row == "| sentence | tests |" or "::test_" in row


def test_every_verification_has_its_test() -> None:
    """Those of the how-to for clients are in one module, and all of them are in the table."""
    source = (TESTS / "contract" / "test_verifications.py").read_text(encoding="utf-8")
    written = re.findall(r"^async def (test_\w+)\(", source, re.MULTILINE)
    assert sorted(written) == sorted({test for module, test in NAMED if module == "v"})


@pytest.mark.parametrize("module,test", NAMED)
def test_the_test_is_there(module: str, test: str) -> None:
    path = TESTS / f"{'contract/test_verifications' if module == 'v' else module}.py"
    source = path.read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {test}\(", source, re.MULTILINE)

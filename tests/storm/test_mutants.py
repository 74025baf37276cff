"""Every check can fail: a front broken in one place is found within so many seeds."""

import pytest

from storm.mutants import MUTANTS, Mutant, families_found


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_front_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the family of checks that is there for it."""
    mutant.apply(monkeypatch)
    assert any(mutant.family in families_found(seed) for seed in range(mutant.seeds))


def test_each_family_has_mutants() -> None:
    """One check that can't fail would be no check."""
    assert {mutant.family for mutant in MUTANTS} == {1, 2, 3, 4, 5, 6}

"""The storm's command line: what it runs, and what it prints for a person."""

import pytest

from horde_benchmarks.storm import __main__ as command


def test_a_run_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0 and a summary; without a terminal the bar is left out of so short a run."""
    assert command.main(["--seeds", "2", "--processes", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("2 seeds, ")
    assert said.err.strip() == ""


def test_without_a_word_the_bar_has_an_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number of the fixed set is run, and the bar is full with the last."""
    monkeypatch.setattr(command, "SEEDS", 2)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert command.main(["--processes", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("2 seeds, ")
    last = said.err.split("\r")[-1]
    assert last.startswith(f"[{'#' * 30}] 2/2 ")
    assert f"\r[{'#' * 15}{'.' * 15}] 1/2 " in said.err

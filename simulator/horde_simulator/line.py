"""A sorted line of waiting requests that tells how much is ahead of one, without walking it."""

from bisect import bisect_left, insort
from typing import Final

Place = tuple[float, int]
"""Where a request stands: less is nearer the head. Unique."""

# Two square roots of what a busy Horde holds: a block's list and the list of blocks stay short.
_BLOCK: Final = 512


class _Block:
    """A run of neighbours, with what they amount to."""

    __slots__ = ("amounts", "jobs", "places", "tokens")

    def __init__(self, places: list[Place], amounts: dict[Place, tuple[int, int]]) -> None:
        self.places = places
        self.amounts = amounts
        self.jobs = sum(jobs for jobs, _ in amounts.values())
        self.tokens = sum(tokens for _, tokens in amounts.values())


class Line:
    """Places with the jobs and tokens waiting at each, in blocks that know their sums."""

    __slots__ = ("_blocks", "_lasts", "jobs", "tokens")

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._lasts: list[Place] = []
        self.jobs = 0
        self.tokens = 0

    def change(self, place: Place, jobs: int, tokens: int) -> None:
        """Adds to what waits at a place, or takes from it; a place without jobs is no more."""
        self.jobs += jobs
        self.tokens += tokens
        number = min(bisect_left(self._lasts, place), max(0, len(self._blocks) - 1))
        if not self._blocks:
            self._blocks.append(_Block([], {}))
            self._lasts.append(place)
        block = self._blocks[number]
        block.jobs += jobs
        block.tokens += tokens
        held = block.amounts.get(place)
        if held is None:
            insort(block.places, place)
            block.amounts[place] = (jobs, tokens)
        elif held[0] + jobs > 0:
            block.amounts[place] = (held[0] + jobs, held[1] + tokens)
        else:
            del block.amounts[place]
            del block.places[bisect_left(block.places, place)]
        self._settle(number)

    def _settle(self, number: int) -> None:
        """Splits a block grown too large, drops an empty one, notes its last place."""
        block = self._blocks[number]
        if not block.places:
            del self._blocks[number]
            del self._lasts[number]
            return
        self._lasts[number] = block.places[-1]
        if len(block.places) > _BLOCK:
            half = _BLOCK // 2
            halves = [
                _Block(places, {place: block.amounts[place] for place in places})
                for places in (block.places[:half], block.places[half:])
            ]
            self._blocks[number : number + 1] = halves
            self._lasts[number : number + 1] = [one.places[-1] for one in halves]

    def before(self, place: Place) -> tuple[int, int]:
        """Jobs and tokens that wait nearer the head than a place (which needn't be in line)."""
        number = bisect_left(self._lasts, place)
        jobs = sum([block.jobs for block in self._blocks[:number]])
        tokens = sum([block.tokens for block in self._blocks[:number]])
        if number < len(self._blocks):
            block = self._blocks[number]
            for ahead in block.places[: bisect_left(block.places, place)]:
                more_jobs, more_tokens = block.amounts[ahead]
                jobs += more_jobs
                tokens += more_tokens
        return jobs, tokens

    def head(self, most: int) -> list[Place]:
        """The first places, at most so many."""
        found: list[Place] = []
        for block in self._blocks:
            found += block.places[: most - len(found)]
            if len(found) >= most:
                break
        return found

"""A world that notes whose jobs it comes to hold, for a storm that goes over sockets."""

from collections.abc import Mapping, Sequence

from horde_benchmarks.storm.faulty_transport import NUMBER
from horde_benchmarks.storm.record import Record, Running
from horde_core.native import STATUS
from horde_simulator.call import Answer, Call, FetchedImage, ImageFetch
from horde_simulator.job import JobState
from horde_simulator.scenario import Scenario
from horde_simulator.world import World


class WatchedWorld(World):
    """The simulated Horde, with an eye on each client's jobs."""

    def __init__(self, scenario: Scenario, records: Mapping[int, Record]) -> None:
        super().__init__(scenario)
        self._records = records
        self._fetching: dict[int, Call] = {}
        self.calls = 0

    def handle(self, call: Call) -> Answer | ImageFetch:
        """As a world does."""
        self.calls += 1
        if call.method == "DELETE" and call.path.startswith(STATUS):
            self._note_running(call.path.rpartition("/")[2])
        held = len(self.state.requests)
        answer = super().handle(call)
        if isinstance(answer, ImageFetch):
            self._fetching[answer.ticket] = call
        self._note_job(call, held)
        return answer

    def resume(self, ticket: int, images: Sequence[FetchedImage]) -> Answer:
        """As a world does."""
        held = len(self.state.requests)
        answer = super().resume(ticket, images)
        self._note_job(self._fetching.pop(ticket), held)
        return answer

    def _note_job(self, call: Call, held: int) -> None:
        if len(self.state.requests) > held:
            number = int(NUMBER.findall(call.body)[-1])
            self._records[number].jobs.append(next(reversed(self.state.requests.values())))

    def _note_running(self, request_id: str) -> None:
        request = self.state.requests.get(request_id)
        if request is None or request.over:
            return
        for record in self._records.values():
            if request in record.jobs:
                record.cut_short = [
                    Running(job, job.streamed)
                    for job in request.latest_jobs()
                    if job.state is JobState.PROCESSING
                ]

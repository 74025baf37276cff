"""How a request ends before its replies do: cancelled by its user, expired, or for good."""

from horde_simulator.job import JobEvent, JobState
from horde_simulator.request import Request, RequestEvent
from horde_simulator.settlement import charge_reply, release_reserve
from horde_simulator.state import State


def end(state: State, request: Request) -> None:
    """Lets go of what an ended request held: its place in line, its reserve, its pictures."""
    if request.waiting:
        waiting, request.waiting = request.waiting, 0
        state.queue.took(request, waiting)
        request.account.unpopped -= waiting
    release_reserve(request)
    state.images.drop(request.image_tokens)
    request.image_tokens = ()
    request.payload = b""


def cancel(state: State, request: Request) -> None:
    """Cancels for the user; text that was streamed is paid as a reply of that length, once."""
    over = request.over
    request.apply(RequestEvent.CANCEL)
    if over:
        return
    for job in request.latest_jobs():
        if job.state is JobState.PROCESSING:
            job.apply(JobEvent.CANCEL)
            if job.streamed:
                charge_reply(state, job, job.streamed, "cancel")
            job.leave()
    end(state, request)


def expire(state: State, request: Request) -> None:
    """Forgets a request: nothing is charged any more, and its id is unknown from now on."""
    request.apply(RequestEvent.EXPIRE)
    for job in request.jobs or ():
        if job.state is JobState.PROCESSING:
            job.apply(JobEvent.STRIKE)
            job.leave()
        del state.jobs[job.id]
    end(state, request)
    del state.requests[request.id]
    if request.operation is not None:
        state.operations.pop(request.operation, None)
    state.grader.forgotten(state.now, request.id)

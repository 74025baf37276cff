"""The way of a call through faults, limits, handler, verdict and journal."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson

from horde_simulator import desk, distortion, intake, models
from horde_simulator.activation import Pending
from horde_simulator.call import Answer, Call, FetchedImage, ImageFetch
from horde_simulator.ending import cancel, expire
from horde_simulator.faults import WORKER_CALLS
from horde_simulator.images import content_type
from horde_simulator.journal import Journal
from horde_simulator.pricing import kudos
from horde_simulator.refusals import HordeError, refuse
from horde_simulator.request import Request, not_found
from horde_simulator.routes import route
from horde_simulator.scenario import FaultSpec
from horde_simulator.state import State
from horde_simulator.status import read_offsets, status_body
from horde_simulator.verdict import Asked
from horde_simulator.visit import Visit

_JSON: Final = ("content-type", "application/json")
# The calls that a planned fault can hit; one model is asked for with the same fault as all.
_FAULTED: Final[Mapping[str, str]] = {
    "submit": "submit",
    "status": "status",
    "cancel": "cancel",
    "workers": "workers",
    "models": "models",
    "model": "models",
    "pop": "pop",
    "progress": "progress",
    "worker_submit": "worker_submit",
}
_MOST_TICKETS: Final = 1000
"""Submits that wait for their pictures; one whose carrier has given up is never resumed."""
# What the verdict follows, in its words.
_GRADED: Final[Mapping[str, Asked]] = {"submit": "submit", "status": "status", "cancel": "cancel"}


class Router:
    """Handles calls upon one Horde."""

    def __init__(self, state: State, journal: Journal) -> None:
        self._state = state
        self._journal = journal
        self._tickets: dict[int, tuple[Visit, Pending, Mapping[str, Any]]] = {}
        self._ticket = 0
        self._handlers = {
            "submit": self._submit,
            "status": self._status,
            "cancel": self._cancel,
            "pop": self._pop,
            "progress": self._progress,
            "worker_submit": self._worker_submit,
            "image": self._image,
            "workers": self._workers,
            "models": self._models,
            "model": self._model,
            "find_user": self._find_user,
            "heartbeat": self._heartbeat,
            "performance": self._performance,
        }

    def handle(self, call: Call) -> Answer | ImageFetch:
        """Answers a call, or asks for pictures first."""
        headers = dict(call.headers)
        visit = Visit(call, headers, headers.get("apikey", ""))
        try:
            visit.name, visit.subject = route(call.method, call.path)
            self._asked(visit)
            visit.fault = self._fault(visit)
            if visit.fault is not None and not distortion.works(visit.fault):
                return self._leave(visit, Answer(200))
            visit.limits = self._state.limiter.check(
                visit.name,
                address=self._address(visit),
                key=visit.key,
                subject=visit.subject,
                now=self._state.now,
            )
            answer = self._handlers[visit.name](visit)
        except HordeError as error:
            return self._leave(visit, self._refused(visit, error))
        return answer if isinstance(answer, ImageFetch) else self._leave(visit, answer)

    def resume(self, ticket: int, images: Sequence[FetchedImage]) -> Answer:
        """Goes on with the submit of a ticket."""
        visit, pending, body = self._tickets.pop(ticket)
        try:
            answer = self._accepted(visit, intake.finish(self._state, pending, images), body)
        except HordeError as error:
            answer = self._refused(visit, error)
        return self._leave(visit, answer)

    def _address(self, visit: Visit) -> str:
        """Whose limits by address count: a known service's users have their own."""
        known = self._state.scenario.service_authorization
        if known and visit.headers.get("proxy-authorization") == known:
            return visit.headers.get("proxied-for", visit.call.address)
        return visit.call.address

    def _asked(self, visit: Visit) -> None:
        """Tells the verdict of a call before anything can come of it."""
        asked = _GRADED.get(visit.name)
        if asked is not None:
            self._state.grader.asked(self._state.now, asked, visit.graded_subject)

    def _fault(self, visit: Visit) -> FaultSpec | None:
        name = _FAULTED.get(visit.name)
        if name is None or self._state.faults.empty:
            return None
        if name in WORKER_CALLS:
            model, worker = self._worker_of(visit)
            return self._state.faults.strike_call(name, model=model, worker=worker)
        request = self._state.requests.get(visit.subject)
        polls = 0 if request is None else request.polls
        model = visit.asked_model if request is None else request.demand.models[0]
        return self._state.faults.strike_call(name, model=model, count=polls)

    def _worker_of(self, visit: Visit) -> tuple[str | None, str | None]:
        """The model and the worker's name that a worker's call is about, where it says so."""
        if visit.name == "pop":
            name = visit.peek("name")
            return None, name if isinstance(name, str) else None
        job_id = visit.peek("id")
        job = self._state.jobs.get(job_id) if isinstance(job_id, str) else None
        return (None, None) if job is None else (job.model, job.worker.name)

    def _refused(self, visit: Visit, error: HordeError) -> Answer:
        if visit.name in _GRADED and "errors" in error.body:
            detail = f"{visit.name}: {error.body['errors']}"
            self._state.grader.forbidden(detail, visit.subject or None)
        headers = (_JSON, *visit.limits, *error.headers)
        return Answer(error.status, headers, orjson.dumps(error.body))

    def _leave(self, visit: Visit, answer: Answer) -> Answer:
        """What every answer goes through last: its fault, the verdict, the journal."""
        fault = visit.fault
        delivered = True
        if fault is not None:
            answer = distortion.distorted(fault, answer)
            delivered = distortion.delivered(fault)
        state = self._state
        if visit.done and delivered and visit.request_id is not None:
            state.grader.told_done(visit.request_id)
        if answer.status == 429 and answer.cut is None and visit.name in _GRADED:
            self._told_to_wait(visit, answer)
        status = 0 if answer.cut is not None else answer.status
        self._journal.record(state.now, visit.call, status, visit.request_id)
        return answer

    def _told_to_wait(self, visit: Visit, answer: Answer) -> None:
        after = dict(answer.headers).get("retry-after")
        if after is not None:
            asked, subject = _GRADED[visit.name], visit.graded_subject
            self._state.grader.told_to_wait(self._state.now, asked, subject, float(after))

    def _json(self, visit: Visit, body: object, status: int = 200) -> Answer:
        return Answer(status, (_JSON, *visit.limits), orjson.dumps(body))

    def _submit(self, visit: Visit) -> Answer | ImageFetch:
        body = visit.body()
        begun = intake.begin(self._state, body, visit.key)
        if isinstance(begun, Pending):
            self._ticket += 1
            if len(self._tickets) >= _MOST_TICKETS:
                del self._tickets[next(iter(self._tickets))]
            self._tickets[self._ticket] = (visit, begun, body)
            return ImageFetch(self._ticket, intake.urls_to_fetch(begun))
        return self._accepted(visit, begun, body)

    def _accepted(self, visit: Visit, accepted: intake.Accepted, body: Mapping[str, Any]) -> Answer:
        if accepted.request is not None:
            visit.request_id = accepted.request.id
            self._state.grader.submitted(
                self._state.now,
                accepted.request.id,
                key=visit.key,
                body=body,
                existing=accepted.existing,
                delivered=visit.fault is None or distortion.delivered(visit.fault),
            )
        return self._json(visit, accepted.body, accepted.status)

    def _held(self, visit: Visit) -> Request:
        request = self._state.requests.get(visit.subject)
        if request is None:
            raise not_found(visit.subject)
        visit.request_id = request.id
        return request

    def _status(self, visit: Visit) -> Answer:
        state, faults = self._state, self._state.faults
        request = self._held(visit)
        request.polls += 1
        model, polls = request.demand.models[0], request.polls - 1
        if faults.strike("expiry", model=model, count=polls):
            expire(state, request)
            raise not_found(request.id)
        standing = None
        stale = faults.strike("stale_eligibility", model=model, count=polls)
        if stale is not None:
            standing = state.stale_standing(request.bucket, distortion.age(stale))
        body = status_body(state, request, read_offsets(visit.call.query), standing)
        missing = faults.strike("fields_missing", model=model, count=polls)
        if missing is not None:
            body = distortion.without_fields(missing, body)
        visit.done = request.over
        return self._json(visit, body)

    def _cancel(self, visit: Visit) -> Answer:
        request = self._held(visit)
        cancel(self._state, request)
        visit.done = True
        return self._json(visit, status_body(self._state, request, {}))

    def _pop(self, visit: Visit) -> Answer:
        host = visit.headers.get("host")
        return self._json(visit, desk.pop(self._state, visit.body(), visit.key, host))

    def _progress(self, visit: Visit) -> Answer:
        return self._json(visit, desk.progress(self._state, visit.body(), visit.key))

    def _worker_submit(self, visit: Visit) -> Answer:
        return self._json(visit, desk.submit(self._state, visit.body(), visit.key))

    def _image(self, visit: Visit) -> Answer:
        data = self._state.images.get(visit.subject)
        return Answer(200, (("content-type", content_type(data)), *visit.limits), data)

    def _workers(self, visit: Visit) -> Answer:
        asked = dict(parse_qsl(visit.call.query)).get("type", "text")
        now = self._state.now
        listed = [w for w in self._state.registry.by_id.values() if w.online]
        return self._json(visit, [w.as_json(now) for w in listed] if asked == "text" else [])

    def _models(self, visit: Visit) -> Answer:
        query = dict(parse_qsl(visit.call.query))
        if query.get("type", "text") != "text":
            return self._json(visit, [])
        entries = [models.model_entry(self._state, name) for name in self._state.sizes]
        return self._json(visit, entries)

    def _model(self, visit: Visit) -> Answer:
        if visit.subject not in self._state.sizes:
            raise refuse("UnknownModel", f"The model '{visit.subject[:200]}' is unknown.")
        return self._json(visit, models.model_entry(self._state, visit.subject))

    def _find_user(self, visit: Visit) -> Answer:
        account = self._state.accounts.get(visit.key)
        if account is None:
            raise refuse("UserNotFound", "No user matching sent API Key.")
        return self._json(
            visit,
            {
                "username": account.name,
                "kudos": kudos(account.balance),
                "trusted": account.trusted,
                "worker_count": account.workers,
            },
        )

    def _heartbeat(self, visit: Visit) -> Answer:
        return self._json(visit, {"message": "OK", "version": "simulated"})

    def _performance(self, visit: Visit) -> Answer:
        return self._json(visit, models.performance(self._state))

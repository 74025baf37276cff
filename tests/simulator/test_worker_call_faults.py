"""Faults on the calls of external workers: what the worker is told, and whether it had effect."""

import orjson
import pytest

from horde_simulator.call import Answer, Call
from horde_simulator.faults import CALL_FAULTS, WORKER_CALLS
from horde_simulator.scenario import FaultSpec
from simulator.horde import API, MODEL, SMALL, Caller, Program, empty_world

# Contract, simulator section 3: the status that the worker gets, and whether the call works.
KINDS = {
    "error_500": (500, False),
    "html_502": (502, False),
    "truncated_json": (200, True),
    "wrong_json": (200, True),
    "slow": (200, True),
    "cut_before": (200, False),
    "cut_after": (200, True),
    "rate_limited": (429, False),
    "rate_limited_with_rc": (429, False),
    "maintenance": (400, False),
    "key_revoked": (401, False),
}
PATHS = {"pop": "pop", "progress": "progress", "worker_submit": "submit"}


def ready(call: str) -> tuple[Caller, Program, str, dict[str, object]]:
    """A request that waits, a worker that has it unless it is to pop, and the call's body."""
    world = empty_world()
    caller, program = Caller(world), Program(world)
    request_id = caller.submit(progress=True)["id"]
    if call == "pop":
        return (
            caller,
            program,
            request_id,
            {
                "name": "w1",
                "models": [MODEL],
                "chat": {"guarantees": ["no_prompt_trim"]},
            },
        )
    job = program.pop()["id"]
    if call == "progress":
        return caller, program, request_id, {"id": job, "seq": 1, "content": "Hi"}
    message = {"content": "Hi"}
    return caller, program, request_id, {"id": job, "state": "ok", "message": message}


def had_effect(call: str, caller: Caller, request_id: str) -> bool:
    status = caller.read(request_id)
    if call == "pop":
        return bool(status["processing"])
    return bool(status["progress"]) if call == "progress" else bool(status["done"])


def send(program: Program, call: str, body: dict[str, object]) -> Answer:
    path = f"{API}/generate/chat/{PATHS[call]}"
    headers = (("apikey", program.key),)
    answer = program.world.handle(Call("POST", path, "", headers, orjson.dumps(body)))
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("prefix", ["own", "any"])
@pytest.mark.parametrize("call", WORKER_CALLS)
@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_it_strikes_once_and_works_or_not(kind: str, call: str, prefix: str) -> None:
    caller, program, request_id, body = ready(call)
    where = f"{call if prefix == 'own' else 'any'}.{kind}"
    caller.world.add_fault(FaultSpec(where, times=1))
    answer = send(program, call, body)
    status, works = KINDS[kind]
    assert answer.status == status
    assert (answer.cut is not None) == kind.startswith("cut")
    assert (answer.delay > 0) == (kind == "slow")
    assert had_effect(call, caller, request_id) == works


def test_it_may_be_limited_to_a_worker() -> None:
    """By the name that the pop says, or that the job was handed to."""
    world = empty_world()
    caller = Caller(world)
    for _ in range(2):
        caller.submit()
    world.add_fault(FaultSpec("pop.error_500", worker="w1"))
    world.add_fault(FaultSpec("worker_submit.error_500", worker="w2"))
    first, second = Program(world, name="w1"), Program(world, name="w2")
    first.pop()
    job = second.pop()["id"]
    second.hand_in(job)
    assert (first.status, second.status) == (500, 500)


def test_it_may_be_limited_to_a_model() -> None:
    """By the job's model: a pop has none."""
    world = empty_world()
    Caller(world).submit()
    for model in (SMALL, MODEL):
        world.add_fault(FaultSpec("worker_submit.rate_limited", times=1, model=model, name=model))
    world.add_fault(FaultSpec("pop.error_500", model=MODEL))
    program = Program(world)
    job = program.pop()["id"]
    statuses = []
    for _ in range(2):
        program.hand_in(job)
        statuses.append(program.status)
    assert statuses == [429, 200]

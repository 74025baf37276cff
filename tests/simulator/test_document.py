"""Scenario documents: what is read, what is refused with which words, and what is printed back."""

import json
from typing import Any

import attrs
import pytest

from horde_simulator.document import (
    SHIPPED,
    parse_scenario,
    read_scenario,
    scenario_document,
    shipped_scenario,
)
from horde_simulator.readers import DocumentError
from horde_simulator.scenario import FaultSpec, ModelSpec, Scenario, UserSpec, WorkerProfile

WHOLE = """
name = "whole"
seed = 7
clock = "manual"
clock_factor = 2
limits = "off"
service_authorization = "Bearer front"

[[models]]
name = "m"
parameters_billion = 8

[[models]]
name = "unknown-size"

[[users]]
key = "k"
username = "K"
kudos = 5
trusted = true

[[workers]]
name = "w"
id = "w-1"
models = ["m", "unknown-size"]
threads = 3
max_length = 512
max_context_length = 4096
features = ["tools", "progress"]
guarantees = []
limits = { max_temperature_with_tools = 1 }
trusted = true
slow = true
maintenance = true
online_from = 1
online_until = 9.5
tokens_per_second = 12.5
prefill_seconds = 0
prefill_per_1000_tokens = 1
load_factor = 0.5
jitter = 0.1
progress_interval = "none"
brain = "script"
background_seconds = 3

    [[workers.script]]
    match = "^hi"
    text = "hello"
    reasoning = "a greeting"
    calls = [{ name = "wave", arguments = { hand = "left" } }]
    delay = 2
    finish_reason = "length"

    [[workers.faults]]
    where = "faults_job"
    times = 2
    reason = "broken"

[[faults]]
where = "any.slow"
chance = 0.25
model = "m"
worker = "w"
after = 3
name = "slow first"
seconds = 4

[[faults]]
where = "declarations_change"
follows = "slow first"
features = ["tools"]
limits = { max_temperature_with_tools = 0.5 }
"""

EXPECTED = Scenario(
    name="whole",
    seed=7,
    clock="manual",
    clock_factor=2.0,
    limits="off",
    service_authorization="Bearer front",
    models=(ModelSpec("m", 8.0), ModelSpec("unknown-size")),
    users=(UserSpec("k", "K", 5.0, True),),
    workers=(
        WorkerProfile(
            name="w",
            models=("m", "unknown-size"),
            id="w-1",
            threads=3,
            max_length=512,
            max_context_length=4096,
            features=("tools", "progress"),
            guarantees=(),
            limits={"max_temperature_with_tools": 1.0},
            trusted=True,
            slow=True,
            maintenance=True,
            online_from=1.0,
            online_until=9.5,
            tokens_per_second=12.5,
            prefill_seconds=0.0,
            prefill_per_1000_tokens=1.0,
            load_factor=0.5,
            jitter=0.1,
            progress_interval=None,
            brain="script",
            script=(
                {
                    "match": "^hi",
                    "text": "hello",
                    "reasoning": "a greeting",
                    "calls": ({"name": "wave", "arguments": {"hand": "left"}},),
                    "delay": 2.0,
                    "finish_reason": "length",
                },
            ),
            faults=(FaultSpec("faults_job", times=2, options={"reason": "broken"}),),
            background_seconds=3.0,
        ),
    ),
    faults=(
        FaultSpec(
            "any.slow",
            chance=0.25,
            model="m",
            worker="w",
            after=3.0,
            name="slow first",
            options={"seconds": 4.0},
        ),
        FaultSpec(
            "declarations_change",
            follows="slow first",
            options={"features": ("tools",), "limits": {"max_temperature_with_tools": 0.5}},
        ),
    ),
)


def test_every_field_is_read() -> None:
    """A document that uses all of the format."""
    assert parse_scenario(WHOLE, source="whole.toml") == EXPECTED


def test_the_example_leaves_no_field_out() -> None:
    """So that a new field can't be forgotten here."""
    for value in (EXPECTED, EXPECTED.workers[0], EXPECTED.users[0], EXPECTED.models[0]):
        kind = type(value)
        for field in attrs.fields(kind):
            assert getattr(value, field.name) != field.default or field.name == "name", field.name


@pytest.mark.parametrize("name", ["whole", *SHIPPED])
def test_a_printed_scenario_reads_back_equal(name: str) -> None:
    """As JSON, over the wire and back."""
    scenario = EXPECTED if name == "whole" else shipped_scenario(name)
    document = json.loads(json.dumps(scenario_document(scenario)))
    assert read_scenario(document) == scenario


def test_an_empty_document_is_a_horde_without_anything() -> None:
    """Every key has a default."""
    assert parse_scenario("", source="x") == Scenario()


WORKER = {"name": "w", "models": ["m"]}


def with_worker(**more: Any) -> dict[str, Any]:
    return {"models": [{"name": "m"}], "workers": [{**WORKER, **more}]}


def with_faults(*faults: dict[str, Any]) -> dict[str, Any]:
    return {"models": [{"name": "m"}], "faults": list(faults)}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "the contract's example": (
        {
            "models": [{"name": "m"}],
            "workers": [
                {"name": "a", "models": ["m"]},
                {"name": "b", "models": ["m"]},
                {"name": "c", "models": ["m"], "tokens_per_sec": 5},
            ],
        },
        "workers[2].tokens_per_sec: unknown key, did you mean tokens_per_second?",
    ),
    "unknown key at the top": ({"sed": 1}, "sed: unknown key, did you mean seed?"),
    "unknown key like none": ({"zzz": 1}, "zzz: unknown key"),
    "unknown key of a model": (
        {"models": [{"name": "m", "parameters_billions": 3}]},
        "models[0].parameters_billions: unknown key, did you mean parameters_billion?",
    ),
    "negative speed": (
        with_worker(tokens_per_second=-1),
        "workers[0].tokens_per_second: must be above 0, not -1",
    ),
    "no speed": (
        with_worker(tokens_per_second=0),
        "workers[0].tokens_per_second: must be above 0, not 0",
    ),
    "speed as text": (
        with_worker(tokens_per_second="40"),
        "workers[0].tokens_per_second: must be a number, not text",
    ),
    "speed as a flag": (
        with_worker(tokens_per_second=True),
        "workers[0].tokens_per_second: must be a number, not a flag",
    ),
    "speed without end": (
        with_worker(tokens_per_second=float("inf")),
        "workers[0].tokens_per_second: must be a finite number, not inf",
    ),
    "speed that is null": (
        with_worker(tokens_per_second=None),
        "workers[0].tokens_per_second: must be a number, not null",
    ),
    "half a thread": (
        with_worker(threads=1.5),
        "workers[0].threads: must be a whole number, not a number",
    ),
    "no thread": (with_worker(threads=0), "workers[0].threads: must be at least 1, not 0"),
    "interval of another word": (
        with_worker(progress_interval="never"),
        "workers[0].progress_interval: must be a number, not text",
    ),
    "a worker without models": (with_worker(models=[]), "workers[0].models: must not be empty"),
    "a worker that names no models": (
        {"workers": [{"name": "w"}]},
        "workers[0].models: is missing",
    ),
    "a worker of an unknown model": (
        {"models": [{"name": "koboldcpp/A"}], "workers": [{**WORKER, "models": ["koboldcp/A"]}]},
        "workers[0].models[0]: unknown model 'koboldcp/A', did you mean koboldcpp/A?",
    ),
    "unknown brain": (
        with_worker(brain="proze"),
        "workers[0].brain: unknown brain 'proze', did you mean prose?",
    ),
    "unknown feature": (
        with_worker(features=["tool"]),
        "workers[0].features[0]: unknown feature 'tool', did you mean tools?",
    ),
    "unknown limit": (
        with_worker(limits={"max_temperature": 1}),
        (
            "workers[0].limits.max_temperature: unknown limit, did you mean "
            "max_temperature_with_tools?"
        ),
    ),
    "a feature twice": (
        with_worker(features=["tools", "tools"]),
        "workers[0].features[1]: repeats 'tools'",
    ),
    "features as text": (
        with_worker(features="tools"),
        "workers[0].features: must be a list, not text",
    ),
    "workers as a table": ({"workers": {}}, "workers: must be a list, not a table"),
    "a worker as text": ({"workers": ["w"]}, "workers[0]: must be a table, not text"),
    "away before it comes": (
        with_worker(online_from=5, online_until=5),
        "workers[0].online_until: must be after online_from",
    ),
    "a reply longer than the context": (
        with_worker(max_length=4096, max_context_length=2048),
        "workers[0].max_length: must fit into max_context_length",
    ),
    "the script brain without rules": (
        with_worker(brain="script"),
        "workers[0].script: needs rules",
    ),
    "rules for another brain": (
        with_worker(script=[{"match": "x"}]),
        "workers[0].script: is read by the brain 'script'",
    ),
    "a broken pattern": (
        with_worker(brain="script", script=[{"match": "("}]),
        (
            "workers[0].script[0].match: is no regular expression: "
            "missing ), unterminated subpattern at position 0"
        ),
    ),
    "a rule without a pattern": (
        with_worker(brain="script", script=[{"text": "x"}]),
        "workers[0].script[0].match: is missing",
    ),
    "a worker's name twice": (
        {"models": [{"name": "m"}], "workers": [WORKER, WORKER]},
        "workers[1].name: repeats workers[0]",
    ),
    "a worker's id twice": (
        {
            "models": [{"name": "m"}],
            "workers": [{**WORKER, "id": "x"}, {**WORKER, "name": "v", "id": "x"}],
        },
        "workers[1].id: repeats workers[0]",
    ),
    "a key twice": ({"users": [{"key": "k"}, {"key": "k"}]}, "users[1].key: repeats users[0]"),
    "a model twice": (
        {"models": [{"name": "m"}, {"name": "m"}]},
        "models[1].name: repeats models[0]",
    ),
    "the anonymous user": (
        {"users": [{"key": "0000000000"}]},
        "users[0].key: is the anonymous account, always there",
    ),
    "negative kudos": (
        {"users": [{"key": "k", "kudos": -1}]},
        "users[0].kudos: must be at least 0, not -1",
    ),
    "unknown clock": (
        {"clock": "fake"},
        "clock: unknown clock 'fake'; known are manual, real",
    ),
    "unknown fault": (
        with_faults({"where": "status.eror_500"}),
        "faults[0].where: unknown fault 'status.eror_500', did you mean status.error_500?",
    ),
    "a fault nowhere": (with_faults({"times": 1}), "faults[0].where: is missing"),
    "another fault's option": (
        with_faults({"where": "status.slow", "reason": "x"}),
        "faults[0].reason: unknown key",
    ),
    "an option of the wrong type": (
        with_faults({"where": "status.slow", "seconds": "4"}),
        "faults[0].seconds: must be a number, not text",
    ),
    "a chance above one": (
        with_faults({"where": "status.slow", "chance": 1.5}),
        "faults[0].chance: must be at most 1, not 1.5",
    ),
    "no times": (
        with_faults({"where": "status.slow", "times": 0}),
        "faults[0].times: must be at least 1, not 0",
    ),
    "a fault of an unknown model": (
        with_faults({"where": "status.slow", "model": "n"}),
        "faults[0].model: unknown model 'n'",
    ),
    "a Horde's fault on a worker": (
        with_worker(faults=[{"where": "status.slow"}]),
        "workers[0].faults[0].where: is a fault of the Horde, not of a worker",
    ),
    "a worker's fault for another": (
        with_worker(faults=[{"where": "diverges", "worker": "v"}]),
        "workers[0].faults[0].worker: is the worker that the fault stands in",
    ),
    "a fault that follows nothing": (
        with_faults(
            {"where": "status.slow", "name": "first"}, {"where": "status.slow", "follows": "frist"}
        ),
        "faults[1].follows: no fault is called 'frist', did you mean first?",
    ),
    "two faults of one name": (
        with_faults({"where": "status.slow", "name": "a"}, {"where": "expiry", "name": "a"}),
        "faults[1].name: repeats 'a'",
    ),
    "a fault that follows itself": (
        with_faults({"where": "expiry", "name": "a", "follows": "a"}),
        "faults[0].follows: a circle, none would ever strike: a -> a",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_path_and_reason(name: str) -> None:
    """One problem, one line."""
    document, line = REFUSED[name]
    with pytest.raises(DocumentError) as refused:
        read_scenario(document)
    assert str(refused.value) == line


def test_a_cycle_of_faults_is_refused_at_each_of_its_faults() -> None:
    """First follows third, which follows second, which follows first."""
    document = with_faults(
        {"where": "status.slow", "name": "a", "follows": "c"},
        {"where": "status.error_500", "name": "b", "follows": "a"},
        {"where": "expiry", "name": "c", "follows": "b"},
        {"where": "no_usage", "follows": "c"},
    )
    with pytest.raises(DocumentError) as refused:
        read_scenario(document)
    reason = "a circle, none would ever strike: "
    assert refused.value.problems == (
        ("faults[0].follows", reason + "a -> c -> b -> a"),
        ("faults[1].follows", reason + "b -> a -> c -> b"),
        ("faults[2].follows", reason + "c -> b -> a -> c"),
    )


def test_all_problems_are_told_at_once() -> None:
    """A reader of the message fixes the file in one go."""
    with pytest.raises(DocumentError) as refused:
        parse_scenario('sed = 1\nclock_factor = 0\n[[workers]]\nname = ""', source="mine.toml")
    assert str(refused.value).splitlines() == [
        "mine.toml: sed: unknown key, did you mean seed?",
        "mine.toml: clock_factor: must be above 0, not 0",
        "mine.toml: workers[0].name: must not be empty",
        "mine.toml: workers[0].models: is missing",
    ]


def test_text_that_is_no_toml_is_refused_with_its_line() -> None:
    """The parser's own words, behind the file's name."""
    with pytest.raises(DocumentError, match=r"^x\.toml: is no TOML: .*line 2"):
        parse_scenario("seed = 1\nseed = ?", source="x.toml")


@pytest.mark.parametrize("document", [None, [], "x", 3])
def test_a_document_that_is_no_table_is_refused(document: Any) -> None:
    """A body of another type is told so, without a path."""
    with pytest.raises(DocumentError, match=r"^must be a table, not "):
        read_scenario(document)


def test_an_unknown_name_of_a_shipped_scenario_is_refused() -> None:
    """With the one that was meant."""
    with pytest.raises(DocumentError, match=r"'defualt', did you mean default\?"):
        shipped_scenario("defualt")


def test_the_default_scenario_is_what_the_contract_fixes() -> None:
    """The table of simulator section 4, written down again by hand."""
    scenario = shipped_scenario("default")
    assert {model.name: model.parameters_billion for model in scenario.models} == {
        "koboldcpp/Llama-3.2-3B-Instruct": 3,
        "koboldcpp/Qwen3-8B": 8,
        "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct": 7,
        "koboldcpp/Mistral-Nemo-12B": 12,
        "tabbyAPI/Command-R-35B": 35,
        "koboldcpp/Gemma-3-4B-it": 4,
    }
    assert {user.key: (user.kudos, user.trusted) for user in scenario.users} == {
        "rich-key": (1_000_000, True),
        "poor-key": (30, False),
    }
    served: dict[str, list[WorkerProfile]] = {}
    for worker in scenario.workers:
        served.setdefault(worker.models[0], []).append(worker)
    assert {model: len(workers) for model, workers in served.items()} == {
        "koboldcpp/Llama-3.2-3B-Instruct": 1,
        "koboldcpp/Qwen3-8B": 2,
        "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct": 1,
        "koboldcpp/Mistral-Nemo-12B": 1,
        "tabbyAPI/Command-R-35B": 1,
    }
    every_guarantee = {"tool_choice", "json_schema_strict", "no_prompt_trim"}

    llama = served["koboldcpp/Llama-3.2-3B-Instruct"][0]
    assert (llama.threads, llama.tokens_per_second, llama.max_context_length) == (1, 60, 8192)
    assert (llama.max_length, llama.progress_interval) == (1024, 0.5)
    assert (llama.features, llama.guarantees) == (("progress",), ("no_prompt_trim",))

    qwen = served["koboldcpp/Qwen3-8B"]
    assert [worker.max_context_length for worker in qwen] == [16384, 32768]
    assert [worker.max_length for worker in qwen] == [2048, 4096]
    for worker in qwen:
        assert (worker.threads, worker.tokens_per_second) == (2, 40)
        assert set(worker.features) == {
            "tools",
            "parallel_tool_calls",
            "response_format.json_object",
            "response_format.json_schema",
            "tools_with_response_format",
            "reasoning_effort",
            "progress",
        }
        assert set(worker.guarantees) == every_guarantee

    vision = served["aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"][0]
    wanted = {"image_input", "tools", "response_format.json_object", "response_format.json_schema"}
    assert wanted <= set(vision.features)
    assert set(vision.guarantees) == every_guarantee

    nemo = served["koboldcpp/Mistral-Nemo-12B"][0]
    assert set(nemo.features) == {"tools", "response_format.json_object"}
    assert (nemo.guarantees, nemo.progress_interval) == ((), None)
    assert nemo.limits == {"max_temperature_with_tools": 1.0}

    command = served["tabbyAPI/Command-R-35B"][0]
    assert (command.max_context_length, command.max_length) == (4096, 512)
    assert (command.tokens_per_second, command.background_seconds) == (8, 30)
    assert command.guarantees == ("no_prompt_trim",)
    assert scenario.faults == ()


def test_the_default_scenario_speaks_within_a_second() -> None:
    """Prefill of a short prompt and one progress interval, at every worker that streams."""
    for worker in shipped_scenario("default").workers:
        if worker.progress_interval is not None:
            prefill = worker.prefill_seconds + 0.1 * worker.prefill_per_1000_tokens
            assert prefill + min(worker.progress_interval, 0.3) < 1.0, worker.name


def test_the_storm_plans_faults_of_every_kind() -> None:
    """Every call's technical faults, and most of the workers'."""
    scenario = shipped_scenario("storm")
    assert scenario.clock == "manual"
    kinds = {fault.where for fault in scenario.faults}
    kinds |= {fault.where for worker in scenario.workers for fault in worker.faults}
    technical = ("error_500", "html_502", "truncated_json", "wrong_json", "slow", "cut_before")
    for call in ("submit", "status", "cancel", "workers", "models"):
        assert {f"{call}.{kind}" for kind in technical} <= kinds
    assert {"diverges", "submits_nonconformant", "vanishes_after_posts", "expiry"} <= kinds

"""What each field, fault, call and code of the simulator means, for its reference pages."""

from typing import Final

from horde_core import native


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


SCENARIO: Final = {
    "name": "What it is called; the dashboard shows it.",
    "seed": "Of the one source of chance. The same seed and calls give the same bytes.",
    "clock": "`real` runs by itself, `manual` moves by `POST /_sim/advance` only.",
    "clock_factor": "Seconds of this Horde in one real second; with a real clock.",
    "limits": "Rate limits: for a known `service`, for the `public`, or `off`.",
    "service_authorization": "The `Proxy-Authorization` by which a known service names itself; the "
    "address limits then count by its `Proxied-For`.",
    "models": "See below.",
    "users": "See below. The anonymous account, key `0000000000`, is always there.",
    "workers": "See below.",
    "faults": "Of the Horde, or of all workers: see [Faults](faults.md).",
}
MODEL: Final = {
    "name": "As clients ask for it; it may have slashes.",
    "parameters_billion": "By which it is priced; unknown to the reference: as 13.",
}
USER: Final = {
    "key": "The API key.",
    "username": "The name, to which the Horde adds a number.",
    "kudos": "What the account begins with.",
    "trusted": "Whether its workers are trusted.",
}
WORKER: Final = {
    "name": "Unique.",
    "models": "At least one; each in the scenario's `models`.",
    "id": "A UUID; drawn by chance when none is given.",
    "threads": "Jobs at once.",
    "max_length": "Most tokens of a reply.",
    "max_context_length": "Most tokens, prompt and reply.",
    "features": f"Of {_words(native.FEATURES)}.",
    "guarantees": f"Of {_words(native.GUARANTEES)}.",
    "limits": f"Of {_words(native.LIMITS)}.",
    "trusted": "Serves requests for trusted workers.",
    "slow": "Doesn't serve requests that want no slow workers.",
    "maintenance": "Is listed and serves nobody.",
    "online_from": "Seconds after the start.",
    "online_until": "Seconds after the start; for good when none is given.",
    "tokens_per_second": "Speed of a single busy thread.",
    "prefill_seconds": "Before the first token.",
    "prefill_per_1000_tokens": "Seconds more for each 1,000 tokens of the prompt.",
    "load_factor": "How much slower each further busy thread makes it: 0.5 is half as slow again.",
    "jitter": "Deviation of its speed, as a share of it; 0 to 0.3.",
    "progress_interval": 'Seconds between progress posts; `"none"`: the reply arrives whole.',
    "brain": "What it says: see [Brains](brains.md).",
    "script": "Rules of the brain `script`.",
    "faults": "Its own: see [Faults](faults.md).",
    "background_seconds": "Seconds of other users' jobs that are always ahead of a request.",
}
FAULT: Final = {
    "where": "Which fault: the first column of the tables on this page.",
    "times": "How often, then never again.",
    "chance": "How probably, at each occasion. With neither this nor `times`: always.",
    "model": "Only with this model.",
    "worker": "Only with this worker, by name or id.",
    "after": "What it spares first, in the unit of its row.",
    "name": "By which another fault can follow this one.",
    "follows": "The name of the fault that must have struck before this one may.",
}
CALLS: Final = {
    "submit": "`POST /generate/chat/async`",
    "status": "`GET /generate/chat/status/{id}`; `after` counts polls of the request",
    "cancel": "`DELETE /generate/chat/status/{id}`",
    "workers": "`GET /workers`",
    "models": "`GET /status/models` and `GET /status/models/{name}`",
    "pop": "`POST /generate/chat/pop`; `worker` is the name that it says",
    "progress": "`POST /generate/chat/progress`; `worker` and `model` are the job's",
    "worker_submit": "`POST /generate/chat/submit`; `worker` and `model` are the job's",
    "any": "each of these",
}
BRAINS: Final = {
    "prose": "Paragraphs from the seed, of the length and in the scripts that the prompt asks for, "
    "with combining marks and emoji among them.",
    "echo": "The last user message, word for word.",
    "script": "What the first rule says whose pattern is found in the last user message, or in the "
    "last tool result.",
    "tools": "Calls the offered functions that the conversation points at, with arguments that are "
    "valid for their schemas; the forced one when one is forced, several when that is asked for "
    "and allowed. After the results, text that uses them.",
    "structured": "A document that is valid for the schema of `response_format`; for `json_object` "
    "any JSON object.",
    "reasoning": "Thoughts first, within the budget of the effort, then the answer. Out of tokens "
    "it ends with `length` and no content.",
    "vision": "Format, size and main colour of each image.",
    "mixed": "One of the others, by what the request asks for: calls, a document, a description, "
    "thoughts or prose, in this order.",
}
RULES: Final = {
    "match": "a regular expression, searched for; required",
    "text": "the reply's content",
    "reasoning": "what comes before it",
    "calls": "a list of `{name, arguments}`; the ids are drawn",
    "delay": "seconds before the first token",
    "finish_reason": "`tool_calls` with calls, else `stop`, unless it says otherwise",
}
CONTROL: Final = {
    ("GET", "state"): "Time, requests (the newest 1,000), workers with their jobs, accounts.",
    ("GET", "scenario"): "The scenario that would start this Horde as it is set up now.",
    (
        "PUT",
        "scenario",
    ): "Begins anew with another: JSON with the keys of a scenario file.",
    ("POST", "workers"): "Adds a built-in worker; the keys of a scenario's worker. 201.",
    ("PATCH", "workers/{id}"): "Changes what a built-in worker declares and how it behaves; of an "
    "external one its `maintenance` only.",
    ("DELETE", "workers/{id}"): "Takes a worker away; the leases of its jobs run out.",
    ("POST", "faults"): "Plans a fault; the keys of a scenario's fault. 201.",
    ("POST", "advance"): "`{seconds}`: moves a manual clock. 409 with another.",
    ("GET", "ledger"): "Every movement of kudos (the last 200,000) and the totals of all.",
    ("GET", "journal"): "The last calls (1,000, and 512 KiB), keys redacted.",
    ("GET", "verdict"): "Whether the caller behaved, and what it did wrong.",
    ("POST", "reset"): '`{what}`: `"journal"` forgets calls and findings, `"all"` begins anew.',
}
FINDINGS: Final = {
    "polled_too_fast": "read one request again within a second",
    "ignored_retry_after": "called again before `Retry-After` was over",
    "submitted_twice": "sent a submit again, after its answer was lost, without its operation key",
    "left_without_cancel": "neither read nor cancelled a request for a minute, untold of its end",
    "cancelled_finished": "cancelled a request whose status had said `done`",
    "forbidden": "sent what the schema refuses",
}
CODES: Final = {
    "InvalidAPIKey": "no account has this key",
    "MaintenanceMode": "the Horde takes no requests",
    "WorkerNotFound": "`workers` names an id that there is not",
    "UnknownModel": "`models` names an unknown model, at `index`",
    "BadRequest": "a size, depth or combination that can't be",
    "PromptExceedsContext": "the prompt fits in no context that may be had, with the figures",
    "TooManyPrompts": "30 jobs of the account wait (of the anonymous one: 500)",
    "KudosUpfront": "above the free allowance, and the account can't reserve the kudos",
    "SourceImageUrlInvalid": "an image's URL is none that may be fetched",
    "SourceImageSizeExceeded": "an image has more than 5 MiB",
    "SourceImageUnreadable": "an image couldn't be fetched or decoded",
    "OperationKeyConflict": "the operation key is another body's",
    "RequestNotFound": "there is no such request, or it has expired",
    "UserNotFound": "`find_user` with an unknown key",
    "ImageNotFound": "there is no such image (any more)",
    "NulByteInPayload": "a NUL anywhere in the JSON",
    "InvalidPromptEncoding": "an unpaired surrogate anywhere in the JSON",
    "ChatProgressInvalid": "the progress doesn't continue the last post's; the job lives on",
    "ChatSubmitNonconformant": "the reply breaks a rule of the request: a strike",
    "DuplicateGen": "the job's reply was taken already",
    "AbortedGen": "the job was taken away, or has ended",
    "InvalidJobID": "there is no such job",
    "WrongCredentials": "the job or the worker's name is another account's",
}
ROUTES: Final = {
    "submit": "submit a request, or quote it with `dry_run`",
    "status": "follow a request",
    "cancel": "cancel it; answers the status",
    "pop": "workers: check in and ask for a job",
    "progress": "workers: post what there is so far",
    "worker_submit": "workers: hand in a reply",
    "image": "workers: a stored image, by the URL that the pop told",
    "workers": "online workers (`?type=text`)",
    "models": "known models with their counts (`?type=text`)",
    "model": "one of them",
    "find_user": "the key's account",
    "heartbeat": "health",
    "performance": "totals",
}

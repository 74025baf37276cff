// Watches a simulated Horde through its control API: reads, and never changes anything.
// Everything that comes from the Horde (names of models, workers, users) is put in as text only.

const PERIOD = 1000; // milliseconds from one answer to the next question
const MOST_ROWS = 60;
const MOST_CALLS = 60;
const MOST_SAMPLES = 600; // ten minutes; then every second sample is dropped
const MOST_LINES = 8;
const TONES = { waiting: "wait", processing: "busy", done: "good", faulted: "bad", cancelled: "quiet" };

const at = (id) => document.getElementById(id);
const watching = { paused: false, scenario: "", began: null, samples: [], calls: { seq: null, time: 0 }, request: null };

/** An element with classes, text, and children. */
function make(tag, { text, className, title, request } = {}, ...children) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  if (title) element.title = title;
  if (request) {
    element.dataset.request = request;
    if (request === watching.request) element.classList.add("same");
  }
  element.append(...children);
  return element;
}

const cell = (text, className) => make("td", { text, className, title: String(text) });
const short = (id) => (id ? id.slice(0, 8) : "");
const one = (value) => value.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const idCell = (id) => make("td", { title: id ?? "" }, make("code", { text: short(id) }));

/** 3725.4 as 1:02:05. */
function clock(seconds) {
  const whole = Math.floor(seconds);
  const two = (value) => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

async function read(name) {
  const response = await fetch(`/_sim/${name}`, { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.json();
}

/** Shows rows in a section's table, or its word for none. */
function fill(section, rows) {
  const box = at(section);
  const list = box.querySelector("tbody, .cards");
  list.replaceChildren(...rows);
  box.querySelector(".empty").hidden = rows.length > 0;
  const table = box.querySelector(".scroll");
  if (table) table.hidden = rows.length === 0;
}

function showFigures(state, calls) {
  const open = (name) => state.requests.filter((request) => request.state === name).length;
  const online = state.workers.filter((worker) => worker.online && !worker.maintenance_mode);
  const threads = online.reduce((sum, worker) => sum + worker.threads, 0);
  const busy = state.workers.reduce((sum, worker) => sum + worker.jobs.length, 0);
  const newest = calls.at(-1);
  const before = watching.calls;
  const rate = before.seq !== null && newest && state.time > before.time
    ? Math.max(0, newest.seq - before.seq) / (state.time - before.time) : 0;
  watching.calls = { seq: newest ? newest.seq : 0, time: state.time };
  const figures = [
    ["waiting", open("waiting")],
    ["processing", open("processing")],
    ["threads busy", `${busy} of ${threads}`],
    ["workers online", `${online.length} of ${state.workers.length}`],
    ["requests held", state.held],
    ["calls a second", one(rate)],
  ];
  at("figures").replaceChildren(
    ...figures.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))),
  );
}

function showRequests(state) {
  const rank = { processing: 0, waiting: 1 };
  const order = (request) => rank[request.state] ?? 2;
  const shown = state.requests.slice(0).sort((one, other) =>
    order(one) - order(other) || one.queue_position - other.queue_position).slice(0, MOST_ROWS);
  fill("queue", shown.map((request) => make("tr", { request: request.id },
    cell(request.queue_position || "", "number"), idCell(request.id),
    cell(request.state, TONES[request.state]), cell(request.model), cell(request.user),
    cell(request.worker ?? ""), cell(request.attempt || "", "number"))));
}

function standing(worker) {
  if (!worker.online) return ["offline", "quiet"];
  if (worker.maintenance_mode) return ["maintenance", "wait"];
  if (worker.jobs.length) return [`${worker.jobs.length} of ${worker.threads} busy`, "busy"];
  return ["idle", "good"];
}

function showWorkers(state) {
  fill("workers", state.workers.map((worker) => {
    const [word, tone] = standing(worker);
    const jobs = worker.jobs.map((job) => make("div", { className: "job", request: job.request_id },
      make("code", { text: short(job.request_id), title: job.request_id }),
      ...(job.attempt > 1 ? [make("span", { text: `attempt ${job.attempt}`, className: "wait" })] : []),
      make("span", { text: job.streamed ? `${job.streamed} characters` : "at work" }),
      make("span", { text: `${one(state.time - job.since)} s`, className: "number" })));
    const done = `${worker.requests_fulfilled} done, ${worker.uncompleted_jobs} failed, ${one(worker.kudos_rewards)} kudos`;
    return make("div", { className: worker.online ? "card" : "card off" },
      make("h3", {}, make("span", { text: worker.name, title: worker.id }), make("span", { text: word, className: `badge ${tone}` })),
      make("p", { text: worker.models.join(", "), title: worker.models.join("\n"), className: "quiet" }),
      make("p", { text: worker.performance }), make("p", { text: done, title: done }), ...jobs);
  }));
}

function showCalls(calls) {
  const tone = (status) => (status >= 500 || status === 0 ? "bad" : status >= 400 ? "wait" : "good");
  fill("calls", calls.slice(-MOST_CALLS).reverse().map((call) => make("tr", { request: call.request_id },
    cell(one(call.at), "number"),
    cell(`${call.method} ${call.path.replace("/api/v2", "").replace(`/${call.request_id}`, "")}`),
    make("td", { className: `number ${tone(call.status)}`, text: call.status || "cut" }),
    idCell(call.request_id))));
}

/** Keeps what every account has beside what it had at first, thinned out as time goes on. */
function sample(state) {
  const samples = watching.samples;
  samples.push({ time: state.time, kudos: new Map(state.accounts.map(({ name, kudos }) => [name, kudos])) });
  if (samples.length > MOST_SAMPLES) watching.samples = samples.filter((_, index) => index % 2 === 0);
}

function showKudos() {
  const first = watching.samples[0];
  const last = watching.samples.at(-1);
  const change = (one, name) => (one.kudos.get(name) ?? 0) - (first.kudos.get(name) ?? 0);
  const names = [...last.kudos.keys()].filter((name) => watching.samples.some((one) => change(one, name) !== 0))
    .sort((one, other) => Math.abs(change(last, other)) - Math.abs(change(last, one))).slice(0, MOST_LINES).sort();
  const all = names.flatMap((name) => watching.samples.map((one) => change(one, name)));
  const high = Math.max(0, ...all), low = Math.min(0, ...all);
  const x = (time) => 600 * (time - first.time) / (last.time - first.time || 1);
  const y = (kudos) => 175 - 170 * (kudos - low) / (high - low || 1);
  const path = (points, className) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", `M${points.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L")}`);
    line.setAttribute("class", className);
    return line;
  };
  const box = at("kudos");
  box.querySelector("svg").replaceChildren(path([[0, y(0)], [600, y(0)]], "zero"),
    ...names.map((name, index) => path(watching.samples.map((one) => [x(one.time), y(change(one, name))]), `line${index}`)));
  box.querySelector(".legend").replaceChildren(...names.map((name, index) => {
    const sum = change(last, name);
    return make("li", { className: `line${index}` }, make("i"), `${name} ${sum > 0 ? "+" : ""}${one(sum)}`);
  }));
  box.querySelector(".empty").hidden = names.length > 0;
  box.querySelector("svg").toggleAttribute("hidden", names.length === 0);
}

function showVerdict({ ok, findings }) {
  const badge = at("verdict");
  badge.textContent = ok ? "no complaints" : `${findings.length} complaints`;
  badge.className = ok ? "badge good" : "badge bad";
  at("complaints").hidden = ok;
  at("complaints").querySelector("ul").replaceChildren(...findings.slice(-MOST_ROWS).map((finding) =>
    make("li", { request: finding.request_id, text: `${finding.kind}: ${finding.detail}` })));
}

async function showScenario() {
  const scenario = await read("scenario");
  const factor = scenario.clock_factor === 1 ? "" : ` × ${scenario.clock_factor}`;
  watching.scenario = `${scenario.name}, seed ${scenario.seed}, ${scenario.clock} clock${factor}`;
  at("scenario").textContent = watching.scenario;
}

async function look() {
  const [state, { calls }, verdict] = await Promise.all([read("state"), read("journal"), read("verdict")]);
  if (watching.began === null || state.time < watching.began) { // begun anew
    watching.samples = [];
    watching.calls = { seq: null, time: 0 };
    await showScenario();
  }
  watching.began = state.time;
  at("clock").textContent = clock(state.time);
  sample(state);
  showVerdict(verdict);
  showFigures(state, calls);
  showRequests(state);
  showWorkers(state);
  showKudos();
  showCalls(calls);
}

async function watch() {
  const link = at("link");
  try {
    if (!watching.paused && !document.hidden) {
      await look();
      link.textContent = "live";
      link.className = "";
    }
  } catch (error) {
    link.textContent = `no answer (${error.message})`;
    link.className = "lost";
  }
  setTimeout(watch, PERIOD);
}

at("pause").addEventListener("click", (event) => {
  watching.paused = !watching.paused;
  event.target.setAttribute("aria-pressed", watching.paused);
  at("link").textContent = watching.paused ? "paused" : "live";
});

// Pointing at a request marks it wherever it is.
document.addEventListener("pointerover", (event) => {
  watching.request = event.target.closest("[data-request]")?.dataset.request ?? null;
  for (const element of document.querySelectorAll("[data-request]")) {
    element.classList.toggle("same", element.dataset.request === watching.request);
  }
});

watch();

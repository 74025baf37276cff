/** The model picker, and what the chosen model's card says. */
import { find, make } from "./dom.js";

const ABILITIES = /** @type {[string, (card: any) => boolean][]} */ ([
  ["images", (card) => card.architecture.input_modalities.includes("image")],
  ["tools", (card) => card.supported_parameters.includes("tools")],
  ["parallel calls", (card) => card.supported_parameters.includes("parallel_tool_calls")],
  ["structured replies", (card) => card.supported_parameters.includes("response_format")],
  ["reasoning effort", (card) => card.supported_parameters.includes("reasoning_effort")],
]);

export class ModelPicker {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.select = find("model", HTMLSelectElement);
    this.other = find("other-model", HTMLLabelElement);
    /** @type {any[]} */
    this.cards = [];
    this.onChange = onChange;
    this.select.addEventListener("change", () => this.#show());
    this.other.addEventListener("input", () => this.#show());
    this.#show();
  }

  /** The chosen model's card; undefined when none of its workers is online. */
  get card() {
    return this.cards.find(({ id }) => id === this.select.value);
  }

  /** @param {any[]} cards @param {string} [wanted] the id to choose, if it is there */
  fill(cards, wanted = this.select.value) {
    this.cards = cards;
    const options = cards.map((card) => make("option", { value: card.id }, card.id));
    this.select.replaceChildren(...options, make("option", { value: "" }, "Another id…"));
    if (cards.some(({ id }) => id === wanted)) this.select.value = wanted;
    this.#show();
  }

  #show() {
    this.other.hidden = this.select.value !== "" || !this.select.options.length;
    const facts = this.card ? factsOf(this.card) : [];
    find("card", HTMLElement).replaceChildren(
      ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    );
    this.onChange();
  }
}

/** @param {any} card @returns {[string, string][]} */
function factsOf(card) {
  const { workers, threads, queued, eta, tokens_per_second: speed } = card.x_horde ?? {};
  const abilities = ABILITIES.filter(([, has]) => has(card)).map(([name]) => name);
  const facts = /** @type {[string, string][]} */ ([
    ["Context", `${count(card.context_length)} tokens`],
    ["Longest reply", `${count(card.top_provider.max_completion_tokens)} tokens`],
    ["Abilities", abilities.join(", ") || "text only"],
  ]);
  if (card.x_horde) {
    facts.push(["Workers", `${workers} (${threads} at once)`]);
    facts.push(["Waiting time", eta > 0 ? `about ${duration(eta)}` : "none"]);
    if (queued > 0) facts.push(["Queued", `${count(Math.ceil(queued))} tokens`]);
    if (speed > 0) facts.push(["Speed", `${count(Math.round(speed))} tokens a second`]);
  }
  return facts;
}

/** @param {number} value */
export const count = (value) => value.toLocaleString("en");

/** @param {number} seconds */
export function duration(seconds) {
  const whole = Math.round(seconds);
  return whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}

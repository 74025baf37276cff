/** The settings form as values, and what of it is kept in this browser. */
import { find } from "./dom.js";

/** @typedef {import("./payload.js").Settings} Settings */

const PLACE = "horde-chat-settings";
const SECRET = new Set(["api_key", "mcp_token"]);

/** The settings form. It is the one place where they are. */
export class SettingsForm {
  constructor() {
    this.form = find("settings", HTMLFormElement);
    this.field("base_url").value = new URL("v1", document.baseURI).href;
    this.#restore();
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", () => this.#keep());
  }

  /** @param {string} name */
  field(name) {
    return /** @type {HTMLInputElement} */ (this.form.elements.namedItem(name));
  }

  get baseUrl() {
    return this.field("base_url").value.trim().replace(/\/+$/, "");
  }

  get apiKey() {
    return this.field("api_key").value.trim();
  }

  get system() {
    return this.field("system").value;
  }

  set system(text) {
    this.field("system").value = text;
    this.#keep();
  }

  /** The chosen model's id, typed or picked. */
  get model() {
    return this.field("model").value || this.field("other_model").value.trim();
  }

  get maxRounds() {
    return this.field("rounds").valueAsNumber || 8;
  }

  /** @returns {Settings} */
  read() {
    /** @type {Record<string, any>} */
    const keys = {};
    for (const element of this.#fields()) {
      const value = sentValue(element);
      if (value !== undefined) keys[element.name] = value;
    }
    const [format, schema, extra] = ["format", "schema", "extra"].map((name) => this.field(name).value);
    return { model: this.model, keys, format, schema, extra };
  }

  /** Fields that hold a request key; the others are named where they are used. */
  #fields() {
    return this.#all().filter(
      (element) =>
        element.dataset.kind || element.dataset.sends || element.name.startsWith("horde.") ||
        ["reasoning_effort", "tool_choice"].includes(element.name),
    );
  }

  #all() {
    return /** @type {HTMLInputElement[]} */ ([...this.form.elements]).filter((element) => element.name);
  }

  #keep() {
    const isKeyKept = this.field("remember_key").checked;
    const kept = this.#all()
      .filter(({ name }) => !SECRET.has(name) || (name === "api_key" && isKeyKept))
      .map((element) => [element.name, element.type === "checkbox" ? element.checked : element.value]);
    try {
      localStorage.setItem(PLACE, JSON.stringify(Object.fromEntries(kept)));
    } catch {
      // a browser that keeps nothing: then nothing is kept
    }
  }

  #restore() {
    let kept;
    try {
      kept = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    } catch {
      return;
    }
    for (const element of this.#all()) {
      const value = kept[element.name];
      if (typeof value === "boolean") element.checked = value;
      else if (typeof value === "string" && element.name !== "model") element.value = value;
    }
    /** The model chosen last, to be picked again once the list is there. */
    this.lastModel = typeof kept.model === "string" ? kept.model : "";
  }
}

/** @param {HTMLInputElement} element what it sends, or undefined for nothing */
function sentValue({ dataset, type, value, checked }) {
  if (type === "checkbox") return checked ? dataset.sends === "true" : undefined;
  if (value.trim() === "") return undefined;
  if (dataset.kind === "number") return Number(value);
  if (dataset.kind === "lines") return value.split("\n").filter((line) => line !== "");
  if (dataset.kind === "words") return value.split(/[\s,]+/).filter((word) => word !== "");
  return value;
}

/** The request as curl and as Python, to be copied. */
import { copyButton, find } from "./dom.js";
import { asCurl, asPython } from "./snippets.js";

export class RequestDialog {
  constructor() {
    this.dialog = find("request", HTMLDialogElement);
    this.curl = find("as-curl", HTMLElement);
    this.python = find("as-python", HTMLElement);
    for (const code of [this.curl, this.python]) {
      code.closest("section")?.querySelector("h3")?.after(copyButton(() => code.textContent ?? ""));
    }
    find("close-request", HTMLButtonElement).addEventListener("click", () => this.dialog.close());
  }

  /** @param {string} baseUrl @param {import("./chat-client.js").Payload} payload @param {boolean} hasKey */
  show(baseUrl, payload, hasKey) {
    this.curl.textContent = asCurl(baseUrl, payload, hasKey);
    this.python.textContent = asPython(baseUrl, payload, hasKey);
    this.dialog.showModal();
  }
}

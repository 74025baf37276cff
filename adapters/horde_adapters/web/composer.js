/** The message box: text, images from a file, the clipboard, a drop or a URL, and hints before sending. */
import { find, make } from "./dom.js";

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const LARGEST = 10 * 1024 * 1024; // bytes of one file: base64 and the rest stay below the front's 20 MiB

export class Composer {
  /** @param {{onSend: () => void, onChange: () => void}} handlers */
  constructor({ onSend, onChange }) {
    this.onChange = onChange;
    this.form = find("composer", HTMLFormElement);
    this.draft = find("draft", HTMLTextAreaElement);
    /** @type {string[]} URLs, in the order in which they were added */
    this.images = [];
    this.form.addEventListener("submit", (event) => (event.preventDefault(), onSend()));
    this.draft.addEventListener("input", () => (this.#fit(), onChange()));
    this.draft.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.#takeImages();
  }

  get text() {
    return this.draft.value;
  }

  get isEmpty() {
    return this.text.trim() === "" && this.images.length === 0;
  }

  /** @param {string} text @param {string[]} images */
  set(text, images) {
    this.draft.value = text;
    this.images = images;
    this.#show();
    this.#fit();
    this.onChange();
  }

  /** @param {string[]} texts */
  hint(texts) {
    const shown = find("hints", HTMLElement);
    if (shown.textContent !== texts.join("")) shown.replaceChildren(...texts.map((text) => make("p", {}, text)));
  }

  #takeImages() {
    const file = find("image-file", HTMLInputElement);
    const row = find("image-url-row", HTMLElement);
    const url = find("image-url", HTMLInputElement);
    const opener = find("attach-url", HTMLButtonElement);
    find("attach", HTMLButtonElement).addEventListener("click", () => file.click());
    file.addEventListener("change", () => (this.#addFiles(file.files), (file.value = "")));
    opener.addEventListener("click", () => {
      row.hidden = !row.hidden;
      opener.setAttribute("aria-expanded", String(!row.hidden));
      if (!row.hidden) url.focus();
    });
    const addUrl = () => {
      if (!/^https?:\/\/\S+$/.test(url.value.trim())) return this.hint(["An image's URL begins with http:// or https://."]);
      this.#add(url.value.trim());
      url.value = "";
    };
    find("add-image-url", HTMLButtonElement).addEventListener("click", addUrl);
    url.addEventListener("keydown", (event) => event.key === "Enter" && (event.preventDefault(), addUrl()));
    this.draft.addEventListener("paste", (event) => {
      if (event.clipboardData?.files.length) event.preventDefault();
      this.#addFiles(event.clipboardData?.files);
    });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => (event.preventDefault(), this.#addFiles(event.dataTransfer?.files)));
  }

  /** @param {FileList | null | undefined} files */
  #addFiles(files) {
    for (const file of files ?? []) {
      if (!IMAGE_TYPES.includes(file.type)) {
        this.hint([`${file.name} is no PNG, JPEG, WebP or GIF image.`]);
      } else if (file.size > LARGEST) {
        this.hint([`${file.name} is larger than ${LARGEST / 1024 / 1024} MiB.`]);
      } else {
        const reader = new FileReader();
        reader.onload = () => this.#add(String(reader.result));
        reader.readAsDataURL(file);
      }
    }
  }

  /** @param {string} url */
  #add(url) {
    this.images.push(url);
    this.#show();
    this.onChange();
  }

  #show() {
    const shown = this.images.map((url, index) => {
      const remove = make("button", { type: "button", className: "icon", "aria-label": `Remove image ${index + 1}` }, "✕");
      remove.addEventListener("click", () => (this.images.splice(index, 1), this.#show(), this.onChange(), this.draft.focus()));
      return make("span", { className: "attachment" }, thumbnail(url, index), remove);
    });
    find("attached", HTMLElement).replaceChildren(...shown);
  }

  #fit() {
    this.draft.rows = Math.min(10, Math.max(1, this.draft.value.split("\n").length + Math.floor(this.draft.value.length / 90)));
  }
}

/**
 * An image as the page may show it: one of the web is named only, as the page loads nothing from there.
 * @param {string} url
 * @param {number} index
 */
export function thumbnail(url, index) {
  if (url.startsWith("data:image/")) return make("img", { src: url, alt: `Image ${index + 1}` });
  return make("a", { href: url, target: "_blank", rel: "noopener noreferrer", className: "image-link" }, `Image ${index + 1}: ${url}`);
}

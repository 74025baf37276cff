/** The page's frame: the settings panel on narrow screens, fields that come and go, the scroll position. */
import { find } from "./dom.js";

/** On narrow screens the panel lies over the conversation; closed, it can't be reached by keyboard. */
export function preparePanel() {
  const panel = find("panel", HTMLElement);
  const backdrop = find("backdrop", HTMLElement);
  const opener = find("open-panel", HTMLButtonElement);
  const closer = find("close-panel", HTMLButtonElement);
  const narrow = matchMedia("(max-width: 52rem)");
  const show = (/** @type {boolean} */ isOpen) => {
    panel.classList.toggle("open", isOpen);
    panel.inert = narrow.matches && !isOpen;
    find("scroll", HTMLElement).closest("main")?.toggleAttribute("inert", narrow.matches && isOpen);
    backdrop.hidden = !(narrow.matches && isOpen);
    opener.setAttribute("aria-expanded", String(isOpen));
  };
  opener.addEventListener("click", () => (show(true), closer.focus()));
  closer.addEventListener("click", () => (show(false), opener.focus()));
  backdrop.addEventListener("click", () => show(false));
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && narrow.matches) (show(false), opener.focus());
  });
  narrow.addEventListener("change", () => show(false));
  show(false);
}

/** The schema's field is there when a schema is asked for. */
export function prepareFormat() {
  const format = find("format", HTMLSelectElement);
  const field = find("schema-field", HTMLLabelElement);
  const show = () => (field.hidden = format.value !== "json_schema");
  format.addEventListener("change", show);
  show();
}

/**
 * Keeps the end in sight while text comes, unless the reader has scrolled up.
 * @param {HTMLElement} frame
 * @param {HTMLElement} content
 */
export function keepAtEnd(frame, content) {
  let isAtEnd = true;
  frame.addEventListener("scroll", () => {
    isAtEnd = frame.scrollHeight - frame.scrollTop - frame.clientHeight < 48;
  });
  new ResizeObserver(() => {
    if (isAtEnd) frame.scrollTop = frame.scrollHeight;
  }).observe(content);
}

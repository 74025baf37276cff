/** The few words in which the page's own elements are found and made. No text ever becomes markup here. */

/**
 * The element of an id, of the kind that the page's markup gives it.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function find(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`#${id} is no ${kind.name}`);
  return element;
}

/**
 * A new element. Strings among the children become text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties] set as properties; those with a `-` as attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) element.setAttribute(name, value);
    else Reflect.set(element, name, value);
  }
  element.append(...children);
  return element;
}

/**
 * A button that copies what `read` gives and says so for a moment.
 * @param {() => string} read
 * @param {string} [label]
 */
export function copyButton(read, label = "Copy") {
  const button = make("button", { type: "button", className: "quiet copy" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(read());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed"; // an unsafe origin, or the user said no
    }
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

/** Arithmetic without `eval`: what a model asks to have worked out is a stranger's text. */

const TOKEN = /\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)|([-+*/%^()]))/iy;

/** @type {Record<string, (left: number, right: number) => number>} */
const OPERATIONS = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => left % right,
};

/**
 * The value of an expression. Powers bind closest and to the right, then signs, `* / %`, `+ -`.
 * @param {string} expression
 * @returns {number}
 * @throws {Error} for anything that is no expression, and for a result that is no finite number
 */
export function calculate(expression) {
  if (expression.length > 500) throw new Error("The expression is too long.");
  const tokens = split(expression);
  const value = sum(tokens);
  if (tokens.length) throw new Error(`Unexpected ${tokens[0]}`);
  if (!Number.isFinite(value)) throw new Error("The result is no finite number.");
  return value;
}

/** @param {string} expression */
function split(expression) {
  const text = expression.trimEnd();
  /** @type {string[]} */
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`Unexpected ${text.slice(at).trim()[0]}`);
    tokens.push(match[1] ?? match[2]);
  }
  return tokens;
}

/** @param {(tokens: string[]) => number} operand @param {string} signs @returns {(tokens: string[]) => number} */
const chain = (operand, signs) => (tokens) => {
  let value = operand(tokens);
  while (tokens.length && signs.includes(tokens[0])) {
    const operation = OPERATIONS[/** @type {string} */ (tokens.shift())];
    value = operation(value, operand(tokens));
  }
  return value;
};

const product = chain(signed, "*/%");
const sum = chain(product, "+-");

/** @param {string[]} tokens @returns {number} */
function signed(tokens) {
  if (tokens[0] === "-" || tokens[0] === "+") return (tokens.shift() === "-" ? -1 : 1) * signed(tokens);
  const base = single(tokens);
  if (tokens[0] !== "^") return base;
  tokens.shift();
  return base ** signed(tokens);
}

/** @param {string[]} tokens @returns {number} */
function single(tokens) {
  const token = tokens.shift();
  if (token === "(") {
    const value = sum(tokens);
    if (tokens.shift() !== ")") throw new Error("A parenthesis is not closed");
    return value;
  }
  const value = Number(token);
  if (token === undefined || Number.isNaN(value)) throw new Error(`Unexpected ${token ?? "end"}`);
  return value;
}

/** Tools that run in the page: harmless, and enough to see a tool round. */
import { calculate } from "./arithmetic.js";

/** @typedef {{name: string, description: string, parameters: object, run: (parameters: any) => unknown}} DemoTool */

const ZONES = `UTC Europe/London Europe/Oslo Africa/Nairobi Asia/Kolkata Asia/Tokyo Australia/Sydney
  America/Sao_Paulo America/New_York America/Los_Angeles`.split(/\s+/);

/** @type {DemoTool[]} */
export const DEMO_TOOLS = [
  {
    name: "get_current_time",
    description: "The current date and time in a time zone",
    parameters: {
      type: "object",
      properties: { time_zone: { enum: ZONES } },
      required: ["time_zone"],
    },
    run: ({ time_zone: timeZone }) => currentTime(new Date(), timeZone),
  },
  {
    name: "calculate",
    description: "The value of an arithmetic expression with + - * / % ^ and parentheses",
    parameters: {
      type: "object",
      properties: { expression: { type: "string" } },
      required: ["expression"],
    },
    run: ({ expression }) => ({ expression, value: calculate(String(expression)) }),
  },
  {
    name: "roll_dice",
    description: "Rolls dice",
    parameters: {
      type: "object",
      properties: {
        count: { type: "integer", minimum: 1, maximum: 20, description: "How many. Default: 1" },
        sides: { type: "integer", minimum: 2, maximum: 100, description: "Default: 6" },
      },
    },
    run: ({ count = 1, sides = 6 }) => rollDice(Math.min(20, count), Math.min(100, sides), Math.random),
  },
];

/**
 * @param {Date} now
 * @param {string} timeZone
 */
export function currentTime(now, timeZone) {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" });
  return { time_zone: timeZone, time: format.format(now) };
}

/**
 * @param {number} count
 * @param {number} sides
 * @param {() => number} random from 0 to below 1
 */
export function rollDice(count, sides, random) {
  const rolls = Array.from({ length: count }, () => 1 + Math.floor(random() * sides));
  return { rolls, total: rolls.reduce((sum, roll) => sum + roll, 0) };
}

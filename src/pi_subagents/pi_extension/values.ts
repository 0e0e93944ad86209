/**
 * Read values of unknown shape: what models, session files and the core send.
 *
 * In: anything.  Out: a value of the wanted type, a harmless one where it is not.  Never throws.
 */

export type Fields = Readonly<Record<string, unknown>>;

// C0 and C1 controls, bidirectional overrides and invisible tags: nothing a terminal may obey.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const LONGEST = 2000;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function count(value: unknown, otherwise = 0): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}

/** One printable line, indented as it is; of a long text only the beginning. */
export function line(value: unknown): string {
  if (typeof value !== "string") return "";
  return value.slice(0, LONGEST).replaceAll("\t", "    ").replace(UNPRINTABLE, " ").trimEnd();
}

/** One printable line without blanks around it. */
export function word(value: unknown): string {
  return line(value).trim();
}

/** The text of a tool's result, as the model gets it. */
export function textOf(content: unknown): string {
  const parts = list(content).map((part) => fields(part).text);
  return parts.filter((text) => typeof text === "string").join("\n");
}

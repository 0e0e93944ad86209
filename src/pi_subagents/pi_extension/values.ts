/** Read values of unknown shape (what models, session files and the core send) as harmless ones. */

export type Fields = Readonly<Record<string, unknown>>;

// C0 and C1 controls, bidirectional overrides and invisible tags: nothing a terminal may obey.
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const LONGEST = 20_000;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** One line that a terminal can only show; of a very long one the beginning. */
export function printable(value: unknown): string {
  if (typeof value !== "string") return "";
  return value.slice(0, LONGEST).replaceAll("\t", "    ").replace(UNPRINTABLE, " ");
}

/** The same without blanks around it. */
export function word(value: unknown): string {
  return printable(value).trim();
}

/** A text of tools.json with something in the place of its `{}`. */
export function filled(text: unknown, content: string): string {
  return printable(text).replace("{}", () => content);
}

export function attempt<T>(make: () => T, otherwise: T): T {
  try {
    return make();
  } catch {
    return otherwise;
  }
}

// A patch in its colours, and any output that looks like one.

import { make } from "./dom.js";

const FILE = /^(?:diff --git |index |--- |\+\+\+ |new file|deleted file|rename |similarity )/;
const KINDS = { "+": "added", "-": "removed", "@": "hunk" };
const LOOKS_LIKE_ONE = /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m;
const MAX_LINES = 20000;

export const isPatch = (text) => LOOKS_LIKE_ONE.test(text.slice(0, 4000));

export function patch(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, MAX_LINES).map((line) => make("span", { class: FILE.test(line) ? "file" : KINDS[line[0]] || "" }, `${line}\n`));
  const left = lines.length - shown.length;
  return make("pre", { class: "patch", tabIndex: 0 }, ...shown, left > 0 ? `(${left} more lines)` : "");
}

// Make elements. What runs said is somebody else's text: it only ever becomes text.

export const by = (id) => document.getElementById(id);

const ATTRIBUTES = /^(?:aria-|data-|role$|colspan$|for$)/;

// make("a", { class: "x", href: "#", on: { click } }, "text", element, null)
export function make(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (ATTRIBUTES.test(name)) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Texts that are the same are left alone: nothing is painted again for them.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Calls it once for however many calls there are until the next picture, or so long after the last.
export function paced(work, least = 0) {
  let waits = false;
  let last = -Infinity;
  const run = () => {
    waits = false;
    last = performance.now();
    work();
  };
  return () => {
    if (waits) return;
    waits = true;
    const rest = last + least - performance.now();
    // A page that is not looked at gets no pictures, but is to know how things stand.
    if (rest > 0 || document.hidden) setTimeout(run, Math.max(rest, 50));
    else requestAnimationFrame(run);
  };
}

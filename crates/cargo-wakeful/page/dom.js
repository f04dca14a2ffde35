// Makes elements.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Returns an element of HTML. Attributes that start with `on` are listeners; texts are not parsed. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Returns an element of SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Threads in `block_on` have ids from here on; a program would have to spawn that many tasks. */
const THREADS_FROM = 2 ** 31;

/** Returns a link to the page of a task, or the name of what is none. */
export function actorLink(id, text) {
  return id > THREADS_FROM ? text.kinds.thread : taskLink(id);
}

/** Returns a link to the page of a task. */
export function taskLink(id, text) {
  return id ? h("a", { href: `#task/${id}` }, text ?? String(id)) : "–";
}

/** Returns a table. A cell is a child, or `[child, class]`. */
export function table(columns, rows) {
  const cell = (name) => (content) =>
    Array.isArray(content) ? h(name, { class: content[1] }, content[0]) : h(name, {}, content);
  return h("div", { class: "scroll" },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map(cell("th")))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
}

/** Puts children into `place`, unless they look like those that are there. Keeps focus and selection. */
export function update(place, ...children) {
  const next = h("div", {}, ...children);
  if (next.innerHTML === place.innerHTML) return;
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const mark = focused?.getAttribute("href") ?? focused?.dataset.key;
  place.replaceChildren(...next.childNodes);
  if (mark) {
    const again = [...place.querySelectorAll("a, button")].find(
      (element) => (element.getAttribute("href") ?? element.dataset.key) === mark);
    again?.focus({ preventScroll: true });
  }
}

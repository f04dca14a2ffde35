// Where time goes, of the moments that are kept in which this view was open: two flame graphs.

import { h, svg, update } from "./dom.js";

const TASKS = { get: "tasks", sort: "last_poll_at_us", descending: true, offset: 0, limit: 500 };
/** Enough for a minute, and few enough that their polls are not seen in busy time. */
const ASKED_MAX = 200;
const ROW = 21;
/** The width of a letter, and of the narrowest frame that is drawn. */
const LETTER = 7.3;
const NARROWEST = 1;
const SHADES = 4;

/** The frame that is shown at full width in each graph, as its key. */
let zoomed = { busy: "", waiting: "" };

/** Asks other tasks each second: the program takes every n-th. */
function stacksRequest(page) {
  const second = Math.floor((page.history.last?.time ?? 0) / 1e6);
  return { get: "stacks", limit: ASKED_MAX - 7 * (second % 16) };
}

const stacksOf = (snapshot) => [...snapshot.answers].find(([key]) => JSON.parse(key).get === "stacks")?.[1];
const tasksOf = (snapshot) => snapshot.answers.get(JSON.stringify(TASKS));

export const profile = {
  // Busy time first: the polls of tasks that are asked come after it.
  requests: (page) => [TASKS, stacksRequest(page)],

  open(place, page) {
    const { text } = page;
    const graph = (kind) => h("section", { class: "card" },
      h("h2", {}, text.flames[kind]),
      h("p", { class: "note" }, text.flamesAbout[kind]),
      h("div", {
        id: `flame-${kind}`, class: "flame",
        onclick: (event) => zoom(kind, event.target, page),
        onkeydown: (event) => move(kind, event, page),
        onpointerover: ({ target }) => say(target),
        onfocusin: ({ target }) => say(target),
      }),
      h("p", { id: `flame-${kind}-says`, class: "note" }));
    place.append(graph("busy"), graph("waiting"), h("p", { class: "note" }, text.flamesNote));
  },

  draw(place, page) {
    const shown = page.shown();
    drawKind("busy", busyTree(shown), place, page);
    const error = stacksOf(page.snapshot())?.error;
    if (!error) return drawKind("waiting", waitingTree(shown), place, page);
    update(place.querySelector("#flame-waiting"), h("p", { class: "note empty" }, page.text.flamesForbidden));
  },

  key(event, page) {
    if (event.key !== "Escape") return;
    zoomed = { busy: "", waiting: "" };
    page.refresh();
  },
};

/** Adds up what tasks have done between looks that follow each other. */
function busyTree(shown) {
  const root = node("", "");
  const seen = new Map();
  shown.forEach((snapshot, i) => {
    const rows = tasksOf(snapshot)?.rows;
    // What happened while another view was open is not part of it.
    if (!rows) return seen.clear();
    const passed = snapshot.time - (shown[i - 1]?.time ?? snapshot.time);
    const isFirst = seen.size === 0;
    for (const row of rows) {
      const before = seen.get(row.id) ?? (!isFirst && row.age_us <= passed ? 0 : row.busy_us);
      add(root, [row.site ?? row.kind, row.type].filter(Boolean), row.busy_us - before);
      seen.set(row.id, row.busy_us);
    }
  });
  return root;
}

/** Adds up how long tasks waited: each that was asked stands for its share of all. */
function waitingTree(shown) {
  const root = node("", "");
  shown.forEach((snapshot, i) => {
    const answer = stacksOf(snapshot);
    if (i === 0 || !answer?.rows || !stacksOf(shown[i - 1])) return;
    const passed = snapshot.time - shown[i - 1].time;
    for (const { tasks, stack, waits_for: waitsFor } of answer.rows) {
      const frames = stack.map((of) => (of.file ? `${of.function} (${of.file}:${of.line})` : of.function)).reverse();
      add(root, [...frames, waitsFor], (tasks / answer.asked) * answer.waiting * passed);
    }
  });
  return root;
}

const node = (name, key) => ({ name, key, us: 0, children: new Map() });

function add(root, stack, us) {
  if (!(us > 0)) return;
  root.us += us;
  stack.reduce((above, name) => {
    if (!above.children.has(name)) above.children.set(name, node(name, `${above.key};${name}`));
    const below = above.children.get(name);
    below.us += us;
    return below;
  }, root);
}

const inOrder = (of) => [...of.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Returns the frames from the root to the one that is zoomed, or only the root if it is gone. */
function pathTo(root, key) {
  const path = [root];
  while (path.at(-1).key !== key) {
    const next = inOrder(path.at(-1)).find((child) => key === child.key || key.startsWith(`${child.key};`));
    if (!next) return [root];
    path.push(next);
  }
  return path;
}

function drawKind(kind, root, place, page) {
  const { text } = page;
  const box = place.querySelector(`#flame-${kind}`);
  if (root.us === 0) return update(box, h("p", { class: "note empty" }, text.flamesNone));
  root.name = text.all;
  const width = box.clientWidth;
  const path = pathTo(root, zoomed[kind]);
  const frames = [];
  const put = (of, depth, x, size) => {
    if (size < NARROWEST) return;
    frames.push(frame(of, { depth, x, size }, root.us, text));
    let left = x;
    for (const child of inOrder(of)) {
      const part = (size * child.us) / of.us;
      put(child, depth + 1, left, part);
      left += part;
    }
  };
  path.slice(0, -1).forEach((of, depth) => frames.push(frame(of, { depth, x: 0, size: width }, root.us, text)));
  put(path.at(-1), path.length - 1, 0, width);
  const height = (1 + Math.max(...frames.map((of) => Number(of.dataset.depth)))) * ROW;
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const reachable = frames.find((of) => of.dataset.key === (focused ?? zoomed[kind])) ?? frames[0];
  reachable.setAttribute("tabindex", "0");
  box.replaceChildren(svg("svg", { width, height, class: kind, role: "group", "aria-label": text.flames[kind] }, frames));
  if (focused !== null) reachable.focus({ preventScroll: true });
}

function frame(of, { depth, x, size }, total, text) {
  const room = Math.floor((size - 8) / LETTER);
  const says = `${of.name} · ${text.us(of.us)} · ${text.percent(of.us / total)}`;
  // The end of a path says more than its beginning.
  const whole = of.key ? of.name : says;
  const label = whole.length <= room ? whole : room > 3 ? `…${whole.slice(1 - room)}` : "";
  const shade = [...of.name].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % SHADES;
  return svg("g", { class: `frame shade${shade}`, role: "button", tabindex: -1, "data-key": of.key, "data-depth": depth, "data-x": x, "aria-label": says },
    svg("rect", { x, y: depth * ROW, width: Math.max(size - 1, 0.5), height: ROW - 1, rx: 2 }),
    label ? svg("text", { x: x + 4, y: depth * ROW + 14 }, label) : null,
    svg("title", {}, says));
}

const frameOf = (target) => target.closest?.(".frame");

/** Shows the whole text of a frame below the graph. */
function say(target) {
  const found = frameOf(target);
  if (!found) return;
  document.getElementById(`${found.closest(".flame").id}-says`).textContent = found.getAttribute("aria-label");
}

function zoom(kind, target, page) {
  const found = frameOf(target);
  if (!found) return;
  found.focus({ preventScroll: true });
  zoomed[kind] = found.dataset.key;
  profile.draw(document.getElementById("view"), page);
}

/** Moves to the frame above, below or beside, and zooms. */
function move(kind, event, page) {
  const from = frameOf(event.target);
  if (!from) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return zoom(kind, from, page);
  }
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault();
  const [depth, x] = [Number(from.dataset.depth) + step[0], Number(from.dataset.x)];
  const row = [...from.parentNode.querySelectorAll(`[data-depth="${depth}"]`)].sort((a, b) => a.dataset.x - b.dataset.x);
  const isBefore = (of) => Number(of.dataset.x) <= x;
  // Down leads to the first frame below this one, up to the one that this is part of.
  const below = row.find((of) => of.dataset.key.startsWith(`${from.dataset.key};`));
  const to = step[1] ? row[row.indexOf(from) + step[1]] : step[0] > 0 ? below : row.findLast(isBefore);
  if (!to) return;
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus({ preventScroll: true });
}

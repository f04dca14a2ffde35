// What waits for what, drawn: tasks and the objects that they wait for, hold or use.

import { h, svg, update } from "./dom.js";
import { cycles, layers, parts } from "./layers.js";

const BOX = { width: 208, height: 42 };
const GAP_X = 84;
const GAP_Y = 16;
const MARGIN = 14;
/** How far below the boxes edges go back. */
const BELOW = 22;
/** How many waiters of one object are drawn one by one. */
const ALONE_MAX = 4;
const LABEL_MAX = 30;

const ALL = { get: "graph", all: true };
let showsAll = false;
let drawn = null;

export const graph = {
  requests: () => (showsAll ? [ALL] : []),

  open(place, page) {
    const { text } = page;
    drawn = null;
    place.append(h("section", { class: "card" },
      h("div", { class: "tools" },
        h("label", { class: "check" },
          h("input", {
            type: "checkbox", id: "all", checked: showsAll,
            onchange: ({ target }) => {
              showsAll = target.checked;
              page.goLive();
            },
          }), text.graphAll),
        h("p", { class: "legend" },
          h("span", { class: "key waits" }, text.why.waits_for),
          h("span", { class: "key held" }, text.why.held_by),
          h("span", { class: "key granted" }, text.why.granted_to),
          h("span", { class: "key used" }, text.why.used_by),
          h("span", { class: "key cycle" }, text.cycle))),
      h("div", { id: "drawing", class: "scroll" }),
      h("p", { class: "note", id: "graph-note" })));
  },

  draw(place, page) {
    const { text } = page;
    const found = (showsAll ? page.answer(ALL) : null) ?? page.snapshot().graph;
    if (found.error) return update(place.querySelector("#drawing"), h("p", { class: "note" }, found.error));
    const { nodes, edges } = collapsed(found, text);
    const note = nodes.length === 0 ? (showsAll ? text.noGraphAll : text.noGraph) : found.truncated ? text.truncated : "";
    place.querySelector("#graph-note").textContent = note;
    // The same graph is not drawn again: the user may be scrolling, or following an edge.
    const mark = JSON.stringify([nodes, edges, page.language]);
    if (mark === drawn) return;
    drawn = mark;
    place.querySelector("#drawing").replaceChildren(nodes.length ? drawing(nodes, edges, text) : "");
  },
};

/** Draws many tasks that wait for the same object, and that nothing waits for, as one. */
function collapsed({ nodes = [], edges = [], verdicts = [] }, text) {
  const hangs = new Set(verdicts.flatMap((verdict) => verdict.actors ?? []));
  const byKey = new Map(nodes.map((node) => [node.key, { ...node, hangs: hangs.has(node.id) }]));
  const degree = new Map();
  for (const { from, to } of edges) for (const key of [from, to]) degree.set(key, (degree.get(key) ?? 0) + 1);
  const crowds = new Map();
  for (const edge of edges) {
    const node = byKey.get(edge.from);
    if (edge.why !== "waits_for" || node?.id === undefined || node.hangs || degree.get(edge.from) !== 1) continue;
    crowds.set(edge.to, [...(crowds.get(edge.to) ?? []), edge.from]);
  }
  const gone = new Set();
  const more = [];
  for (const [to, members] of crowds) {
    if (members.length <= ALONE_MAX) continue;
    members.forEach((member) => gone.add(member));
    const key = `crowd ${to}`;
    byKey.set(key, { key, kind: "crowd", label: text.tasksInAll(members.length) });
    more.push({ from: key, to, why: "waits_for" });
  }
  gone.forEach((key) => byKey.delete(key));
  return { nodes: [...byKey.values()], edges: [...edges.filter(({ from }) => !gone.has(from)), ...more] };
}

function drawing(nodes, edges, text) {
  const keys = nodes.map((node) => node.key);
  const inCycle = cycles(keys, edges);
  const at = new Map();
  let [width, height] = [0, MARGIN];
  // Parts that are not connected are drawn below each other, the largest first.
  for (const part of parts(keys, edges)) {
    const inPart = new Set(part);
    const columns = layers(part, edges.filter(({ from }) => inPart.has(from)));
    const tallest = Math.max(...columns.map((column) => column.length));
    const bottom = height + tallest * (BOX.height + GAP_Y) - GAP_Y;
    columns.forEach((column, i) => {
      const top = (height + bottom - column.length * (BOX.height + GAP_Y) + GAP_Y) / 2;
      column.forEach((key, j) => at.set(key, { x: MARGIN + i * (BOX.width + GAP_X), y: top + j * (BOX.height + GAP_Y), bottom }));
    });
    const goesBack = edges.some(({ from, to }) => inPart.has(from) && at.get(to)?.x < at.get(from).x);
    width = Math.max(width, columns.length * (BOX.width + GAP_X) - GAP_X + 2 * MARGIN);
    height = bottom + (goesBack ? BELOW : 0) + 2 * GAP_Y;
  }
  const isCycle = ({ from, to }) => inCycle.has(from) && inCycle.get(from) === inCycle.get(to);
  const kinds = ["waits", "held", "granted", "used", "cycle"];
  const markers = kinds.map((kind) =>
    svg("marker", { id: `arrow-${kind}`, class: kind, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
      svg("path", { d: "M0 0L8 4L0 8z" })));
  const lines = edges.filter(({ from, to }) => at.has(from) && at.has(to)).map((edge) => {
    const kind = isCycle(edge) ? "cycle" : edge.why.split("_")[0];
    return svg("path", { class: `edge ${kind} ${edge.why}`, d: curve(at.get(edge.from), at.get(edge.to)), "marker-end": `url(#arrow-${kind})` },
      svg("title", {}, text.why[edge.why] ?? edge.why));
  });
  const boxes = nodes.map((node) => box(node, at.get(node.key), inCycle.has(node.key), text));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "graph", role: "group", "aria-label": text.views.graph },
    svg("defs", {}, markers), lines, boxes);
}

/** Returns the path of an edge. Edges that go back do so below the boxes. */
function curve(from, to) {
  const middle = BOX.height / 2;
  if (to.x > from.x) {
    const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + middle, to.x - 2, to.y + middle];
    const bend = Math.max((x2 - x1) / 2, 30);
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  }
  if (to.x === from.x) {
    const x = from.x + BOX.width;
    return `M${x} ${from.y + middle}C${x + 60} ${from.y + middle} ${x + 60} ${to.y + middle} ${x + 2} ${to.y + middle}`;
  }
  const [x1, x2] = [from.x + BOX.width / 2, to.x + BOX.width / 2];
  const low = from.bottom + BELOW;
  return `M${x1} ${from.y + BOX.height}V${low - 8}Q${x1} ${low} ${x1 - 8} ${low}H${x2 + 8}Q${x2} ${low} ${x2} ${low - 8}V${to.y + BOX.height + 2}`;
}

function box(node, { x, y }, isInCycle, text) {
  const isTask = node.key.startsWith("task ");
  const isActor = node.id !== undefined;
  const name = { crowd: node.label, thread: text.kinds.thread }[node.kind] ?? text.object(node.label);
  const title = isTask ? text.task(node.id) : name;
  const under = isActor ? node.label : node.kind === "crowd" ? "" : text.object(node.kind);
  const short = (label) => (label.length > LABEL_MAX ? `…${label.slice(1 - LABEL_MAX)}` : label);
  const classes = ["node", isActor ? "task" : node.kind === "crowd" ? "crowd" : "object", node.hangs ? "hangs" : "", isInCycle ? "cycle" : ""];
  const parts = [
    svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: isActor ? 7 : 20 }),
    svg("text", { x: x + BOX.width / 2, y: y + (under && !title.startsWith(under) ? 17 : 25), class: "name" }, short(title)),
    under && !title.startsWith(under) ? svg("text", { x: x + BOX.width / 2, y: y + 33, class: "under" }, short(under)) : null,
    svg("title", {}, `${title}\n${under}`),
  ];
  if (node.kind === "crowd" || node.kind === "thread") return svg("g", { class: classes.join(" ") }, parts);
  return svg("a", { href: isTask ? `#task/${node.id}` : "#objects", class: classes.join(" ") }, parts);
}

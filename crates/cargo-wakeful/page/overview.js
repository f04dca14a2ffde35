// The overview: plots over the last minute, and where most tasks wait.

import { h, update } from "./dom.js";
import { intervals } from "./figures.js";
import { Plot } from "./plot.js";

const SHOWN = 12;
const GROUPS = { get: "groups" };

let plot = null;

export const overview = {
  requests: () => [GROUPS],

  open(place) {
    const canvas = h("canvas", { id: "plot", role: "img" });
    place.append(h("div", { class: "beside" },
      h("section", { id: "stage" }, canvas),
      h("section", { id: "crowds", class: "card" })));
    plot = new Plot(canvas);
  },

  draw(place, page) {
    const { text } = page;
    const snapshot = page.snapshot();
    plot.draw({ frames: intervals(page.shown()), now: snapshot.time, text });
    const rows = page.answer(GROUPS)?.rows;
    const crowds = place.querySelector("#crowds");
    if (!rows) return update(crowds, h("h2", {}, text.crowds), h("p", { class: "note" }, text.notAsked));
    const most = Math.max(1, ...rows.map((row) => row.tasks));
    update(crowds,
      h("h2", {}, text.crowds),
      h("p", { class: "note" }, text.crowdsOf),
      rows.length === 0 ? h("p", { class: "note" }, text.noTasks) : null,
      h("ol", { class: "bars" }, rows.slice(0, SHOWN).map((row) => crowd(row, most, page))),
      rows.length > SHOWN ? h("p", { class: "note" }, h("a", { href: "#tasks/groups" }, text.moreGroups(rows.length))) : null);
  },
};

function crowd(row, most, page) {
  const { text } = page;
  const bar = h("span", { class: "bar" }, h("meter", { min: 0, max: most, value: row.tasks }));
  return h("li", {},
    h("span", { class: "number" }, text.count(row.tasks)),
    h("span", { class: "what" },
      h("a", { href: `#tasks/${encodeURIComponent(row.site ?? "")}` }, h("code", {}, row.site ?? text.kinds[row.kind] ?? "–")),
      h("span", { class: "note" }, text.stateAndWait(row))),
    bar);
}

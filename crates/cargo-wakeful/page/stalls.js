// The last stalls.

import { h, table, taskLink, update } from "./dom.js";

export const stalls = {
  requests: () => [],

  open(place) {
    place.append(h("section", { class: "card" }));
  },

  draw(place, page) {
    const { text } = page;
    const answer = page.snapshot().stalls;
    const card = place.firstChild;
    if (answer.error) return update(card, h("p", { class: "note" }, answer.error));
    const rows = answer.rows ?? [];
    const { columns } = text;
    update(card,
      rows.length === 0 ? h("p", { class: "note empty" }, text.noStalls) : table(
        [[columns.when, "number"], [columns.took, "number"], [columns.task, "number"], columns.site, [columns.worker, "number"], columns.report],
        rows.map((row) => [
          [text.ago(text.us(Math.max(page.snapshot().time - row.at_us, 0))), "number"],
          [h("strong", {}, text.us(row.us)), "number"],
          [taskLink(row.task), "number"],
          [h("code", {}, row.site ?? "–"), "site"],
          [row.worker === undefined ? "–" : String(row.worker), "number"],
          [row.text ?? "", "wrap"],
        ])),
      h("p", { class: "note" }, text.stallsNote));
  },
};

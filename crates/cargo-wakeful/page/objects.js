// Locks, semaphores and channels, with holders and queues.

import { actorLink, h, table, update } from "./dom.js";

const OBJECTS = { get: "objects" };
const NAMED = 12;

export const objects = {
  requests: () => [OBJECTS],

  open(place) {
    place.append(h("section", { class: "card" }));
  },

  draw(place, page) {
    const { text } = page;
    const card = place.firstChild;
    const answer = page.answer(OBJECTS);
    if (!answer) return update(card, h("p", { class: "note" }, text.notAsked));
    if (answer.error) return update(card, h("p", { class: "note" }, answer.error));
    const list = (ids, total = ids.length) => (ids.length === 0 ? "–" : h("span", {},
      ids.slice(0, NAMED).map((id, i) => [i ? ", " : "", actorLink(id, text)]),
      total > NAMED ? ` ${text.andMore(total - NAMED)}` : null));
    const columns = text.columns;
    update(card,
      answer.rows.length === 0 ? h("p", { class: "note empty" }, text.noObjects) : table(
        [columns.object, columns.objectKind, [columns.waitingTotal, "number"], [columns.longestWait, "number"],
          columns.holders, columns.waiting, columns.users],
        answer.rows.map((row) => [
          h("strong", {}, text.object(row.label)),
          text.object(row.kind),
          [text.count(row.waiting_total), "number"],
          [text.us(row.wait_max_us), "number"],
          [list(row.holders ?? []), "tasks"],
          [list(row.waiting ?? [], row.waiting_total), "tasks"],
          [list(row.users ?? []), "tasks"],
        ])),
      answer.total > answer.rows.length ? h("p", { class: "note" }, text.objectsOf(answer.rows.length, answer.total)) : null,
      h("p", { class: "note" }, text.objectsNote));
  },
};

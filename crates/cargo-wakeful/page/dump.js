// The dump: the text that the program prints on SIGQUIT.

import { h, update } from "./dom.js";

let text = null;
let isAsking = false;

export const dump = {
  requests: () => [],

  open(place, page) {
    const make = (asks) => async () => {
      if (isAsking) return;
      isAsking = true;
      const answers = await page.ask([{ get: "dump", ask: asks }]);
      isAsking = false;
      if (answers) text = answers[0].text ?? answers[0].error;
      page.refresh();
    };
    place.append(h("section", { class: "card" },
      h("div", { class: "tools" },
        h("button", { type: "button", id: "make-dump", class: "strong", onclick: make(true) }, page.text.makeDump),
        h("button", { type: "button", onclick: make(false) }, page.text.makeDumpQuietly),
        h("p", { class: "note" }, page.text.dumpWhat)),
      h("pre", { id: "dump", tabindex: "0" })));
  },

  draw(place) {
    const pre = place.querySelector("#dump");
    pre.hidden = text === null;
    update(pre, text ?? "");
  },
};

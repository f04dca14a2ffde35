// The table of tasks: sorted and filtered in the program, a page at a time.

import { h, table, taskLink, update } from "./dom.js";

const PAGE = 100;
/** How long to wait for more letters before asking for what is typed. */
const TYPING_MS = 60;

/** Columns: name, member to sort by, whether the greatest come first, class. */
const COLUMNS = [
  ["id", "id", false, "number"],
  ["site", "site", false, ""],
  ["state", "state", false, ""],
  ["waitsFor", "waits_for", false, ""],
  ["since", "unchanged_us", true, "number"],
  ["polls", "polls", true, "number"],
  ["busy", "busy_us", true, "number"],
  ["last", "last_poll_us", true, "number aside"],
  ["wakes", "wakes", true, "number"],
  ["delay", "scheduled_max_us", true, "number aside"],
];

const STATES = ["", "waiting", "queued", "running"];
const FRESH = { filter: "", state: "", sort: "id", descending: false, offset: 0, groups: false };

let chosen = { ...FRESH };
let typing = 0;

function request() {
  if (chosen.groups) return { get: "groups" };
  const { filter, state, sort, descending, offset } = chosen;
  const wanted = { get: "tasks", sort, descending, offset, limit: PAGE };
  if (filter) wanted.filter = filter;
  if (state) wanted.state = state;
  return wanted;
}

/** Shows something else, which only the program can select. */
function choose(change, page) {
  chosen = { ...chosen, offset: 0, ...change };
  page.goLive();
}

export const tasks = {
  requests: () => [request()],

  open(place, page) {
    const { text } = page;
    if (page.argument === "groups") chosen = { ...FRESH, groups: true };
    else if (page.argument) chosen = { ...FRESH, filter: page.argument };
    // What the user chooses next is not in the address.
    page.argument = "";
    history.replaceState(null, "", "#tasks");
    const filter = h("input", {
      type: "search", id: "filter", placeholder: text.filter, "aria-label": text.filter, value: chosen.filter,
      spellcheck: "false", autocomplete: "off",
      oninput: ({ target }) => {
        clearTimeout(typing);
        typing = setTimeout(() => choose({ filter: target.value }, page), TYPING_MS);
      },
    });
    const states = h("fieldset", { class: "choice" },
      h("legend", { class: "hidden" }, text.columns.state),
      STATES.map((state) => h("label", {},
        h("input", {
          type: "radio", name: "state", value: state, checked: state === chosen.state,
          onchange: () => choose({ state }, page),
        }),
        h("span", {}, state ? text.taskStates[state] : text.all))));
    const groups = h("label", { class: "check" },
      h("input", {
        type: "checkbox", id: "groups", checked: chosen.groups,
        onchange: ({ target }) => choose({ groups: target.checked }, page),
      }), text.group);
    place.append(h("section", { class: "card" },
      h("div", { class: "tools" }, filter, states, groups, h("div", { class: "pager" })),
      h("div", { id: "rows" })));
  },

  draw(place, page) {
    const answer = page.answer(request());
    place.querySelector(".tools").classList.toggle("grouped", chosen.groups);
    // While an answer is on its way, the table stays as it is.
    const rows = place.querySelector("#rows");
    if (!answer && page.paused) return update(rows, h("p", { class: "note" }, page.text.notAsked));
    if (!answer) return;
    rows.dataset.request = JSON.stringify(request());
    if (answer.error) drawError(rows, answer, page);
    else if (chosen.groups) drawGroups(rows, answer, page);
    else drawTasks(rows, answer, page);
    update(place.querySelector(".pager"), chosen.groups || answer.error ? [] : pager(answer, page));
  },

  key(event, page) {
    const answer = page.answer(request());
    if (event.key === "n" && answer?.matching > chosen.offset + PAGE) choose({ offset: chosen.offset + PAGE }, page);
    if (event.key === "b" && chosen.offset > 0) choose({ offset: Math.max(chosen.offset - PAGE, 0) }, page);
  },
};

function heading([name, member, descends, kind], page) {
  const { text } = page;
  const isSorted = chosen.sort === member;
  const turn = () => choose({ sort: member, descending: isSorted ? !chosen.descending : descends }, page);
  const arrow = isSorted ? (chosen.descending ? " ↓" : " ↑") : "";
  return h("th", { class: kind, "aria-sort": isSorted ? (chosen.descending ? "descending" : "ascending") : null },
    h("button", { type: "button", "data-key": `sort-${member}`, "data-sort": member, title: text.columnsAbout[name], onclick: turn },
      text.columns[name] + arrow));
}

function drawTasks(place, { rows, total, matching }, page) {
  const { text } = page;
  const head = h("thead", {}, h("tr", {}, COLUMNS.map((column) => heading(column, page))));
  const body = h("tbody", {}, rows.map((row) => h("tr", {},
    h("td", { class: "number" }, row.kind === "thread" ? "–" : taskLink(row.id)),
    h("td", { class: "site", title: row.type }, row.name ? h("strong", {}, row.name) : null,
      h("code", {}, row.site ?? "–"), row.kind === "task" || !row.kind ? null : h("small", {}, text.kinds[row.kind])),
    h("td", {}, h("span", { class: `state ${row.state}` }, text.taskStates[row.state] ?? row.state)),
    h("td", { class: "wait", title: row.waits_for }, text.wait(row)),
    h("td", { class: "number" }, row.state === "waiting" ? text.us(row.unchanged_us) : "–"),
    h("td", { class: "number" }, text.number(row.polls)),
    h("td", { class: "number" }, text.us(row.busy_us)),
    h("td", { class: "number aside" }, text.us(row.last_poll_us)),
    h("td", { class: "number" }, text.number(row.wakes)),
    h("td", { class: "number aside" }, text.us(row.scheduled_max_us)))));
  const focused = document.activeElement?.dataset?.key ?? document.activeElement?.getAttribute?.("href");
  place.replaceChildren(h("div", { class: "scroll" }, h("table", {}, head, body)));
  if (rows.length === 0) place.append(h("p", { class: "note empty" }, total ? text.noneMatches : text.noTasks));
  place.dataset.matching = matching;
  if (focused && !document.activeElement?.matches("input, a, button")) {
    [...place.querySelectorAll("a, button")]
      .find((element) => (element.dataset.key ?? element.getAttribute("href")) === focused)
      ?.focus({ preventScroll: true });
  }
}

/** The headings stay, for another choice. */
function drawError(place, { error }, page) {
  drawTasks(place, { rows: [], total: 0, matching: 0 }, page);
  place.lastChild.textContent = error;
}

function drawGroups(place, answer, page) {
  const { text } = page;
  const contains = (row) => [row.site, row.type, row.wait, row.waits_for].some((member) => member?.includes(chosen.filter));
  const rows = answer.rows.filter((row) =>
    (!chosen.state || row.state === chosen.state) && (!chosen.filter || contains(row)));
  const columns = text.columns;
  update(place, table(
    [[columns.tasks, "number"], columns.site, columns.state, columns.waitsFor, [columns.longest, "number"],
      [columns.polls, "number"], [columns.busy, "number"]],
    rows.map((row) => [
      [text.count(row.tasks), "number"],
      [h("span", { title: row.type },
        h("a", { href: `#tasks/${encodeURIComponent(row.site ?? "")}` }, h("code", {}, row.site ?? text.kinds[row.kind] ?? "–"))), "site"],
      h("span", { class: `state ${row.state}` }, text.taskStates[row.state] ?? row.state),
      [text.wait(row), "wait"],
      [text.us(row.unchanged_max_us), "number"],
      [text.number(row.polls), "number"],
      [text.us(row.busy_us), "number"],
    ])));
  if (rows.length === 0) place.append(h("p", { class: "note empty" }, text.noneMatches));
}

function pager({ matching, rows }, page) {
  const { text } = page;
  const { offset } = chosen;
  const step = (to, label, name, isThere) => h("button", {
    type: "button", disabled: !isThere, "data-key": name, "aria-label": text[name], title: text[name],
    onclick: () => choose({ offset: to }, page),
  }, label);
  return [
    h("span", { class: "note" }, text.rows(rows.length ? offset + 1 : 0, offset + rows.length, matching)),
    step(Math.max(offset - PAGE, 0), "‹", "previous", offset > 0),
    step(offset + PAGE, "›", "next", offset + PAGE < matching),
  ];
}

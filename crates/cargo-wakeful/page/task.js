// One task: where it waits, its polls, and what it holds.

import { h, taskLink, update } from "./dom.js";

/** What asking the task has returned, and which task that was. */
let asked = null;

const id = (page) => Number(page.argument);
const request = (page) => ({ get: "task", task: id(page) });

export const task = {
  requests: (page) => [request(page)],

  open(place, page) {
    if (asked?.id !== id(page)) asked = null;
    place.append(h("div", { class: "beside even" },
      h("section", { id: "facts", class: "card" }),
      h("div", { class: "column" },
        h("section", { id: "stack", class: "card" }),
        h("section", { id: "relations", class: "card" }))));
  },

  draw(place, page) {
    const { text } = page;
    const answer = page.answer(request(page));
    const facts = place.querySelector("#facts");
    const title = h("h2", {}, text.task(page.argument));
    for (const other of ["#stack", "#relations"]) place.querySelector(other).hidden = !answer?.row;
    if (!answer) return update(facts, title, h("p", { class: "note" }, text.notAsked));
    if (!answer.row) return update(facts, title, h("p", { class: "note" }, text.taskEnded));
    update(facts, title, factList(answer.row, page));
    drawStack(place.querySelector("#stack"), page);
    drawRelations(place.querySelector("#relations"), page);
  },

  key(event, page) {
    if (event.key === "a") askTask(page);
  },
};

function factList(row, page) {
  const { text } = page;
  const ago = (at) => (at === undefined ? undefined : text.ago(text.us(Math.max(page.snapshot().time - at, 0))));
  const per = (sum, count) => (sum === undefined || !count ? undefined : text.us(sum / count));
  const time = (us) => (us === undefined ? undefined : text.us(us));
  const number = (value) => (value === undefined ? undefined : text.count(value));
  const sections = [
    ["", [
      ["name", row.name && h("strong", {}, row.name)],
      ["site", row.site && h("code", {}, row.site)],
      ["type", row.type && h("code", {}, row.type)],
      ["kind", text.kinds[row.kind]],
      ["state", h("span", { class: `state ${row.state}` }, text.taskStates[row.state] ?? row.state)],
      ["waitsFor", text.wait(row) || undefined],
      ["since", row.state === "waiting" ? time(row.unchanged_us) : undefined],
      ["runtime", row.runtime],
      ["age", time(row.age_us)],
    ]],
    ["pollSection", [
      ["polls", number(row.polls)],
      ["busy", time(row.busy_us)],
      ["meanPoll", per(row.busy_us, row.polls)],
      ["last", time(row.last_poll_us)],
      ["lastAt", ago(row.last_poll_at_us)],
    ]],
    ["wakeSection", [
      ["wakes", number(row.wakes)],
      ["selfWakes", number(row.self_wakes)],
      ["wokenBy", row.woken_by ? taskLink(row.woken_by, text.task(row.woken_by)) : undefined],
      ["meanDelay", per(row.scheduled_us, row.wakes)],
      ["delay", time(row.scheduled_max_us)],
      ["wakers", number(row.wakers)],
      ["joinable", row.joinable === undefined ? undefined : row.joinable ? text.yes : text.no],
    ]],
  ];
  return sections.map(([name, facts]) => {
    const known = facts.filter(([, value]) => value !== undefined && value !== null && value !== "");
    if (known.length === 0) return null;
    return [
      name ? h("h3", {}, text[name]) : null,
      h("dl", { class: "facts" }, known.map(([label, value]) =>
        [h("dt", { title: text.columnsAbout[label] }, text.columns[label]), h("dd", {}, value)])),
    ];
  });
}

function drawStack(place, page) {
  const { text } = page;
  const asks = page.snapshot().summary.asks !== false;
  const button = h("button", { type: "button", id: "ask", "data-key": "ask", disabled: !asks || page.paused !== null, onclick: () => askTask(page) }, text.ask);
  const note = h("p", { class: "note" }, asks ? text.askWhat : text.askForbidden);
  update(place, h("h2", {}, text.stack), asked ? leaves(asked.answer, page) : null, note, button);
}

function leaves(answer, page) {
  const { text } = page;
  if (answer.error) return h("p", {}, answer.error);
  if (!answer.leaves?.length) return h("p", {}, text.noAnswer);
  return answer.leaves.map((leaf) => h("div", { class: "leaf" },
    h("p", {}, h("strong", {}, text.wait(leaf)), leaf.details ? h("span", { class: "note" }, ` ${leaf.details}`) : null),
    h("ol", { class: "stack" }, (leaf.stack ?? []).map((frame) => h("li", {},
      h("code", {}, frame.function),
      frame.file ? h("span", { class: "note" }, ` ${frame.file}${frame.line ? `:${frame.line}` : ""}${frame.column ? `:${frame.column}` : ""}`) : null)))));
}

async function askTask(page) {
  const own = id(page);
  const answers = await page.ask([{ get: "task", task: own, ask: true }]);
  if (!answers) return;
  asked = { id: own, answer: answers[0] };
  page.refresh();
}

/** Shows what the graph knows of the task. */
function drawRelations(place, page) {
  const { text } = page;
  const { nodes = [], edges = [] } = page.snapshot().graph;
  const own = nodes.find((node) => node.id === id(page) && node.key.startsWith("task"));
  const label = (key) => {
    const node = nodes.find((other) => other.key === key);
    if (node?.kind === "thread") return text.kinds.thread;
    return node?.id !== undefined ? taskLink(node.id, text.task(node.id)) : h("a", { href: "#objects" }, text.object(node?.label ?? key));
  };
  const related = own ? edges.filter((edge) => edge.from === own.key || edge.to === own.key) : [];
  place.hidden = related.length === 0;
  update(place, h("h2", {}, text.relations),
    h("ul", { class: "plain" }, related.slice(0, 100).map((edge) =>
      h("li", {}, text.relation(edge.from === own.key, edge.why), " ", label(edge.from === own.key ? edge.to : edge.from)))));
}

// Asks the program once per second, and shows what the address names.

import { dump } from "./dump.js";
import { h, update } from "./dom.js";
import { intervals, workers } from "./figures.js";
import { graph } from "./graph.js";
import { objects } from "./objects.js";
import { overview } from "./overview.js";
import { profile } from "./profile.js";
import { runtimes } from "./runtimes.js";
import { Ended, History, Snapshot, ask, program } from "./source.js";
import { stalls } from "./stalls.js";
import { task } from "./task.js";
import { tasks } from "./tasks.js";
import { languages, preferred } from "./text.js";

const INTERVAL_MS = 1000;
/** A look over a third of a second, which also finds tasks that are polled without end. */
const SLOW_LOOK_EVERY = 15;
/** How long there is no look for hangs after the user has chosen something. */
const CHOOSING_MS = 1500;
const element = (id) => document.getElementById(id);

/** The views, in the order of their tabs. A task has a view, but no tab. */
const VIEWS = { overview, tasks, graph, objects, runtimes, stalls, profile, dump };
const ALL_VIEWS = { ...VIEWS, task };

/** What views use of this module. */
const page = {
  text: null,
  language: null,
  history: new History(),
  /** The snapshots at the time of the pause, and how many seconds before it are shown. */
  paused: null,
  program: {},
  argument: "",
  /** Asks for what the view shows, because the user wants something else to be shown. */
  refresh: () => refresh(),
  goLive: () => goLive(),
  ask: (requests) => asked(requests),
  /** Returns the snapshots until the moment that is shown. */
  shown() {
    const history = page.paused?.history ?? page.history;
    const last = page.snapshot();
    return history.snapshots.filter((snapshot) => snapshot.time <= last.time);
  },
  /** Returns the snapshot of the moment that is shown. */
  snapshot() {
    return page.paused ? page.paused.history.before(page.paused.back) : page.history.last;
  },
  /** Returns the program's answer to a request, at the moment that is shown. */
  answer(request) {
    return page.snapshot()?.answers.get(JSON.stringify(request));
  },
};

let state = "connecting";
let view = null;
let asking = 0;
let looks = 0;
let chosenAt = -CHOOSING_MS;
let spinning = [];

function speak(language) {
  page.language = language;
  page.text = languages[language];
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  const other = element("language");
  [other.textContent, other.lang] = [page.text.other, page.text.otherTag];
  element("back").setAttribute("aria-label", page.text.lookBack);
  element("view").replaceChildren();
  view?.open?.(element("view"), page);
  draw();
}

function open() {
  const [name, ...argument] = location.hash.slice(1).split("/");
  page.argument = decodeURIComponent(argument.join("/"));
  const next = ALL_VIEWS[name] ?? overview;
  document.documentElement.dataset.view = Object.keys(ALL_VIEWS).find((key) => ALL_VIEWS[key] === next);
  view = next;
  element("view").replaceChildren();
  view.open?.(element("view"), page);
  refresh();
}

/** Sends requests, and notes when the program has ended. */
async function asked(requests) {
  try {
    return await ask(requests);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    setState(error.message);
    return null;
  }
}

/** Asks for everything that is shown, once per second. */
async function tick() {
  const begun = performance.now();
  const wanted = page.paused ? [] : view.requests(page);
  const answers = await asked([{ get: "summary" }, { get: "stalls" }, ...wanted]);
  if (!answers) return;
  const [summary, past, ...rest] = answers;
  if (summary.error) throw new Error(summary.error);
  const snapshot = new Snapshot(summary, page.history.last?.graph ?? {}, past);
  wanted.forEach((request, i) => snapshot.answers.set(JSON.stringify(request), rest[i]));
  page.history.add(snapshot);
  setState("live");
  draw();
  // What the user asks for next does not wait for a look for hangs.
  if (performance.now() - chosenAt < CHOOSING_MS) return again(begun);
  const isSlow = looks % SLOW_LOOK_EVERY === 0;
  looks += 1;
  const found = await asked([isSlow ? { get: "graph" } : { get: "graph", quick: true }]);
  if (!found) return;
  snapshot.graph = withSpinning(found[0], isSlow);
  draw();
  again(begun);
}

/** Asks again after a second. In a program with very many tasks, most of the time is left to it. */
function again(begun) {
  const took = performance.now() - begun;
  setTimeout(() => tick().catch(failed), Math.max(INTERVAL_MS - took, 2 * took));
}

/** Keeps what only a slow look finds until the next one. */
function withSpinning(found, isSlow) {
  const verdicts = found.verdicts ?? [];
  if (isSlow) spinning = verdicts.filter((verdict) => verdict.name === "spinning task");
  else found.verdicts = [...verdicts, ...spinning];
  return found;
}

/** Asks for what the view shows now, and adds it to the last snapshot. */
async function refresh() {
  draw();
  const snapshot = page.history.last;
  if (!snapshot || page.paused || state !== "live") return;
  const requests = view.requests(page).filter((request) => page.answer(request) === undefined);
  if (requests.length === 0) return;
  chosenAt = performance.now();
  asking += 1;
  const own = asking;
  const answers = await asked(requests);
  if (!answers) return;
  requests.forEach((request, i) => page.history.last.answers.set(JSON.stringify(request), answers[i]));
  if (own === asking) draw();
}

function failed(error) {
  console.error(error);
  setState("lost");
}

function setState(next) {
  state = next;
  document.documentElement.dataset.state = next;
  drawState();
}

/** Draws the moment that is shown. */
function draw() {
  drawState();
  drawTabs();
  if (!page.history.last) return;
  drawFigures();
  drawVerdicts();
  document.title = page.text.title(page.program.program?.split("/").at(-1) ?? "", verdicts().length);
  view.draw(element("view"), page);
}

function drawState() {
  const text = page.text;
  const place = element("state");
  place.className = page.paused ? "paused" : state;
  place.querySelector("span").textContent = page.paused ? text.paused : text.states[state];
  element("pause").textContent = page.paused ? text.goLive : text.pause;
  for (const id of ["pause", "back"]) element(id).disabled = !page.history.last;
  element("pause").setAttribute("aria-pressed", String(page.paused !== null));
  const { pid, program: path } = page.program;
  element("lead").textContent = pid ? text.lead(pid, path) : "";
  element("back-says").textContent = text.before(page.paused?.back ?? 0);
  element("back").value = String(-(page.paused?.back ?? 0));
}

function drawTabs() {
  const shown = view === task ? tasks : view;
  const count = (name) => {
    if (!page.history.last) return null;
    if (name === "stalls") return page.snapshot().stalls.total || null;
    return null;
  };
  update(element("views"), Object.entries(VIEWS).map(([name, of], i) =>
    h("button", {
      type: "button", role: "tab", "data-key": name, title: `${page.text.views[name]} (${i + 1})`,
      "aria-selected": String(of === shown), tabindex: of === shown ? "0" : "-1",
      "data-view": name,
    }, page.text.views[name], count(name) ? h("span", { class: "count" }, page.text.count(count(name))) : null)));
}

function drawFigures() {
  const { text } = page;
  const shown = page.shown();
  const { summary } = page.snapshot();
  const recent = intervals(shown.slice(-2)).at(-1);
  const all = workers(summary);
  const stuck = all.filter((worker) => worker.state === "stuck").length;
  const busy = all.filter((worker) => worker.state === "running").length;
  const rate = (name) => (recent ? text.count(recent[name]) : "–");
  const sum = (name) => summary.runtimes.reduce((total, runtime) => total + (runtime[name] ?? 0), 0);
  const { waiting, queued, running } = summary.tasks;
  const figures = [
    ["tasks", text.count(waiting + queued + running)],
    ["queued", text.count(queued)],
    ["polls", rate("polls")],
    ["wakes", rate("wakes")],
    ["pollP99", text.us(recent?.pollTimes.p99)],
    ["delayP99", text.us(recent?.delays.p99)],
    ["workers", stuck ? text.stuckOf(stuck, all.length) : text.busyOf(busy, all.length), stuck > 0],
    ["stalls", text.count(sum("stalls"))],
    ["handoffs", text.count(summary.handoffs ?? 0)],
  ];
  update(element("figures"), figures.map(([name, value, alarm]) =>
    h("div", { title: text.about[name] },
      h("dt", {}, text.figures[name]), h("dd", { id: `figure-${name}`, class: alarm ? "alarm" : null }, value))));
}

const verdicts = () => page.snapshot()?.graph.verdicts ?? [];

function drawVerdicts() {
  const { text } = page;
  const place = element("verdicts");
  place.hidden = verdicts().length === 0;
  update(place, h("h2", {}, text.verdicts(verdicts().length)), h("ol", {}, verdicts().map((verdict) =>
    h("li", { class: verdict.certain ? "certain" : "likely" },
      h("strong", {}, text.verdictNames[verdict.name] ?? verdict.name),
      h("span", { class: "sure" }, verdict.certain ? text.certain : text.likely),
      h("p", {}, withLinks(verdict.text))))));
}

/** Makes links of the tasks in a text of the program. */
function withLinks(said) {
  return said.split(/(\btask \d+)/).map((part, i) =>
    i % 2 ? h("a", { href: `#task/${part.slice(5)}` }, part) : part);
}

function pause(back) {
  if (!page.history.last) return;
  page.paused ??= { history: page.history.copy(), back: 0 };
  page.paused.back = back;
  draw();
}

function goLive() {
  page.paused = null;
  refresh();
}

element("pause").addEventListener("click", () => (page.paused ? goLive() : pause(0)));
element("back").addEventListener("input", ({ target }) => pause(-Number(target.value)));
element("language").addEventListener("click", () => {
  speak(page.language === "zh" ? "en" : "zh");
  localStorage.setItem("lang", page.language);
  // Removes the language from the address, which would override the choice.
  history.replaceState(null, "", location.pathname + location.hash);
});

const show = (name) => (location.hash = name);

element("views").addEventListener("click", ({ target }) => {
  const tab = target.closest("[data-view]");
  if (tab) show(tab.dataset.view);
});

element("views").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const names = Object.keys(VIEWS);
  const at = names.indexOf(event.target.dataset.view);
  const next = names[(at + step + names.length) % names.length];
  show(next);
  requestAnimationFrame(() => element("views").querySelector(`[data-view=${next}]`).focus());
});

/** Keys that work everywhere except while text is entered. */
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input[type=search]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const names = Object.keys(VIEWS);
  if (event.key >= "1" && event.key <= String(names.length)) {
    show(names[Number(event.key) - 1]);
  } else if (event.key === "p") {
    element("pause").click();
  } else if (event.key === "/") {
    event.preventDefault();
    if (view !== tasks) show("tasks");
    requestAnimationFrame(() => document.querySelector("input[type=search]")?.focus());
  } else if (event.key === "Escape" && view === task) {
    history.back();
  } else {
    view.key?.(event, page);
  }
});

window.addEventListener("hashchange", open);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
new ResizeObserver(() => page.history.last && draw()).observe(document.body);

page.text = languages[preferred()];
open();
speak(preferred());
page.program = await program().catch(() => ({}));
tick().catch(failed);

// Reads the stream of events and updates the page.

import { Plot, mean } from "/plot.js";
import { languages, preferred, time } from "/text.js";

const FRAMES_KEPT = 320;
const FIGURES_EVERY_MS = 200;
const STALLS_SHOWN = 8;
const element = (id) => document.getElementById(id);
const plot = new Plot(element("plot"));

let language = preferred();
let text = languages[language];
let frames = [];
let actions = [];
let stalls = [];
let state = "connecting";
let figuresDrawn = 0;
let isDrawQueued = false;

function speak(next) {
  language = next;
  text = languages[language];
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = text.title;
  for (const place of document.querySelectorAll("[data-text]")) place.textContent = text[place.dataset.text];
  for (const place of document.querySelectorAll("#figures dt")) {
    place.parentElement.title = text.about[place.dataset.text];
  }
  const other = element("language");
  [other.textContent, other.lang] = [text.other, text.otherTag];
  showResults();
  redraw();
}

element("language").addEventListener("click", () => {
  speak(language === "zh" ? "en" : "zh");
  localStorage.setItem("lang", language);
  // Removes the language from the address, which would override the choice.
  history.replaceState(null, "", location.pathname);
});

/** Draws once per frame of the screen, for all events since the last one. */
function redraw() {
  if (isDrawQueued) return;
  isDrawQueued = true;
  requestAnimationFrame((now) => {
    isDrawQueued = false;
    plot.draw({ frames, actions, text });
    if (now - figuresDrawn >= FIGURES_EVERY_MS || figuresDrawn === 0) {
      figuresDrawn = now;
      showFigures();
      showStalls();
    }
  });
}

function showFigures() {
  const last = frames.at(-1);
  const status = element("state");
  status.classList.toggle("live", state === "live");
  const since = last ? Math.floor(last.at / 1000) : 0;
  const said = state === "live" ? text.live(text.count(since)) : text[state];
  status.querySelector("span").textContent = said;
  element("block-note").textContent = last?.handoff === false ? text.blockNoteOff : text.blockNote;
  if (!last) return;
  element("lead").textContent = text.lead(last.workers.length);
  const second = frames.slice(-10);
  const show = (id, value) => (element(id).textContent = text.count(value));
  for (const rate of ["polls", "wakes", "steals"]) show(rate, mean(second.map((frame) => frame[rate])));
  show("requests", mean(second.map((frame) => frame.requests.rate)));
  show("tasks", last.tasks);
  show("timers", last.timers);
  show("queued", last.workers.reduce((sum, worker) => sum + worker.queue, last.queue));
  show("stalls", last.stalls);
  show("handoffs", last.handoffs);
  element("stalls").classList.toggle("alarm", last.held > 0);
}

function showStalls() {
  const last = frames.at(-1);
  const now = last?.at ?? 0;
  // The end of some stalls is not reported, such as that of a callback. They end at the latest when no
  // worker or thread is blocked.
  const isGoingOn = last && (last.held > 0 || last.workers.some((worker) => worker.stuck));
  const rows = stalls.slice(0, STALLS_SHOWN).map((stall) => {
    const row = document.createElement("tr");
    const cell = (content, kind) => {
      const cell = row.insertCell();
      cell.textContent = content;
      if (kind) cell.className = kind;
      return cell;
    };
    cell(text.ago(Math.max(0, Math.round((now - stall.at) / 1000))));
    cell(stall.task ?? "–", "aside");
    const site = document.createElement("code");
    site.textContent = stall.site.replace(/:\d+$/, "");
    cell("").append(site);
    const lasts = !stall.over && isGoingOn;
    const held = lasts ? Math.max(stall.ms, now - stall.at) : stall.ms;
    cell(stall.over ? time(held) : text.going(time(held)), lasts ? "number going" : "number");
    cell(stall.thread.match(/^thread (\d+)/)?.[1] ?? "–", "aside");
    cell(doing(stall.thread));
    cell(text[stall.outcome]);
    return row;
  });
  document.querySelector("#stall-list tbody").replaceChildren(...rows);
  document.querySelector("#stall-list table").hidden = rows.length === 0;
  element("no-stalls").hidden = rows.length > 0;
}

/** Parses the runtime's report of a thread: `thread 4711, in system call 230, …`, with the call's name in backquotes. */
function doing(said) {
  const call = said.match(/`(.+)`/)?.[1] ?? said.match(/system call (\d+)/)?.[1];
  return call ? text.inCall(call) : text.running;
}

function showResults() {
  for (const place of document.querySelectorAll("[data-result]")) {
    const kind = place.dataset.result;
    const action = actions.findLast((action) => action.kind === kind);
    if (!action) {
      place.textContent = kind === "block" ? text.blockHint : "";
      continue;
    }
    const isOver = action.until !== null;
    place.dataset.number = action.number;
    place.dataset.over = isOver;
    const is = action.outcome;
    if (!isOver) {
      place.textContent = kind === "block" ? text.blockGoing(action.count) : text[`${kind}Going`];
    } else if (kind === "tasks") {
      place.textContent = text.tasksDone(time(is.spawned), time(is.ended));
    } else if (kind === "timers") {
      place.textContent = text.timersDone(time(is.p99), time(is.max));
    } else {
      [place.dataset.answered, place.dataset.p99] = [is.answered, is.p99];
      place.textContent = text.meanwhile(text.count(is.answered), time(is.p99), time(is.max));
    }
  }
}

for (const button of document.querySelectorAll("[data-post]")) {
  button.addEventListener("click", async () => {
    const answer = await fetch(button.dataset.post, { method: "POST" }).catch(() => null);
    if (answer?.status === 429) {
      const kind = button.dataset.post.split("/")[1];
      document.querySelector(`[data-result=${kind}]`).textContent = text.refused;
    }
  });
}

for (const choice of document.querySelectorAll("#load input")) {
  choice.addEventListener("change", () => fetch(`/load/${choice.value}`, { method: "POST" }).catch(() => null));
}

async function showLoad() {
  const answer = await fetch("/load").catch(() => null);
  const connections = await answer?.text();
  for (const choice of document.querySelectorAll("#load input")) choice.checked = choice.value === connections;
}

function listen() {
  const events = new EventSource("/events");
  events.addEventListener("open", () => {
    // The stream starts with the last half minute again, possibly that of a new service.
    [frames, actions, stalls] = [[], [], []];
    setState("live");
    showLoad();
  });
  events.addEventListener("error", () => setState("lost"));
  events.addEventListener("frame", ({ data }) => {
    frames.push(JSON.parse(data));
    if (frames.length > FRAMES_KEPT) frames.shift();
    redraw();
  });
  events.addEventListener("actions", ({ data }) => {
    actions = JSON.parse(data);
    showResults();
    redraw();
  });
  events.addEventListener("stalls", ({ data }) => {
    stalls = JSON.parse(data);
    redraw();
  });
}

function setState(next) {
  state = next;
  document.documentElement.dataset.state = next;
  figuresDrawn = 0;
  redraw();
}

function readColours() {
  plot.readColours();
  redraw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
new ResizeObserver(redraw).observe(element("stage"));
readColours();
speak(language);
listen();

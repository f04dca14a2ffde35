// Each runtime: its workers, its blocking pool, its timers and descriptors.

import { h, table, taskLink, update } from "./dom.js";
import { intervals } from "./figures.js";

const TIMERS = { get: "tasks", wait: "time", sort: "deadline_us", limit: 10 };
const JOBS = { get: "tasks", kind: "blocking_job", sort: "unchanged_us", descending: true, limit: 20 };

export const runtimes = {
  requests: () => [TIMERS, JOBS],

  draw(place, page) {
    const recent = intervals(page.shown().slice(-2)).at(-1);
    update(place,
      page.snapshot().summary.runtimes.map((runtime) => card(runtime, recent, page)),
      h("div", { class: "beside even" }, jobs(page), timers(page)));
  },
};

function card(runtime, recent, page) {
  const { text } = page;
  const figures = [
    ["tasks", runtime.tasks], ["queued", runtime.queued], ["spawned", runtime.spawned],
    ["remote", runtime.remote_schedules], ["timersArmed", runtime.timers], ["descriptors", runtime.descriptors],
    ["ioEvents", runtime.io_events], ["stalls", runtime.stalls], ["handoffs", runtime.handoffs],
  ].filter(([, value]) => value !== undefined);
  return h("section", { class: "card" },
    h("h2", {}, text.runtime(runtime.id, runtime.name),
      h("span", { class: "sure" }, text.flavors[runtime.flavor] ?? runtime.flavor),
      runtime.is_driven === false ? h("span", { class: "sure alarm" }, text.notDriven) : null),
    h("dl", { class: "row" }, figures.map(([name, value]) =>
      h("div", {}, h("dt", {}, text.figures[name] ?? text.columns[name]), h("dd", {}, text.count(value))))),
    runtime.blocking ? pool(runtime.blocking, text) : null,
    runtime.workers?.length ? workerTable(runtime, recent, page) : null);
}

function pool({ threads, busy, queued, max }, text) {
  return h("p", { class: "pool" },
    h("span", {}, text.pool), h("meter", { min: 0, max: Math.max(max, 1), value: busy, high: max * 0.9, "aria-label": text.pool }),
    h("span", { class: queued ? "alarm" : "note" }, text.poolOf(busy, threads, max, queued)));
}

function workerTable(runtime, recent, page) {
  const { text } = page;
  const { columns } = text;
  return table(
    [[columns.worker, "number"], columns.state, [columns.busyShare, "number"], [columns.pollRate, "number"],
      [columns.meanPoll, "number"], [columns.parkRate, "number"], [columns.stealRate, "number"],
      [columns.queue, "number"], [columns.overflows, "number"], columns.inTask],
    runtime.workers.map((worker) => {
      const now = recent?.workers.find((other) => other.key === `${runtime.id}/${worker.index}`);
      const isStuck = worker.state === "stuck";
      return [
        [String(worker.index), "number"],
        h("span", { class: `state ${isStuck ? "stuck" : worker.state}` }, text.workerStates[worker.state] ?? worker.state),
        [now ? text.percent(now.busyShare) : "–", "number"],
        [now ? text.count(now.pollRate) : "–", "number"],
        [text.us(worker.mean_poll_ns === undefined ? undefined : worker.mean_poll_ns / 1000), "number"],
        [now ? text.count(now.parkRate) : "–", "number"],
        [now ? text.count(now.stealRate) : "–", "number"],
        [text.number(worker.queue), "number"],
        [text.number(worker.overflows), "number"],
        isStuck ? h("span", {}, worker.task ? taskLink(worker.task) : "–", h("span", { class: "alarm" }, ` ${text.forTime(text.us(worker.stuck_us))}`)) : "",
      ];
    }));
}

function jobs(page) {
  const { text } = page;
  const { columns } = text;
  const answer = page.answer(JOBS);
  const rows = (answer?.rows ?? []).filter((row) => row.kind === "blocking_job");
  return h("section", { class: "card" }, h("h2", {}, text.jobs),
    rows.length === 0 ? h("p", { class: "note" }, answer ? text.noJobs : text.notAsked) : table(
      [[columns.id, "number"], columns.site, columns.state, [columns.since, "number"]],
      rows.map((row) => [
        [taskLink(row.id), "number"], [h("code", { title: row.type }, row.site ?? "–"), "site"],
        text.taskStates[row.state] ?? row.state, [text.us(row.unchanged_us), "number"],
      ])));
}

function timers(page) {
  const { text } = page;
  const { columns } = text;
  const answer = page.answer(TIMERS);
  const rows = (answer?.rows ?? []).filter((row) => row.wait === "time");
  const now = page.snapshot().time;
  return h("section", { class: "card" }, h("h2", {}, text.timers),
    rows.length === 0 ? h("p", { class: "note" }, answer ? text.noTimers : text.notAsked) : table(
      [[columns.id, "number"], columns.site, [columns.due, "number"]],
      rows.map((row) => [
        [taskLink(row.id), "number"], [h("code", { title: row.type }, row.site ?? "–"), "site"],
        [row.deadline_us === undefined ? "–" : row.deadline_us <= now ? text.dueNow : text.us(row.deadline_us - now), "number"],
      ])));
}

// The moving plot: latencies, ticks, workers and blocked threads on one time axis.

import { time } from "/text.js";

const PLOT_HEIGHT = 204;
const TICKS_HEIGHT = 72;
const TITLE_HEIGHT = 22;
const GAP = 14;
const AXIS_HEIGHT = 20;
// The maximum number of action labels below each other. More would leave no space for the latencies.
const LABEL_ROWS = 3;
// From 30 µs to 3 s, as powers of ten of milliseconds.
const LOG_FROM = Math.log10(0.03);
const LOG_TO = Math.log10(3000);

export class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.colours = {};
  }

  /** Reads the colours of the style sheet. Called when the colour scheme may have changed. */
  readColours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["card", "ink", "dim", "line", "lane", "half", "most", "max", "busy", "held", "band", "compute"];
    for (const name of names) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    this.font = style.getPropertyValue("--font");
  }

  draw({ frames, actions, text }) {
    const last = frames.at(-1);
    if (!last) return;
    const workers = last.workers.length;
    const lane = Math.max(7, Math.min(24, Math.floor(150 / workers)));
    const tops = this.layOut(workers, lane);
    this.fit(tops.end);
    const c = this.context;
    c.clearRect(0, 0, this.width, tops.end);
    const span = this.plotWidth / this.seconds / 1000;
    this.x = (at) => this.right - (last.at - at) * span;
    const shown = frames.filter((frame) => this.x(frame.at) >= this.left - 8);

    this.laneGrounds(workers, lane, tops);
    this.bands(actions, last.at, tops);
    const recent = shown.slice(-10);
    const rate = mean(recent.map((frame) => frame.requests.rate));
    const about = rate > 0 ? text.latencyOf(text.count(rate)) : text.noLoad;
    this.title(text.latency, about, tops.latency);
    this.times(shown, "requests", tops.latency + TITLE_HEIGHT, PLOT_HEIGHT, text, [0.1, 1, 10, 100, 1000]);
    this.title(text.ticks, text.ticksOf, tops.ticks);
    this.times(shown, "ticks", tops.ticks + TITLE_HEIGHT, TICKS_HEIGHT, text, [0.1, 10, 1000]);
    this.title(text.workers, text.workersOf, tops.workers);
    this.lanes(shown, workers, lane, tops.workers + TITLE_HEIGHT, text);
    this.heldLane(shown, workers, lane, tops.held, text);
    this.axis(tops.axis, text);
    this.labels(actions, tops, text);
    const p50 = time(median(recent.map((frame) => frame.requests.p50)));
    const p99 = time(largest(recent.map((frame) => frame.requests.p99)));
    this.canvas.setAttribute("aria-label", text.plotLabel(p50, p99));
  }

  layOut(workers, lane) {
    const latency = 0;
    const ticks = latency + TITLE_HEIGHT + PLOT_HEIGHT + GAP;
    const lanes = ticks + TITLE_HEIGHT + TICKS_HEIGHT + GAP;
    const held = lanes + TITLE_HEIGHT + workers * (lane + 3) + 5;
    const axis = held + Math.max(lane, 16) + 4;
    return { latency, ticks, workers: lanes, held, axis, end: axis + AXIS_HEIGHT };
  }

  /** Resizes the canvas to its size on the screen, in device pixels. */
  fit(height) {
    const scale = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const [pixels, lines] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.canvas.width !== pixels || this.canvas.height !== lines) {
      this.canvas.width = pixels;
      this.canvas.height = lines;
      this.canvas.style.height = `${height}px`;
    }
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    const narrow = width < 620;
    this.width = width;
    this.left = narrow ? 62 : 84;
    this.right = width - (narrow ? 108 : 146);
    this.narrow = narrow;
    this.plotWidth = this.right - this.left;
    this.seconds = narrow ? 15 : 30;
  }

  setFont({ size = 12, weight = 400 }) {
    this.context.font = `${weight} ${size}px ${this.font}`;
  }

  measure(string, style) {
    this.setFont(style);
    return this.context.measureText(string).width;
  }

  /** Draws a text, vertically centred at `y`. A halo keeps it readable on top of lines. */
  write(string, x, y, style = {}) {
    const c = this.context;
    this.setFont(style);
    c.textAlign = style.align ?? "left";
    c.textBaseline = "middle";
    if (style.halo) {
      c.strokeStyle = this.colours.card;
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.strokeText(string, x, y);
    }
    c.fillStyle = this.colours[style.colour ?? "dim"];
    c.fillText(string, x, y);
  }

  title(string, about, top) {
    const style = { colour: "ink", size: 13, weight: 600 };
    this.write(string, 14, top + 8, style);
    if (!this.narrow) this.write(about, 14 + this.measure(string, style) + 10, top + 8);
  }

  laneGrounds(workers, lane, tops) {
    this.context.fillStyle = this.colours.lane;
    for (let worker = 0; worker < workers; worker++) {
      this.context.fillRect(this.left, tops.workers + TITLE_HEIGHT + worker * (lane + 3), this.plotWidth, lane);
    }
    this.context.fillRect(this.left, tops.held, this.plotWidth, Math.max(lane, 16));
  }

  /** Draws the actions over the whole height: a band while an action lasts, or a line where it began. */
  bands(actions, now, tops) {
    const c = this.context;
    // Leaves out the titles.
    const parts = [
      [tops.latency + TITLE_HEIGHT, tops.ticks - GAP],
      [tops.ticks + TITLE_HEIGHT, tops.workers - GAP],
      [tops.workers + TITLE_HEIGHT, tops.axis - 4],
    ];
    for (const action of actions) {
      const [from, until] = [this.x(action.from), this.x(action.until ?? now)];
      if (until < this.left) continue;
      const begin = Math.max(from, this.left);
      const holds = action.kind === "block" || action.kind === "compute";
      if (holds) {
        c.fillStyle = this.colours[action.kind === "block" ? "band" : "compute"];
        for (const [top, bottom] of parts) c.fillRect(begin, top, Math.max(until - begin, 1), bottom - top);
      }
      if (from < this.left) continue;
      c.strokeStyle = this.colours[action.kind === "block" ? "held" : "max"];
      c.lineWidth = 1;
      c.setLineDash(holds ? [] : [2, 3]);
      const x = Math.round(from) + 0.5;
      for (const [top, bottom] of parts) this.line(x, top, x, bottom);
      c.setLineDash([]);
    }
  }

  /** Draws the names of the actions at their beginning, below each other where they would overlap. */
  labels(actions, tops, text) {
    const rows = [];
    for (const action of actions) {
      const from = this.x(action.from);
      if (from < this.left) continue;
      const label = {
        block: text.markBlock(action.count),
        compute: text.markCompute,
        tasks: text.markTasks,
        timers: text.markTimers,
      }[action.kind];
      const style = { colour: action.kind === "block" ? "held" : "dim", weight: 550, halo: true };
      const width = this.measure(label, style);
      const fits = from + 5 + width <= this.right;
      const begin = fits ? from + 5 : from - 5 - width;
      let row = rows.findIndex((end) => end <= begin);
      if (row < 0) row = rows.push(0) - 1;
      if (row >= LABEL_ROWS) continue;
      rows[row] = Math.max(from, begin + width) + 8;
      this.write(label, begin, tops.latency + TITLE_HEIGHT + 36 + row * 16, style);
    }
  }

  line(x1, y1, x2, y2) {
    const c = this.context;
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x2, y2);
    c.stroke();
  }

  /** Draws p50, p99 and maximum of `name` on a logarithmic scale. */
  times(frames, name, top, height, text, steps) {
    const c = this.context;
    const y = (ms) => {
      const share = (Math.log10(Math.max(ms, 0.001)) - LOG_FROM) / (LOG_TO - LOG_FROM);
      return top + height * (1 - Math.min(Math.max(share, 0), 1));
    };
    c.lineWidth = 1;
    for (const step of steps) {
      const at = Math.round(y(step)) + 0.5;
      c.strokeStyle = this.colours.line;
      c.setLineDash(step === 1000 ? [4, 4] : []);
      if (step === 1000) c.strokeStyle = this.colours.held;
      this.line(this.left, at, this.right, at);
      this.write(step >= 1000 ? "1 s" : `${step} ms`, this.left - 8, at, { align: "right" });
    }
    c.setLineDash([]);
    if (name === "requests") {
      this.write(text.blockLength, this.left + 6, y(1000) - 9, { colour: "held", size: 11.5 });
    }
    c.save();
    c.beginPath();
    c.rect(this.left, top - 2, this.plotWidth, height + 4);
    c.clip();
    this.between(frames, (frame) => frame[name].p50, (frame) => frame[name].max, y);
    const lines = [["max", "max", 1], ["p99", "most", 1.75], ["p50", "half", 1.75]];
    for (const [of, colour, width] of lines) {
      c.strokeStyle = this.colours[colour];
      c.lineWidth = width;
      this.path(frames, (frame) => frame[name][of], y);
    }
    c.restore();
    const recent = frames.slice(-10).map((frame) => frame[name]);
    const labels = [
      ["max", largest(recent.map((r) => r.max))],
      ["most", largest(recent.map((r) => r.p99))],
      ["half", median(recent.map((r) => r.p50))],
    ].filter(([, value]) => value !== null);
    this.valueLabels(labels, y, top, top + height, text);
  }

  /** Fills the area between two series faintly. */
  between(frames, low, high, y) {
    const c = this.context;
    const known = frames.filter((frame) => low(frame) !== null);
    if (known.length < 2) return;
    c.save();
    c.globalAlpha = 0.1;
    c.fillStyle = this.colours.half;
    c.beginPath();
    known.forEach((frame) => c.lineTo(this.x(frame.at), y(high(frame))));
    known.reverse().forEach((frame) => c.lineTo(this.x(frame.at), y(low(frame))));
    c.fill();
    c.restore();
  }

  path(frames, of, y) {
    const c = this.context;
    c.lineJoin = "round";
    c.beginPath();
    let isDown = false;
    for (const frame of frames) {
      const value = of(frame);
      if (value === null) {
        isDown = false;
      } else if (isDown) {
        c.lineTo(this.x(frame.at), y(value));
      } else {
        c.moveTo(this.x(frame.at), y(value));
        isDown = true;
      }
    }
    c.stroke();
  }

  /** Draws the last second's values at the right, next to their lines, without overlaps. */
  valueLabels(labels, y, top, bottom, text) {
    const room = 16;
    const places = labels.map(([, value]) => y(value));
    for (let i = places.length - 2; i >= 0; i--) places[i] = Math.min(places[i], places[i + 1] - room);
    const low = top + 6;
    for (let i = 0; i < places.length; i++) places[i] = Math.max(places[i], low + i * room);
    labels.forEach(([colour, value], i) => {
      const at = Math.min(places[i], bottom - (labels.length - 1 - i) * room);
      this.write(text[colour], this.right + 10, at, { colour });
      const right = this.width - 14;
      this.write(time(value), right, at, { colour, weight: 600, align: "right" });
    });
  }

  lanes(frames, workers, lane, top, text) {
    const c = this.context;
    const last = frames.at(-1);
    for (let worker = 0; worker < workers; worker++) {
      const y = top + worker * (lane + 3);
      let thread = null;
      for (let i = 1; i < frames.length; i++) {
        const of = frames[i].workers[worker];
        const [begin, end] = [Math.max(this.x(frames[i - 1].at), this.left), this.x(frames[i].at)];
        if (end <= begin) continue;
        const height = of.busy * lane;
        c.fillStyle = this.colours[of.stuck ? "held" : "busy"];
        this.bar(begin, end, y + lane, height);
        if (thread !== null && of.thread !== thread) {
          const x = (begin + end) / 2;
          c.fillStyle = this.colours.held;
          c.fillRect(x - 1, y, 2, lane);
          if (lane > 14) this.disc(x, y + 4).fill();
        }
        thread = of.thread;
      }
      const middle = y + lane / 2;
      if (lane < 11) {
        // If lanes are low, only every second or third one has a name.
        const every = Math.ceil(14 / (lane + 3));
        if (worker % every === 0) this.write(text.worker(worker), this.left - 8, middle, { size: 11, align: "right" });
        continue;
      }
      const name = this.narrow ? String(worker) : text.worker(worker);
      this.write(name, this.left - 8, middle, { align: "right" });
      const of = last.workers[worker];
      c.fillStyle = c.strokeStyle = this.colours[of.stuck ? "held" : "busy"];
      c.lineWidth = 1.25;
      if (of.asleep) this.disc(19, middle).stroke();
      else this.disc(19, middle).fill();
      const busy = mean(frames.slice(-10).map((frame) => frame.workers[worker].busy));
      const share = `${Math.round(busy * 100)} %`;
      if (this.narrow) {
        this.write(share, this.width - 14, middle, { colour: "busy", weight: 600, align: "right" });
      } else {
        this.write(share, this.right + 46, middle, { colour: "busy", weight: 600, align: "right" });
        this.write(text.thread(of.thread ?? "–"), this.width - 14, middle, { align: "right" });
      }
    }
  }

  /** Fills whole pixels, so that neighbours of one colour leave no gap. */
  bar(begin, end, bottom, height) {
    const left = Math.floor(begin);
    this.context.fillRect(left, bottom - height, Math.ceil(end) - left, height);
  }

  disc(x, y) {
    this.context.beginPath();
    this.context.arc(x, y, 3.5, 0, 2 * Math.PI);
    return this.context;
  }

  /** Draws the number of blocked threads: those whose worker was taken over, and those whose worker is not needed. */
  heldLane(frames, workers, lane, top, text) {
    const c = this.context;
    const height = Math.max(lane, 16);
    const blocked = (frame) => frame.held + frame.workers.filter((worker) => worker.stuck).length;
    const most = Math.max(workers, ...frames.map(blocked));
    c.fillStyle = this.colours.held;
    for (const frame of frames) {
      // A value measured at one moment is drawn half a frame before and after it.
      const begin = Math.max(this.x(frame.at - 50), this.left);
      const end = Math.min(this.x(frame.at + 50), this.right);
      const part = (blocked(frame) / most) * height;
      if (end > begin) this.bar(begin, end, top + height, part);
    }
    const held = blocked(frames.at(-1));
    const colour = held > 0 ? "held" : "dim";
    this.write(text.held, this.left - 8, top + height / 2, { align: "right", colour });
    this.write(text.heldThreads(held), this.width - 14, top + height / 2, { align: "right", colour, weight: held ? 600 : 400 });
  }

  axis(top, text) {
    const step = this.narrow ? this.seconds : 10;
    for (let s = 0; s <= this.seconds; s += step) {
      const x = this.right - (s / this.seconds) * this.plotWidth;
      const align = s === this.seconds ? "left" : s === 0 ? "right" : "center";
      this.write(s === 0 ? text.now : text.before(s), x, top + 11, { align, size: 11.5 });
    }
  }
}

export function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0;
}

function known(values) {
  return values.filter((value) => value !== null);
}

function largest(values) {
  const some = known(values);
  return some.length ? Math.max(...some) : null;
}

function median(values) {
  const some = known(values).sort((a, b) => a - b);
  return some.length ? some[Math.floor(some.length / 2)] : null;
}

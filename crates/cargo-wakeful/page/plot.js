// Plots over the last minute on one time axis: panels of lines, and lanes of workers.

const SECONDS = 60;
const TITLE_HEIGHT = 27;
const GAP = 15;
const AXIS_HEIGHT = 20;
const PANEL_HEIGHT = 92;
const MARKS_HEIGHT = 18;

const COLOURS = ["card", "ink", "dim", "line", "lane", "half", "most", "max", "busy", "held", "band", "compute"];

export class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.colours = {};
  }

  /** Draws the intervals. `now` is the time at the right edge. */
  draw({ frames, now, text }) {
    this.readColours();
    const workers = frames.at(-1)?.workers ?? [];
    const lane = Math.max(7, Math.min(22, Math.floor(220 / Math.max(workers.length, 1))));
    const lanesHeight = Math.max(workers.length, 1) * (lane + 3);
    const tops = {};
    let top = 0;
    for (const name of ["rates", "polls", "delays"]) {
      tops[name] = top;
      top += TITLE_HEIGHT + PANEL_HEIGHT + GAP;
    }
    tops.lanes = top;
    tops.marks = top + TITLE_HEIGHT + lanesHeight + 5;
    tops.axis = tops.marks + MARKS_HEIGHT + 4;
    this.fit(tops.axis + AXIS_HEIGHT);
    this.context.clearRect(0, 0, this.width, tops.axis + AXIS_HEIGHT);
    const span = this.plotWidth / SECONDS / 1e6;
    this.x = (at) => this.right - (now - at) * span;

    this.rates(frames, tops.rates, text);
    this.latencies(frames, "pollTimes", tops.polls, text.pollTimes, text.pollTimesOf, text);
    this.latencies(frames, "delays", tops.delays, text.delays, text.delaysOf, text);
    this.title(text.workers, text.workersOf, tops.lanes);
    this.lanes(frames, workers, lane, tops.lanes + TITLE_HEIGHT, text);
    this.marks(frames, tops.marks, text);
    this.axis(tops.axis, text);
    const last = frames.at(-1);
    this.canvas.setAttribute("aria-label", text.plotLabel(
      text.count(last?.polls ?? 0), text.us(last?.pollTimes.p99), text.us(last?.delays.p99)));
  }

  /** Reads the colours of the style sheet, which depend on the colour scheme. */
  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of COLOURS) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    this.font = style.getPropertyValue("--font");
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
    this.width = width;
    this.narrow = width < 560;
    this.left = this.narrow ? 58 : 84;
    this.right = width - (this.narrow ? 96 : 132);
    this.plotWidth = this.right - this.left;
  }

  setFont({ size = 12, weight = 400 }) {
    this.context.font = `${weight} ${size}px ${this.font}`;
  }

  /** Draws a text, vertically centred at `y`. */
  write(string, x, y, style = {}) {
    const c = this.context;
    this.setFont(style);
    c.textAlign = style.align ?? "left";
    c.textBaseline = "middle";
    c.fillStyle = this.colours[style.colour ?? "dim"];
    c.fillText(string, x, y);
  }

  title(string, about, top) {
    const style = { colour: "ink", size: 13, weight: 600 };
    this.write(string, 14, top + 8, style);
    if (this.narrow) return;
    this.setFont(style);
    const begin = 14 + this.context.measureText(string).width + 10;
    this.write(about, begin, top + 8);
  }

  line(x1, y1, x2, y2) {
    const c = this.context;
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x2, y2);
    c.stroke();
  }

  /** Draws polls and wake-ups per second on a linear scale. */
  rates(frames, top, text) {
    this.title(text.rates, text.ratesOf, top);
    const begin = top + TITLE_HEIGHT;
    const most = niceMax(Math.max(1, ...frames.map((frame) => Math.max(frame.polls, frame.wakes))));
    const y = (value) => begin + PANEL_HEIGHT * (1 - value / most);
    this.grid([0, most / 2, most], y, (value) => text.short(value));
    this.series(frames, (frame) => frame.wakes, y, begin, "most");
    this.series(frames, (frame) => frame.polls, y, begin, "half");
    const last = frames.at(-1);
    if (!last) return;
    this.labels([
      ["most", text.wakesShort, text.short(last.wakes), y(last.wakes)],
      ["half", text.pollsShort, text.short(last.polls), y(last.polls)],
    ], begin);
  }

  /** Draws p50 and p99 on a logarithmic scale, which shows what occurs. */
  latencies(frames, name, top, title, about, text) {
    this.title(title, about, top);
    const begin = top + TITLE_HEIGHT;
    const values = frames.flatMap((frame) => [frame[name].p50, frame[name].p99]).filter((value) => value > 0);
    const low = Math.floor(Math.log10(Math.max(Math.min(...values, 10), 0.1)));
    const high = Math.max(Math.ceil(Math.log10(Math.max(...values, 1000))), low + 2);
    const y = (us) => {
      const share = (Math.log10(Math.max(us, 0.01)) - low) / (high - low);
      return begin + PANEL_HEIGHT * (1 - Math.min(Math.max(share, 0), 1));
    };
    const every = Math.ceil((high - low) / 3);
    const steps = [];
    for (let power = low; power <= high; power += every) steps.push(10 ** power);
    this.grid(steps, y, (us) => text.us(us));
    this.between(frames, (frame) => frame[name].p50, (frame) => frame[name].p99, y);
    this.series(frames, (frame) => frame[name].p99, y, begin, "most");
    this.series(frames, (frame) => frame[name].p50, y, begin, "half");
    const last = frames.at(-1)?.[name];
    if (last?.p50 === null || last === undefined) {
      this.write(text.noFigures, this.right + 10, begin + PANEL_HEIGHT / 2);
      return;
    }
    this.labels([
      ["most", "p99", text.us(last.p99), y(last.p99)],
      ["half", "p50", text.us(last.p50), y(last.p50)],
    ], begin);
  }

  grid(steps, y, format) {
    const c = this.context;
    c.lineWidth = 1;
    c.strokeStyle = this.colours.line;
    for (const step of steps) {
      const at = Math.round(y(step)) + 0.5;
      this.line(this.left, at, this.right, at);
      this.write(format(step), this.left - 8, at, { align: "right", size: 11.5 });
    }
  }

  series(frames, of, y, top, colour) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(this.left, top - 2, this.plotWidth, PANEL_HEIGHT + 4);
    c.clip();
    c.strokeStyle = this.colours[colour];
    c.lineWidth = 1.75;
    c.lineJoin = "round";
    c.beginPath();
    let isDown = false;
    for (const frame of frames) {
      const value = of(frame);
      if (value === null) isDown = false;
      else if (isDown) c.lineTo(this.x(frame.at), y(value));
      else c.moveTo(this.x(frame.at), y(value));
      if (value !== null) isDown = true;
    }
    c.stroke();
    c.restore();
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
    known.forEach((frame) => c.lineTo(Math.max(this.x(frame.at), this.left), y(high(frame))));
    known.reverse().forEach((frame) => c.lineTo(Math.max(this.x(frame.at), this.left), y(low(frame))));
    c.fill();
    c.restore();
  }

  /** Draws the last values at the right, next to their lines, without overlaps. */
  labels(labels, top) {
    const room = 16;
    const sorted = [...labels].sort((a, b) => a[3] - b[3]);
    let free = top + 6;
    sorted.forEach(([colour, name, value, place], i) => {
      const at = Math.min(Math.max(place, free), top + PANEL_HEIGHT - (sorted.length - 1 - i) * room);
      free = at + room;
      this.write(name, this.right + 10, at, { colour });
      this.write(value, this.width - 14, at, { colour, weight: 600, align: "right" });
    });
  }

  /** Draws for each worker which share of the time it polled tasks. */
  lanes(frames, workers, lane, top, text) {
    const c = this.context;
    workers.forEach((worker, i) => {
      const y = top + i * (lane + 3);
      c.fillStyle = this.colours.lane;
      c.fillRect(this.left, y, this.plotWidth, lane);
      for (const frame of frames) {
        const of = frame.workers.find((other) => other.key === worker.key);
        const [begin, end] = [Math.max(this.x(frame.from), this.left), this.x(frame.at)];
        if (!of || end <= begin) continue;
        c.fillStyle = this.colours[of.state === "stuck" ? "held" : "busy"];
        const left = Math.floor(begin);
        c.fillRect(left, y + lane * (1 - of.busyShare), Math.ceil(end) - left, lane * of.busyShare);
      }
      const middle = y + lane / 2;
      const every = lane < 12 ? Math.ceil(14 / (lane + 3)) : 1;
      if (i % every !== 0) return;
      const several = workers.some((other) => other.runtime !== worker.runtime);
      const name = several ? `${worker.runtime}/${worker.index}` : String(worker.index);
      const label = this.narrow || lane < 12 ? name : text.worker(name);
      this.write(label, this.left - 8, middle, { align: "right", size: lane < 12 ? 10.5 : 12 });
      const colour = worker.state === "stuck" ? "held" : "busy";
      this.write(text.percent(worker.busyShare), this.right + 46, middle, { colour, weight: 600, align: "right" });
      if (!this.narrow) {
        this.write(text.workerStates[worker.state] ?? worker.state, this.width - 14, middle, {
          align: "right", colour: worker.state === "stuck" ? "held" : "dim",
        });
      }
    });
    if (workers.length === 0) this.write(text.noWorkers, this.left, top + lane / 2);
  }

  /** Draws stalls as bars, and hand-offs as dots. */
  marks(frames, top, text) {
    const c = this.context;
    c.fillStyle = this.colours.lane;
    c.fillRect(this.left, top, this.plotWidth, MARKS_HEIGHT);
    c.fillStyle = this.colours.held;
    const most = Math.max(1, ...frames.map((frame) => frame.stalls));
    for (const frame of frames) {
      const [begin, end] = [Math.max(this.x(frame.from), this.left), this.x(frame.at)];
      if (end <= begin) continue;
      const height = MARKS_HEIGHT * (frame.stalls / most);
      if (frame.stalls > 0) c.fillRect(begin, top + MARKS_HEIGHT - height, end - begin - 1, height);
    }
    c.fillStyle = this.colours.ink;
    for (const frame of frames.filter((frame) => frame.handoffs > 0)) {
      const x = (this.x(frame.from) + this.x(frame.at)) / 2;
      if (x < this.left) continue;
      c.beginPath();
      c.arc(x, top + MARKS_HEIGHT / 2, 3, 0, 2 * Math.PI);
      c.fill();
    }
    const middle = top + MARKS_HEIGHT / 2;
    const sum = (name) => frames.reduce((total, frame) => total + frame[name], 0);
    const colour = sum("stalls") > 0 ? "held" : "dim";
    this.write(text.stallsShort, this.left - 8, middle, { align: "right", colour });
    this.write(text.handoffsIn(sum("stalls"), sum("handoffs")), this.width - 14, middle, { align: "right", colour });
  }

  axis(top, text) {
    const step = this.narrow ? 30 : 15;
    for (let s = 0; s <= SECONDS; s += step) {
      const x = this.right - (s / SECONDS) * this.plotWidth;
      const align = s === SECONDS ? "left" : s === 0 ? "right" : "center";
      this.write(text.before(s), x, top + 11, { align, size: 11.5 });
    }
  }
}

/** Returns the next number above that is 1, 2 or 5 times a power of ten. */
function niceMax(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= value);
}

// Asks the program, by way of `cargo wakeful console`, and keeps the answers of the last minute.

const KEPT = 61;

/** Thrown when the program has ended, or the console. */
export class Ended extends Error {}

/** Sends requests of the console protocol, and returns the answers. */
export async function ask(requests) {
  let answer;
  try {
    answer = await fetch("ask", { method: "POST", body: JSON.stringify(requests) });
  } catch {
    throw new Ended("lost");
  }
  if (answer.status === 410) throw new Ended("ended");
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

export const program = async () => (await fetch("program")).json();

/** The answers of one moment. Those of a view are kept by the request that they belong to. */
export class Snapshot {
  constructor(summary, graph, stalls) {
    [this.summary, this.graph, this.stalls] = [summary, graph, stalls];
    this.answers = new Map();
  }

  get time() {
    return this.summary.time_us;
  }
}

/** The snapshots of the last minute. */
export class History {
  constructor(snapshots = []) {
    this.snapshots = snapshots;
  }

  add(snapshot) {
    this.snapshots.push(snapshot);
    if (this.snapshots.length > KEPT) this.snapshots.shift();
  }

  get last() {
    return this.snapshots.at(-1);
  }

  copy() {
    return new History([...this.snapshots]);
  }

  /** Returns the latest snapshot that is at least so many seconds older than the last. */
  before(seconds) {
    const until = this.last.time - seconds * 1e6 + 5e5;
    return this.snapshots.findLast((snapshot) => snapshot.time <= until) ?? this.snapshots[0];
  }
}

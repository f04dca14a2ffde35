// What happened between two snapshots.

/** Returns the figures of each interval between snapshots, the oldest first. */
export function intervals(snapshots) {
  return snapshots.slice(1).map((snapshot, i) => interval(snapshots[i].summary, snapshot.summary));
}

function interval(before, after) {
  const seconds = Math.max((after.time_us - before.time_us) / 1e6, 1e-3);
  const difference = (name) => Math.max((after[name] ?? 0) - (before[name] ?? 0), 0);
  const stalls = (summary) => summary.runtimes.reduce((sum, runtime) => sum + (runtime.stalls ?? 0), 0);
  return {
    at: after.time_us,
    from: before.time_us,
    polls: difference("polls") / seconds,
    wakes: difference("wakes") / seconds,
    handoffs: difference("handoffs"),
    stalls: Math.max(stalls(after) - stalls(before), 0),
    pollTimes: quantiles(before.poll_us, after.poll_us),
    delays: quantiles(before.scheduled_us, after.scheduled_us),
    workers: workers(after).map((worker) => {
      const old = workers(before).find((other) => other.key === worker.key) ?? worker;
      const busy = (worker.busy_us - old.busy_us) / seconds / 1e6;
      const rate = (name) => Math.max((worker[name] ?? 0) - (old[name] ?? 0), 0) / seconds;
      return {
        ...worker,
        // A worker that is stuck has not added its poll yet.
        busyShare: worker.state === "stuck" ? 1 : Math.min(Math.max(busy, 0), 1),
        pollRate: rate("polls"),
        parkRate: rate("parks"),
        stealRate: rate("stolen"),
      };
    }),
  };
}

/** Returns the workers of all runtimes. */
export function workers(summary) {
  return summary.runtimes.flatMap((runtime) =>
    (runtime.workers ?? []).map((worker) => ({ ...worker, runtime: runtime.id, key: `${runtime.id}/${worker.index}` })));
}

/** Returns p50, p99 and the greatest value, in microseconds, of what has been added to a histogram. */
export function quantiles(before = [], after = []) {
  const old = new Map(before);
  const buckets = after.map(([bound, count], i) => ({
    low: i > 0 ? after[i - 1][0] : 0,
    bound,
    count: Math.max(count - (old.get(bound) ?? 0), 0),
  })).filter((bucket) => bucket.count > 0);
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  if (total === 0) return { p50: null, p99: null, max: null };
  const at = (share) => {
    let left = share * total;
    for (const { low, bound, count } of buckets) {
      if (left <= count) return low + (bound - low) * (left / count);
      left -= count;
    }
    return buckets.at(-1).bound;
  };
  return { p50: at(0.5), p99: at(0.99), max: buckets.at(-1).bound };
}

export function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0;
}

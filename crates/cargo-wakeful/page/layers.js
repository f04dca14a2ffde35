// Places the nodes of a directed graph in layers, so that most edges go from left to right.

/** The number of times that each layer is put in order by its neighbours. */
const SWEEPS = 6;

/**
 * Returns the strongly connected components that have a cycle, as a map from a node's key to a
 * number. (Tarjan's algorithm, without recursion.)
 */
export function cycles(keys, edges) {
  const out = successors(keys, edges);
  const state = new Map();
  const stack = [];
  const component = new Map();
  let index = 0;
  let components = 0;
  for (const root of keys) {
    if (state.has(root)) continue;
    const work = [[root, 0]];
    while (work.length) {
      const frame = work.at(-1);
      const [key] = frame;
      if (frame[1] === 0) {
        state.set(key, { index, low: index, isOnStack: true });
        index += 1;
        stack.push(key);
      }
      const own = state.get(key);
      const next = out.get(key)[frame[1]];
      frame[1] += 1;
      if (next !== undefined) {
        const other = state.get(next);
        if (!other) work.push([next, 0]);
        else if (other.isOnStack) own.low = Math.min(own.low, other.index);
        continue;
      }
      work.pop();
      const parent = work.at(-1);
      if (parent) state.get(parent[0]).low = Math.min(state.get(parent[0]).low, own.low);
      if (own.low !== own.index) continue;
      const members = stack.splice(stack.lastIndexOf(key));
      for (const member of members) state.get(member).isOnStack = false;
      if (members.length > 1 || out.get(key).includes(key)) {
        members.forEach((member) => component.set(member, components));
        components += 1;
      }
    }
  }
  return component;
}

/** Returns the keys of each connected part, the largest part first. */
export function parts(keys, edges) {
  const out = successors(keys, [...edges, ...edges.map(({ from, to }) => ({ from: to, to: from }))]);
  const seen = new Set();
  const found = [];
  for (const root of keys) {
    if (seen.has(root)) continue;
    seen.add(root);
    const part = [root];
    for (const key of part) {
      for (const next of out.get(key)) {
        if (seen.has(next)) continue;
        seen.add(next);
        part.push(next);
      }
    }
    found.push(part);
  }
  return found.sort((a, b) => b.length - a.length);
}

/** Returns the layers, each a list of keys in order. */
export function layers(keys, edges) {
  const forward = withoutCycles(keys, edges);
  const out = successors(keys, forward);
  const into = successors(keys, forward.map(({ from, to }) => ({ from: to, to: from })));
  const rank = new Map();
  const waiting = new Map(keys.map((key) => [key, into.get(key).length]));
  const ready = keys.filter((key) => waiting.get(key) === 0);
  for (const key of ready) {
    rank.set(key, Math.max(0, ...into.get(key).map((other) => (rank.get(other) ?? 0) + 1)));
    for (const next of out.get(key)) {
      waiting.set(next, waiting.get(next) - 1);
      if (waiting.get(next) === 0) ready.push(next);
    }
  }
  // A node without predecessors belongs next to its first successor.
  for (const key of keys) {
    if (into.get(key).length === 0 && out.get(key).length > 0) {
      rank.set(key, Math.min(...out.get(key).map((other) => rank.get(other))) - 1);
    }
  }
  const placed = [];
  const least = Math.min(0, ...rank.values());
  for (const key of keys) (placed[rank.get(key) - least] ??= []).push(key);
  const found = Array.from(placed, (layer) => layer ?? []).filter((layer) => layer.length);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const order = isForward ? found : [...found].reverse();
    const neighbours = isForward ? into : out;
    const position = new Map(found.flatMap((layer) => layer.map((key, i) => [key, (i + 0.5) / layer.length])));
    for (const layer of order) {
      const centre = new Map(layer.map((key) => {
        const places = neighbours.get(key).map((other) => position.get(other));
        return [key, places.length ? places.reduce((a, b) => a + b) / places.length : position.get(key)];
      }));
      layer.sort((a, b) => centre.get(a) - centre.get(b));
      layer.forEach((key, i) => position.set(key, (i + 0.5) / layer.length));
    }
  }
  return found;
}

function successors(keys, edges) {
  const out = new Map(keys.map((key) => [key, []]));
  for (const { from, to } of edges) if (out.has(from) && out.has(to)) out.get(from).push(to);
  return out;
}

/** Returns the edges without those that close a cycle, found by a search in depth. */
function withoutCycles(keys, edges) {
  const out = successors(keys, edges);
  const state = new Map();
  const back = new Set();
  for (const root of keys) {
    if (state.has(root)) continue;
    state.set(root, "open");
    const work = [[root, 0]];
    while (work.length) {
      const frame = work.at(-1);
      const next = out.get(frame[0])[frame[1]];
      frame[1] += 1;
      if (next === undefined) {
        state.set(frame[0], "done");
        work.pop();
      } else if (state.get(next) === "open") {
        back.add(`${frame[0]}\n${next}`);
      } else if (!state.has(next)) {
        state.set(next, "open");
        work.push([next, 0]);
      }
    }
  }
  return edges.filter(({ from, to }) => from !== to && !back.has(`${from}\n${to}`));
}

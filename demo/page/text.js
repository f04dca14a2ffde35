// The texts of the page, in both languages. A text is a string, or a function of the values in it.

const count = (language) => {
  const plain = new Intl.NumberFormat(language);
  const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 2 });
  return (n) => (n < 1e6 ? plain : short).format(Math.round(n));
};

// Formats a duration with two significant digits or a little more.
export function time(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 0.995) return `${ms.toFixed(2)}\u00a0ms`;
  if (ms < 9.95) return `${ms.toFixed(1)}\u00a0ms`;
  if (ms < 999.5) return `${Math.round(ms)}\u00a0ms`;
  return `${(ms / 1000).toFixed(ms < 9950 ? 2 : 1)}\u00a0s`;
}

const en = {
  count: count("en"),
  other: "中文",
  otherTag: "zh-CN",
  title: "Wakeful at work",
  lead: (workers) =>
    `This page is served by one Wakeful runtime with ${workers === 1 ? "1 worker" : `${workers} workers`}. ` +
    "Block it, and watch the requests.",
  live: (seconds) => `live · up ${seconds} s`,
  connecting: "connecting…",
  lost: "no connection, retrying",

  tasks: "Tasks alive",
  polls: "Polls /s",
  wakes: "Wake-ups /s",
  steals: "Steals /s",
  queued: "In queues",
  timers: "Timers armed",
  requests: "Requests /s",
  stalls: "Stalls",
  handoffs: "Hand-offs",
  about: {
    tasks: "Tasks that have been spawned and have not ended",
    polls: "How often tasks are polled",
    wakes: "How often workers are unparked",
    steals: "Tasks that workers steal from each other’s queues",
    queued: "Ready tasks that wait for a worker",
    timers: "Timers of the ticking tasks, and of the button",
    requests: "GET /hello, over loopback",
    stalls: "Polls that took more than 2 ms",
    handoffs: "How often another thread took over a blocked worker",
  },

  blockTitle: "Block for a second",
  blockWhat: "std::thread::sleep in async tasks",
  blockAll: "All workers",
  blockOne: "One worker",
  blockNote:
    "On Tokio, the tasks of a blocked worker can stall for the whole second. If all workers are blocked, " +
    "everything stalls. Here, other threads take over the workers.",
  blockNoteOff:
    "The hand-off is disabled (--no-handoff): no thread takes over, and if all workers are blocked, everything waits.",
  blockHint: "Press a button, and watch the latency in the red band.",
  blockGoing: (n) => (n === 1 ? "1 worker is blocked…" : `${n} workers are blocked…`),
  meanwhile: (answered, p99, max) =>
    answered === "0" ? "No requests were sent meanwhile: the load is off." :
    `${answered} requests answered meanwhile: p99 ${p99}, max ${max}.`,

  loadTitle: "Load, in connections",
  loadOff: "Off",
  loadNote: "50 requests/s per connection, from another runtime. Latency counts from the time a request is due.",

  moreTitle: "More to try",
  compute: "Compute for 1 s in a task",
  computeGoing: "A task is computing…",
  spawnTasks: "Spawn 100,000 tasks",
  tasksGoing: "The tasks wait for each other…",
  tasksDone: (spawned, ended) => `Spawned in ${spawned}, woken and ended in ${ended}.`,
  armTimers: "Arm 100,000 timers",
  timersGoing: "The timers fire…",
  timersDone: (p99, max) => `Lateness: p99 ${p99}, max ${max}.`,
  refused: "Too many are in progress. Wait until they end.",

  stallTitle: "Last stalls",
  stallWhen: "When",
  stallTask: "Task",
  stallSite: "Spawned at",
  stallHeld: "Blocked for",
  stallThread: "Thread",
  stallDoing: "Found",
  stallRest: "The worker’s other tasks",
  noStalls: "None yet. A poll that takes more than 2 ms is a stall.",
  ago: (s) => (s < 60 ? `${s} s ago` : `${Math.floor(s / 60)} min ago`),
  going: (least) => `over ${least}`,
  inCall: (name) => `in ${name}`,
  running: "computing",
  "handed-off": "handed off to another thread",
  "nothing-waits": "none were queued",
  "no-thread": "blocked: no spare thread",
  waits: "blocked",

  latency: "Request latency",
  latencyOf: (rate) => `${rate} requests/s over loopback, measured by the client`,
  noLoad: "no load",
  ticks: "Lateness of 1 ms ticks",
  ticksOf: "of four tasks on the same runtime",
  half: "p50",
  most: "p99",
  max: "max",
  blockLength: "length of a block",
  workers: "Workers",
  workersOf: "share of time busy; red: stuck; ○ parked ● awake; red mark: taken over by another thread",
  worker: (n) => `worker ${n}`,
  thread: (n) => `thread ${n}`,
  held: "blocked",
  heldThreads: (n) => (n === 1 ? "1 thread" : `${n} threads`),
  now: "now",
  before: (s) => `${s} s ago`,
  markBlock: (n) => (n === 1 ? "1 worker blocked" : `${n} workers blocked`),
  markCompute: "computing",
  markTasks: "100,000 tasks",
  markTimers: "100,000 timers",
  plotLabel: (p50, p99) =>
    `Moving plot of the last half minute. Request latency now: p50 ${p50}, p99 ${p99}.`,
};

const zh = {
  count: count("zh-CN"),
  other: "English",
  otherTag: "en",
  title: "Wakeful 现场",
  lead: (workers) => `这个页面由一个有 ${workers} 个 worker 的 Wakeful 运行时提供。把它阻塞住，看看请求会怎样。`,
  live: (seconds) => `实时 · 已运行 ${seconds} 秒`,
  connecting: "正在连接…",
  lost: "连接断开，正在重试",

  tasks: "存活任务",
  polls: "poll 次数/秒",
  wakes: "唤醒次数/秒",
  steals: "窃取任务/秒",
  queued: "排队中",
  timers: "待触发定时器",
  requests: "请求/秒",
  stalls: "卡顿",
  handoffs: "接管",
  about: {
    tasks: "已创建、尚未结束的任务",
    polls: "任务被 poll 的次数",
    wakes: "worker 从休眠中醒来的次数",
    steals: "worker 从别的队列里取来的任务",
    queued: "已就绪、在等 worker 的任务",
    timers: "tick 任务的定时器，以及用按钮设置的",
    requests: "经回环地址的 GET /hello",
    stalls: "占住线程超过 2 ms 的 poll",
    handoffs: "被阻塞的 worker 由别的线程接管的次数",
  },

  blockTitle: "阻塞一秒",
  blockWhat: "在异步任务里调用 std::thread::sleep",
  blockAll: "全部 worker",
  blockOne: "一个 worker",
  blockNote:
    "在 Tokio 上，被阻塞的 worker 手上的任务可能停顿整整一秒；全部 worker 都被阻塞时，一切都停。在这里，别的线程会接管。",
  blockNoteOff: "接管已关闭（--no-handoff）：没有线程接管，全部 worker 都被阻塞时，一切都得等。",
  blockHint: "按下按钮，看红色区间里的延迟。",
  blockGoing: (n) => `${n} 个 worker 正被阻塞…`,
  meanwhile: (answered, p99, max) =>
    answered === "0" ? "期间没有请求：负载已关闭。" :
    `期间应答了 ${answered} 个请求：p99 ${p99}，最慢 ${max}。`,

  loadTitle: "负载（连接数）",
  loadOff: "关",
  loadNote: "每个连接每秒 50 个请求，来自另一个运行时，从应当发出的时刻起计时。",

  moreTitle: "再试试",
  compute: "在任务里连续计算 1 秒",
  computeGoing: "一个任务正在计算…",
  spawnTasks: "创建 100,000 个任务",
  tasksGoing: "它们在互相等待…",
  tasksDone: (spawned, ended) => `创建用时 ${spawned}；全部唤醒并结束用时 ${ended}。`,
  armTimers: "设置 100,000 个定时器",
  timersGoing: "正在陆续到期…",
  timersDone: (p99, max) => `延迟：p99 ${p99}，最大 ${max}。`,
  refused: "请等刚才的操作结束。",

  stallTitle: "最近的卡顿",
  stallWhen: "时间",
  stallTask: "任务",
  stallSite: "spawn 的位置",
  stallHeld: "占住线程",
  stallThread: "线程",
  stallDoing: "当时",
  stallRest: "该 worker 的其他任务",
  noStalls: "还没有。一次 poll 占住线程超过 2 ms 就算卡顿。",
  ago: (s) => (s < 60 ? `${s} 秒前` : `${Math.floor(s / 60)} 分钟前`),
  going: (least) => `已超过 ${least}`,
  inCall: (name) => `在 ${name} 中`,
  running: "在计算",
  "handed-off": "由别的线程接管",
  "nothing-waits": "没有在等待的",
  "no-thread": "在等待：没有空余线程",
  waits: "在等待",

  latency: "请求延迟",
  latencyOf: (rate) => `每秒 ${rate} 个请求，经回环地址，从客户端看`,
  noLoad: "没有负载",
  ticks: "1 ms tick 的延迟",
  ticksOf: "同一运行时上的四个任务",
  half: "p50",
  most: "p99",
  max: "最大",
  blockLength: "一次阻塞的时长",
  workers: "各 worker",
  workersOf: "忙碌的时间占比，红色：卡住；○ 休眠 ● 清醒；红色标记：由别的线程接管",
  worker: (n) => `worker ${n}`,
  thread: (n) => `线程 ${n}`,
  held: "被阻塞",
  heldThreads: (n) => `${n} 个线程`,
  now: "现在",
  before: (s) => `${s} 秒前`,
  markBlock: (n) => `${n} 个 worker 被阻塞`,
  markCompute: "计算中",
  markTasks: "100,000 个任务",
  markTimers: "100,000 个定时器",
  plotLabel: (p50, p99) => `最近半分钟的动态图。当前请求延迟：p50 ${p50}，p99 ${p99}。`,
};

export const languages = { en, zh };

/** Returns the chosen language, or the browser's. */
export function preferred() {
  const asked = new URLSearchParams(location.search).get("lang") ?? localStorage.getItem("lang");
  const tag = asked ?? navigator.language ?? "en";
  return tag.toLowerCase().startsWith("zh") ? "zh" : "en";
}

// The texts of the page, in both languages. A text is a string, or a function of the values in it.

const numbers = (language) => {
  const plain = new Intl.NumberFormat(language);
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const long = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 2 });
  const count = (n) => (n < 1e6 ? plain : long).format(Math.round(n));
  return {
    count,
    /** A count in little space. */
    short: (n) => short.format(n < 10 ? n : Math.round(n)),
    /** A count that may not be known. */
    number: (n) => (n === undefined || n === null ? "–" : count(n)),
    percent: (share) => `${Math.round(share * 100)}\u00a0%`,
  };
};

/** Formats microseconds with two or three significant digits. */
function us(value) {
  if (value === undefined || value === null) return "–";
  // What comes from the program is whole microseconds.
  if (value === 0) return "<1\u00a0µs";
  if (value < 0.995) return `${Math.round(value * 1000)}\u00a0ns`;
  if (value < 9.95) return `${trim(value.toFixed(1))}\u00a0µs`;
  if (value < 999.5) return `${Math.round(value)}\u00a0µs`;
  if (value < 9950) return `${trim((value / 1e3).toFixed(1))}\u00a0ms`;
  if (value < 999500) return `${Math.round(value / 1e3)}\u00a0ms`;
  if (value < 9.95e6) return `${trim((value / 1e6).toFixed(1))}\u00a0s`;
  const s = Math.round(value / 1e6);
  if (s < 120) return `${s}\u00a0s`;
  if (s < 7200) return `${Math.floor(s / 60)}\u00a0min\u00a0${s % 60}\u00a0s`;
  if (s < 172800) return `${Math.floor(s / 3600)}\u00a0h\u00a0${Math.floor(s / 60) % 60}\u00a0min`;
  return `${Math.floor(s / 86400)}\u00a0d\u00a0${Math.floor(s / 3600) % 24}\u00a0h`;
}

const trim = (digits) => digits.replace(/\.0$/, "");

const VERDICTS = [
  "deadlock", "self-deadlock", "futurelock", "join cycle", "channel cycle", "semaphore exhausted", "leaked permits",
  "lost waker", "runtime not driven", "blocking pool exhausted", "barrier short of parties", "forgotten sender",
  "all asleep", "blocked worker", "spinning task", "starved task", "held across a long wait",
];

const en = {
  ...numbers("en"),
  us,
  other: "中文",
  otherTag: "zh-CN",
  title: (program, hangs) => `${hangs ? `(${hangs}) ` : ""}${program} · Wakeful console`,
  lead: (pid, path) => `process ${pid} · ${path}`,
  states: {
    connecting: "connecting…",
    live: "live",
    ended: "the program has ended",
    lost: "the console has ended",
  },
  paused: "paused",
  pause: "Pause",
  goLive: "Go live",
  lookBack: "Look back, in seconds",
  before: (s) => (s === 0 ? "now" : `${s} s ago`),
  ago: (time) => `${time} ago`,
  forTime: (time) => `for ${time}`,
  all: "All",
  yes: "yes",
  no: "no",
  notAsked: "Nothing was asked about this at that time. Go live to see it.",

  views: {
    overview: "Overview",
    tasks: "Tasks",
    graph: "Wait graph",
    objects: "Locks and channels",
    runtimes: "Runtimes",
    stalls: "Stalls",
    profile: "Profile",
    dump: "Dump",
  },

  figures: {
    tasks: "Tasks alive",
    queued: "Queued",
    polls: "Polls /s",
    wakes: "Wake-ups /s",
    pollP99: "Poll time p99",
    delayP99: "Delay p99",
    workers: "Workers",
    stalls: "Stalls",
    handoffs: "Hand-offs",
    spawned: "Spawned",
    remote: "Remote schedules",
    timersArmed: "Timers",
    descriptors: "Descriptors",
    ioEvents: "I/O events",
  },
  about: {
    tasks: "Tasks that have been spawned and have not ended, blocking closures, and threads in block_on",
    queued: "Ready tasks that wait for a worker",
    polls: "How often tasks were polled in the last second",
    wakes: "How often tasks were woken in the last second",
    pollP99: "99 % of the polls of the last second were shorter",
    delayP99: "99 % of the tasks woken in the last second were polled sooner",
    workers: "Workers that run tasks",
    stalls: "Polls that blocked their thread, since the start of the program",
    handoffs: "How often another thread took over a blocked worker",
  },
  busyOf: (busy, all) => `${busy} of ${all}`,
  stuckOf: (stuck, all) => `${stuck} of ${all} stuck`,

  verdicts: (n) => (n === 1 ? "Something hangs" : `${n} things hang`),
  verdictNames: Object.fromEntries(VERDICTS.map((name) => [name, name])),
  certain: "certain",
  likely: "likely",

  rates: "Polls and wake-ups",
  ratesOf: "of tasks, per second",
  pollsShort: "polls",
  wakesShort: "wake-ups",
  pollTimes: "How long polls take",
  pollTimesOf: "until the task returns",
  delays: "From wake-up to poll",
  delaysOf: "how long a ready task waits for its worker",
  noFigures: "none yet",
  workers: "Workers",
  workersOf: "share of time in polls; red: stuck. Below: stalls in red, dots are hand-offs",
  worker: (name) => `worker ${name}`,
  noWorkers: "There is no runtime.",
  workerStates: { running: "running", parked: "parked", stuck: "stuck", vacant: "vacant" },
  stallsShort: "stalls",
  handoffsIn: (stalls, handoffs) => `${stalls} · ${handoffs} handed off`,
  plotLabel: (polls, p99, delay) =>
    `Plots of the last minute. Now ${polls} polls per second; p99 of poll times ${p99}, from wake-up to poll ${delay}.`,

  crowds: "Where tasks are",
  crowdsOf: "by where they were spawned, and what they wait for",
  moreGroups: (n) => `All ${n} groups`,
  stateAndWait: (row) => (row.state === "waiting" ? `waiting for ${row.waits_for}` : en.taskStates[row.state] ?? row.state),
  wait: (row) => row.waits_for ?? "",

  filter: "Filter by name, place, type or wait",
  group: "Group by place and wait",
  noneMatches: "No task matches.",
  noTasks: "There are no tasks.",
  rows: (from, to, all) => (all === 0 ? "0" : `${en.count(from)}–${en.count(to)} of ${en.count(all)}`),
  previous: "Previous page (b)",
  next: "Next page (n)",
  taskStates: { waiting: "waiting", queued: "queued", running: "running" },
  kinds: {
    task: "task",
    local_task: "local task",
    blocking_job: "blocking closure",
    thread: "thread in block_on",
  },
  columns: {
    id: "Task",
    task: "Task",
    tasks: "Tasks",
    name: "Name",
    site: "Spawned at",
    type: "Type",
    kind: "Kind",
    state: "State",
    waitsFor: "Waits for",
    since: "Unchanged for",
    longest: "Longest",
    runtime: "Runtime",
    age: "Age",
    polls: "Polls",
    busy: "Busy",
    meanPoll: "Mean poll",
    last: "Last poll",
    lastAt: "Last polled",
    wakes: "Wake-ups",
    selfWakes: "By itself",
    wokenBy: "Last woken by",
    meanDelay: "Mean delay",
    delay: "Longest delay",
    wakers: "Wakers",
    joinable: "Has a JoinHandle",
    object: "Object",
    objectKind: "Kind",
    waitingTotal: "Waiting",
    longestWait: "Longest wait",
    holders: "Held by",
    waiting: "Queue",
    users: "Used by",
    worker: "Worker",
    busyShare: "Busy",
    pollRate: "Polls /s",
    parkRate: "Parks /s",
    stealRate: "Stolen /s",
    queue: "Queue",
    overflows: "Overflows",
    inTask: "In task",
    due: "Due in",
    when: "When",
    took: "Blocked for",
    report: "Report",
  },
  columnsAbout: {
    id: "By the order of spawning",
    site: "Where the code is that spawned it",
    state: "Waiting, queued for a worker, or running",
    waitsFor: "What the last future that returned Pending waits for",
    since: "For how long no poll has changed what it waits for",
    polls: "Since recording started",
    busy: "The time that its polls took",
    last: "How long the last poll took",
    wakes: "Since recording started",
    delay: "The longest time from a wake-up to the poll",
    selfWakes: "Wake-ups from inside its own poll",
    wokenBy: "The task whose poll woke it last",
    wakers: "How many of its wakers exist",
  },

  task: (id) => `Task ${id}`,
  taskEnded: "There is no such task: it has ended.",
  pollSection: "Polls",
  wakeSection: "Wake-ups",
  stack: "Where it waits",
  ask: "Ask the task",
  askWhat:
    "Wakes the task, so that its futures say in their next poll where they wait. Such a wake-up is legal, but it can set a task going whose waker was lost.",
  askForbidden: "WAKEFUL_CONSOLE=nopoll forbids waking tasks to ask them.",
  noAnswer: "The task did not answer: it was not polled in time, or is no longer waiting.",
  relations: "Holds and waits",
  relation: (isFrom, why) =>
    isFrom
      ? { waits_for: "waits for", held_by: "is held by", granted_to: "is granted to", used_by: "is used by" }[why]
      : { waits_for: "is waited for by", held_by: "holds", granted_to: "was granted", used_by: "uses" }[why],
  object: (label) => label,

  graphAll: "All that wait",
  why: { waits_for: "waits for", held_by: "held by", granted_to: "granted to", used_by: "used by" },
  cycle: "in a cycle",
  noGraph: "No task waits for an object that another task is known to hold.",
  noGraphAll: "No task waits for a lock, a channel or another task.",
  truncated: "There is more than fits here: the first 1,000 are drawn.",
  tasksInAll: (n) => `${n} tasks`,

  noObjects: "No task waits for or holds a lock, semaphore or channel.",
  objectsOf: (shown, total) => `${shown} of ${total}, those with most waiters first.`,
  objectsNote:
    "Holders are recorded while a program is watched. Those that acquired before may be missing; WAKEFUL_CONSOLE=watch records from the start.",
  andMore: (n) => `and ${en.count(n)} more`,

  runtime: (id, name) => (name ? `Runtime ${id}, ${name}` : `Runtime ${id}`),
  flavors: { multi_thread: "multi-thread", current_thread: "current-thread", local_set: "LocalSet" },
  notDriven: "not driven",
  pool: "Blocking pool",
  poolOf: (busy, threads, max, queued) =>
    `${busy} of ${threads} threads busy, at most ${max}${queued ? `, ${queued} closures queued` : ""}`,
  jobs: "Blocking closures",
  noJobs: "None is running.",
  timers: "Next timers",
  noTimers: "No task waits for a point in time.",
  dueNow: "now",

  noStalls: "None while the program was watched. A poll that blocks its thread for more than 2 ms is a stall.",
  stallsNote: "The report says what the thread was doing when it was noticed; the guide’s chapter “Diagnosing a stall” has more.",

  flames: { busy: "Busy", waiting: "Waiting" },
  flamesAbout: {
    busy: "How long polls took, by where the task was spawned: the 500 tasks that were polled last, each second. Includes the polls that answer where tasks wait",
    waiting: "How long tasks waited, by stack of awaits: the times of all tasks together, from tasks that are asked each second",
  },
  flamesNote:
    "Of the last minute, while this view was open. Click or Enter: zoom in, Escape: back to all. Arrow keys move between frames. `cargo wakeful profile` writes files for other tools.",
  flamesNone: "Nothing recorded yet.",
  flamesForbidden: "WAKEFUL_CONSOLE=nopoll forbids asking tasks where they wait.",

  makeDump: "Make a dump",
  makeDumpQuietly: "Without waking tasks",
  dumpWhat: "The text that the program prints on SIGQUIT: what hangs, where, and all tasks in groups.",
};

const WAITS_ZH = {
  unknown: "未知的东西",
  turn: "下一次轮询",
  task: "任务结束",
  any_task: "一组任务中任意一个结束",
  time: "某个时刻",
  io_read: "可读的数据",
  io_write: "可写的空间",
  mutex: "mutex",
  rw_lock_read: "读锁",
  rw_lock_write: "写锁",
  semaphore: "信号量的许可",
  mpsc_recv: "mpsc 通道的消息",
  mpsc_send: "mpsc 通道的空位",
  closed: "通道接收端关闭",
  oneshot_recv: "oneshot 通道的值",
  notify: "通知",
  watch: "watch 通道的新值",
  broadcast: "broadcast 通道的消息",
  barrier: "barrier 的其他任务",
  once_cell: "once-cell 的初始化",
  signal: "信号",
  process: "进程结束",
  pipe: "管道的另一端",
};

const OBJECTS_ZH = [
  [/^a /, ""], ["rwlock", "读写锁"], ["semaphore", "信号量"], [/(mpsc|oneshot|watch|broadcast) channel/, "$1 通道"], ["pipe", "管道"], [/^object/, "对象"],
];

const zh = {
  ...numbers("zh-CN"),
  us,
  other: "English",
  otherTag: "en",
  title: (program, hangs) => `${hangs ? `(${hangs}) ` : ""}${program} · Wakeful 控制台`,
  lead: (pid, path) => `进程 ${pid} · ${path}`,
  states: {
    connecting: "正在连接…",
    live: "实时",
    ended: "程序已经结束",
    lost: "控制台已经结束",
  },
  paused: "已暂停",
  pause: "暂停",
  goLive: "回到实时",
  lookBack: "回看（秒）",
  before: (s) => (s === 0 ? "现在" : `${s} 秒前`),
  ago: (time) => `${time} 前`,
  forTime: (time) => `已 ${time}`,
  all: "全部",
  yes: "是",
  no: "否",
  notAsked: "那一刻没有查询过这些内容。回到实时即可查看。",

  views: {
    overview: "概览",
    tasks: "任务",
    graph: "等待图",
    objects: "锁与通道",
    runtimes: "运行时",
    stalls: "卡顿",
    profile: "剖析",
    dump: "转储",
  },

  figures: {
    tasks: "存活任务",
    queued: "排队中",
    polls: "poll 次数/秒",
    wakes: "唤醒次数/秒",
    pollP99: "poll 耗时 p99",
    delayP99: "调度延迟 p99",
    workers: "worker",
    stalls: "卡顿",
    handoffs: "接管",
    spawned: "已创建任务",
    remote: "外部线程调度",
    timersArmed: "定时器",
    descriptors: "描述符",
    ioEvents: "I/O 事件",
  },
  about: {
    tasks: "已创建、尚未结束的任务，以及阻塞闭包和 block_on 中的线程",
    queued: "已就绪、在等 worker 的任务",
    polls: "最近一秒里任务被 poll 的次数",
    wakes: "最近一秒里任务被唤醒的次数",
    pollP99: "最近一秒里 99% 的 poll 比这更短",
    delayP99: "最近一秒里被唤醒的任务，99% 在这个时间内得到 poll",
    workers: "正在运行任务的 worker（工作线程）",
    stalls: "自程序启动以来，占住线程的 poll",
    handoffs: "被阻塞的 worker 由别的线程接管的次数",
  },
  busyOf: (busy, all) => `${busy} / ${all}`,
  stuckOf: (stuck, all) => `${stuck} / ${all} 卡住`,

  verdicts: (n) => (n === 1 ? "有任务卡死" : `有 ${n} 处卡死`),
  verdictNames: {
    deadlock: "死锁",
    "self-deadlock": "自死锁",
    futurelock: "futurelock",
    "join cycle": "循环等待结束",
    "channel cycle": "通道循环等待",
    "semaphore exhausted": "信号量耗尽",
    "leaked permits": "许可泄漏",
    "lost waker": "waker 丢失",
    "runtime not driven": "运行时没有线程驱动",
    "blocking pool exhausted": "阻塞线程池耗尽",
    "barrier short of parties": "barrier 人数不足",
    "forgotten sender": "遗忘的发送端",
    "all asleep": "全部沉睡",
    "blocked worker": "worker 被阻塞",
    "spinning task": "空转的任务",
    "starved task": "饥饿的任务",
    "held across a long wait": "持锁长时间等待",
  },
  certain: "确定",
  likely: "可能",

  rates: "poll 与唤醒",
  ratesOf: "每秒次数",
  pollsShort: "poll",
  wakesShort: "唤醒",
  pollTimes: "poll 耗时",
  pollTimesOf: "到任务返回为止",
  delays: "从唤醒到 poll",
  delaysOf: "就绪的任务等 worker 等了多久",
  noFigures: "还没有",
  workers: "各 worker",
  workersOf: "poll 占用的时间；红色：卡住。下面一行：红色是卡顿，圆点是接管",
  worker: (name) => `worker ${name}`,
  noWorkers: "没有运行时。",
  workerStates: { running: "运行中", parked: "休眠", stuck: "卡住", vacant: "空缺" },
  stallsShort: "卡顿",
  handoffsIn: (stalls, handoffs) => `${stalls} · 接管 ${handoffs}`,
  plotLabel: (polls, p99, delay) =>
    `最近一分钟的图。现在每秒 ${polls} 次 poll；p99：poll 耗时 ${p99}，从唤醒到 poll ${delay}。`,

  crowds: "任务都在哪里",
  crowdsOf: "按 spawn 的位置和在等什么分组",
  moreGroups: (n) => `全部 ${n} 组`,
  stateAndWait: (row) => (row.state === "waiting" ? `在等${spaced(zh.wait(row))}` : zh.taskStates[row.state] ?? row.state),
  wait: (row) => {
    const known = WAITS_ZH[row.wait];
    if (known === undefined) return row.waits_for ?? "";
    const number = row.waits_for?.match(/\d+$/)?.[0];
    return number ? `${known} ${number}` : known;
  },

  filter: "按名称、位置、类型或等待筛选",
  group: "按位置和等待分组",
  noneMatches: "没有符合的任务。",
  noTasks: "没有任务。",
  rows: (from, to, all) => (all === 0 ? "0" : `第 ${zh.count(from)}–${zh.count(to)} 个，共 ${zh.count(all)} 个`),
  previous: "上一页 (b)",
  next: "下一页 (n)",
  taskStates: { waiting: "等待", queued: "排队", running: "运行" },
  kinds: {
    task: "任务",
    local_task: "本地任务",
    blocking_job: "阻塞闭包",
    thread: "block_on 中的线程",
  },
  columns: {
    id: "任务",
    task: "任务",
    tasks: "任务数",
    name: "名称",
    site: "spawn 的位置",
    type: "类型",
    kind: "种类",
    state: "状态",
    waitsFor: "在等",
    since: "未变",
    longest: "最久",
    runtime: "运行时",
    age: "存活时间",
    polls: "poll 次数",
    busy: "占用时间",
    meanPoll: "平均 poll",
    last: "上次 poll",
    lastAt: "上次 poll 于",
    wakes: "唤醒次数",
    selfWakes: "其中自己唤醒",
    wokenBy: "上次由谁唤醒",
    meanDelay: "平均延迟",
    delay: "最大延迟",
    wakers: "waker 数",
    joinable: "有 JoinHandle",
    object: "对象",
    objectKind: "种类",
    waitingTotal: "等待者",
    longestWait: "最久等待",
    holders: "持有者",
    waiting: "队列",
    users: "使用者",
    worker: "worker",
    busyShare: "占用",
    pollRate: "poll/秒",
    parkRate: "休眠/秒",
    stealRate: "窃取/秒",
    queue: "队列",
    overflows: "溢出",
    inTask: "所在任务",
    due: "还有",
    when: "时间",
    took: "占住线程",
    report: "报告",
  },
  columnsAbout: {
    id: "按创建的先后",
    site: "创建它的代码在哪里",
    state: "等待、在队列里等 worker，或者正在运行",
    waitsFor: "最后一个返回 Pending 的 future 在等什么",
    since: "多久没有 poll 改变过它在等的东西",
    polls: "从开始记录算起",
    busy: "它的 poll 总共用的时间",
    last: "上一次 poll 用了多久",
    wakes: "从开始记录算起",
    delay: "从唤醒到 poll 最长用了多久",
    selfWakes: "在它自己的 poll 里发出的唤醒",
    wokenBy: "上次唤醒它的那次 poll 属于哪个任务",
    wakers: "它的 waker 还存在几个",
  },

  task: (id) => `任务 ${id}`,
  taskEnded: "没有这个任务：它已经结束。",
  pollSection: "poll",
  wakeSection: "唤醒",
  stack: "它在哪里等",
  ask: "询问任务",
  askWhat: "唤醒这个任务，让它的各个 future 在下一次 poll 里说明在哪里等待。这样的唤醒是合法的，但 waker 丢失的任务可能因此继续运行。",
  askForbidden: "WAKEFUL_CONSOLE=nopoll 禁止为询问而唤醒任务。",
  noAnswer: "任务没有回答：没有及时得到 poll，或者已经不在等待。",
  relations: "持有与等待",
  relation: (isFrom, why) =>
    isFrom
      ? { waits_for: "在等", held_by: "的持有者是", granted_to: "已授予", used_by: "的使用者是" }[why]
      : { waits_for: "被等待，等待者是", held_by: "持有", granted_to: "已获授予", used_by: "使用" }[why],
  object: (label) => OBJECTS_ZH.reduce((said, [from, to]) => said.replace(from, to), label ?? ""),

  graphAll: "所有在等的",
  why: { waits_for: "在等", held_by: "持有者", granted_to: "已授予", used_by: "使用者" },
  cycle: "在环中",
  noGraph: "没有任务在等已知由别的任务持有的东西。",
  noGraphAll: "没有任务在等锁、通道或别的任务。",
  truncated: "内容太多，只画出前 1,000 个。",
  tasksInAll: (n) => `${n} 个任务`,

  noObjects: "没有任务在等待或持有锁、信号量或通道。",
  objectsOf: (shown, total) => `共 ${total} 个，列出等待者最多的 ${shown} 个。`,
  objectsNote: "程序被观察期间才记录持有者，在此之前获取的可能缺失；WAKEFUL_CONSOLE=watch 从启动时开始记录。",
  andMore: (n) => `等 ${zh.count(n)} 个`,

  runtime: (id, name) => (name ? `运行时 ${id}：${name}` : `运行时 ${id}`),
  flavors: { multi_thread: "多线程", current_thread: "单线程", local_set: "LocalSet" },
  notDriven: "没有线程驱动",
  pool: "阻塞线程池",
  poolOf: (busy, threads, max, queued) =>
    `${threads} 个线程中 ${busy} 个忙碌，上限 ${max}${queued ? `，${queued} 个闭包在排队` : ""}`,
  jobs: "阻塞闭包",
  noJobs: "没有正在运行的。",
  timers: "最近的定时器",
  noTimers: "没有任务在等某个时刻。",
  dueNow: "现在",

  noStalls: "观察期间没有。一次 poll 占住线程超过 2 ms 就算卡顿。",
  stallsNote: "报告说明发现时线程在做什么；指南的《查找卡顿》一章有更多说明。",

  flames: { busy: "占用", waiting: "等待" },
  flamesAbout: {
    busy: "poll 用了多久，按 spawn 的位置统计：每秒取最近 poll 过的 500 个任务。包括回答询问的 poll",
    waiting: "任务等了多久，按 await 的调用栈统计：各任务的时间相加，由每秒询问的任务推算",
  },
  flamesNote:
    "最近一分钟里打开这个视图的时间。点击或按 Enter 放大，Escape 回到全部，方向键在各帧之间移动。`cargo wakeful profile` 可以为其他工具写出文件。",
  flamesNone: "还没有记录到内容。",
  flamesForbidden: "WAKEFUL_CONSOLE=nopoll 禁止询问任务在哪里等待。",

  makeDump: "生成转储",
  makeDumpQuietly: "不唤醒任务",
  dumpWhat: "程序收到 SIGQUIT 时打印的文本：什么卡死了、卡在哪里，以及分组列出的全部任务。",
};

/** Puts a space between Chinese and other letters. */
function spaced(said) {
  return /^[\x21-\x7e]/.test(said) ? ` ${said}` : said;
}

export const languages = { en, zh };

/** Returns the chosen language, or the browser's. */
export function preferred() {
  const asked = new URLSearchParams(location.search).get("lang") ?? localStorage.getItem("lang");
  const tag = asked ?? navigator.language ?? "en";
  return tag.toLowerCase().startsWith("zh") ? "zh" : "en";
}

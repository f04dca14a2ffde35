/* Virtual time. The thread whose clock is least runs, unless a deadline or a timer comes first.
 *
 * Every thread that is ready has an entry in one heap of events, ordered by time, as has every
 * deadline and every timer. Ties are broken by the thread's number: the outcome depends on nothing
 * but virtual time.
 *
 * A ready thread needs a CPU. By default there are as many CPUs as threads, so that it always has
 * one. If there are fewer, threads queue for them, first come first served, and a thread whose time
 * slice is over goes to the end of the queue.
 */
#include "machine.h"

#include <stddef.h>

#define EVENTS_MAX (THREADS_MAX + 64)
#define QUOTA_PERIOD (100000 * US)

Thread threads[THREADS_MAX];
int thread_count;
Thread *running;
Time horizon;
uint64_t switch_count;

/* ---- the heap ---- */

static Event *heap[EVENTS_MAX];
static int heap_size;

static bool comes_before(const Event *a, const Event *b) {
    if (a->at != b->at) return a->at < b->at;
    /* Timers come first, then threads by number. */
    int number_a = a->thread ? a->thread->id : -1, number_b = b->thread ? b->thread->id : -1;
    return number_a < number_b;
}

static void put(Event *event, int position) {
    heap[position] = event;
    event->position = position;
}

static void move_up(Event *event) {
    int at = event->position;
    while (at > 0 && comes_before(event, heap[(at - 1) / 2])) {
        put(heap[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    put(event, at);
}

static void move_down(Event *event) {
    int at = event->position;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= heap_size) break;
        if (child + 1 < heap_size && comes_before(heap[child + 1], heap[child])) child++;
        if (!comes_before(heap[child], event)) break;
        put(heap[child], at);
        at = child;
    }
    put(event, at);
}

static void set_horizon(void);

void clear_event(Event *event) {
    int position = event->position;
    if (position < 0) return;
    event->position = -1;
    Event *last = heap[--heap_size];
    if (last == event) return;
    put(last, position);
    move_up(last);
    move_down(last);
}

void set_event(Event *event, Time at) {
    clear_event(event);
    if (heap_size == EVENTS_MAX) fail("too many timers");
    event->at = at;
    put(event, heap_size++);
    move_up(event);
    if (running) set_horizon();
}

/* ---- CPUs ---- */

static bool cpu_is_taken[THREADS_MAX];
static Thread *queue_first, *queue_last;

static int cpu_count(void) {
    return cpu_limit > 0 && cpu_limit < THREADS_MAX ? (int)cpu_limit : THREADS_MAX;
}

static void assign_cpu(Thread *thread, int cpu) {
    cpu_is_taken[cpu] = true;
    thread->cpu = thread->last_cpu = cpu;
    thread->slice_end = thread->clock + time_slice;
}

/* Gives the thread an idle CPU, the one that it ran on before if possible. */
static bool take_cpu(Thread *thread) {
    if (thread->cpu >= 0) return true;
    int count = cpu_count(), cpu = thread->last_cpu % count;
    for (int tried = 0; tried < count; tried++, cpu = (cpu + 1) % count) {
        if (!cpu_is_taken[cpu]) {
            assign_cpu(thread, cpu);
            return true;
        }
    }
    return false;
}

static void queue_for_cpu(Thread *thread) {
    thread->next_queued = NULL;
    if (queue_first)
        queue_last->next_queued = thread;
    else
        queue_first = thread;
    queue_last = thread;
}

/* Passes the CPU of `thread` to the first thread in the queue, if there is one. */
static void give_up_cpu(Thread *thread) {
    int cpu = thread->cpu;
    thread->cpu = -1;
    cpu_is_taken[cpu] = false;
    Thread *next = queue_first;
    if (!next) return;
    queue_first = next->next_queued;
    if (next->clock < thread->clock) next->clock = thread->clock;
    next->clock += cost_context_switch;
    assign_cpu(next, cpu);
    set_event(&next->event, next->clock);
}

/* ---- the quota ---- */

static Time quota_used, quota_period_end = QUOTA_PERIOD;

static Time quota_left(void) {
    return cpu_quota > 0 ? (Time)(cpu_quota * QUOTA_PERIOD) - quota_used : NEVER / 2;
}

/* Charges what `thread` has used since it was switched to. If the quota of this period is used up,
 * no thread runs before the next one. */
static void charge_quota(Thread *thread) {
    if (cpu_quota <= 0) return;
    quota_used += thread->busy - thread->busy_at_switch;
    thread->busy_at_switch = thread->busy;
    while (thread->clock >= quota_period_end) {
        quota_period_end += QUOTA_PERIOD;
        quota_used = 0;
    }
    if (quota_left() > 0) return;
    for (int i = 0; i < thread_count; i++) {
        Thread *throttled = &threads[i];
        if (throttled->state != READY || throttled->clock >= quota_period_end) continue;
        throttled->clock = quota_period_end;
        if (throttled->event.position >= 0) set_event(&throttled->event, throttled->clock);
    }
    /* What was used beyond the quota is missing from the next period. */
    quota_used = -quota_left();
    quota_period_end += QUOTA_PERIOD;
}

/* ---- the turn ---- */

static void set_horizon(void) {
    horizon = heap_size ? heap[0]->at + quantum : NEVER;
    if (queue_first && running->slice_end < horizon) horizon = running->slice_end;
    Time quota_end = running->clock + quota_left() - (running->busy - running->busy_at_switch);
    if (quota_end < horizon) horizon = quota_end;
}

void set_running(Thread *thread) {
    running = thread;
    thread->busy_at_switch = thread->busy;
    set_horizon();
}

/* Takes events off the heap until one is a thread that can run. */
static Thread *next_thread(void) {
    while (heap_size) {
        Event *event = heap[0];
        clear_event(event);
        Thread *thread = event->thread;
        if (!thread) {
            fire(event->timer);
        } else if (thread->state != READY) {
            thread->timed_out = true;
            wake_thread(thread, event->at);
        } else if (take_cpu(thread)) {
            return thread;
        } else {
            queue_for_cpu(thread);
        }
    }
    fail("all threads wait forever");
}

static void run_next(Thread *me) {
    Thread *next = next_thread();
    set_running(next);
    if (next == me) return;
    switch_count++;
    switch_threads(me, next);
    await_exit();
}

void reschedule(void) {
    Thread *me = running;
    charge_quota(me);
    if (queue_first && me->clock >= me->slice_end) {
        give_up_cpu(me);
        queue_for_cpu(me);
    } else {
        set_event(&me->event, me->clock);
    }
    run_next(me);
}

static uint64_t waits;

bool block(State state, Time deadline) {
    Thread *me = running;
    charge_quota(me);
    me->counts.parks++;
    me->state = state;
    me->timed_out = false;
    me->wait_order = ++waits;
    give_up_cpu(me);
    if (deadline != NEVER) set_event(&me->event, deadline);
    run_next(me);
    return !me->timed_out;
}

static Time busy_of_unused;

void free_slot(Thread *thread) {
    thread->state = UNUSED;
    busy_of_unused += thread->busy;
    thread->busy = 0;
}

Thread *leave(void) {
    Thread *me = running;
    charge_quota(me);
    me->state = ENDED;
    give_up_cpu(me);
    if (me->is_detached) free_slot(me);
    return next_thread();
}

void make_ready(Thread *thread, Time at) {
    if (thread->clock < at) thread->clock = at;
    thread->state = READY;
    set_event(&thread->event, thread->clock);
}

/* If all wake-ups took equally long, threads would move in lockstep, as they do nowhere else. */
void wake_thread(Thread *thread, Time now) {
    double share = 1 + wake_jitter * (2 * random_share() - 1);
    make_ready(thread, now + (Time)(delay_wake * share));
}

void interrupt(Thread *thread, Time duration) {
    thread->clock += duration;
    thread->busy += duration;
    if (thread->event.position >= 0) set_event(&thread->event, thread->clock);
}

void start_scheduler(Thread *first) {
    first->state = READY;
    take_cpu(first);
    set_running(first);
}

/* ---- CPU time ---- */

/* A thread that is ahead of `now` has been charged for work that lies in the future. */
Time busy_until(const Thread *thread, Time now) {
    Time ahead = thread->state == READY && thread->cpu >= 0 ? thread->clock - now : 0;
    if (ahead <= 0) return thread->busy;
    return ahead < thread->busy ? thread->busy - ahead : 0;
}

Time process_busy(void) {
    Time sum = busy_of_unused;
    for (int i = 0; i < thread_count; i++) sum += busy_until(&threads[i], running->clock);
    return sum;
}

/* Calls that park a thread: futex, epoll_wait, poll and sleeps. */
#include "machine.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/* ---- futexes ---- */

bool park_at(const void *address, Time deadline) {
    spend(cost_park);
    running->waits_at = address;
    running->futex_bits = ~0u;
    return deadline > running->clock && block(IN_FUTEX, deadline);
}

static int futex_wait(uint32_t *word, uint32_t value, Time deadline, uint32_t bits) {
    spend_in_kernel(cost_park);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
        errno = EAGAIN;
        return -1;
    }
    running->waits_at = word;
    running->futex_bits = bits;
    if (deadline > running->clock && block(IN_FUTEX, deadline)) return 0;
    errno = ETIMEDOUT;
    return -1;
}

static Thread *first_waiter(const void *address, uint32_t bits) {
    Thread *first = NULL;
    for (int i = 0; i < thread_count; i++) {
        Thread *thread = &threads[i];
        /* A thread whose deadline has come is no longer in this state. */
        bool waits = thread->state == IN_FUTEX && thread->waits_at == address;
        if (waits && (thread->futex_bits & bits) &&
            (!first || thread->wait_order < first->wait_order))
            first = thread;
    }
    return first;
}

static int wake(const void *address, int count, uint32_t bits) {
    int woken = 0;
    Thread *waiter;
    while (woken < count && (waiter = first_waiter(address, bits))) {
        spend(cost_unpark);
        wake_thread(waiter, running->clock);
        woken++;
    }
    return woken;
}

/* Without a waiter, the C library makes no system call. */
void unpark_at(const void *address, int count) {
    if (!first_waiter(address, ~0u)) return;
    spend(cost_futex_wake);
    wake(address, count, ~0u);
}

static int futex_wake(const uint32_t *word, int count, uint32_t bits) {
    spend_in_kernel(cost_futex_wake);
    int woken = wake(word, count, bits);
    yield_if_ahead();
    return woken;
}

long futex_call(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout,
                uint32_t bits) {
    clockid_t clock = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return futex_wait(word, value, timeout ? running->clock + from_timespec(timeout) : NEVER,
                          ~0u);
    case FUTEX_WAIT_BITSET:
        return futex_wait(word, value, timeout ? from_point(clock, timeout) : NEVER, bits);
    case FUTEX_WAKE:
        return futex_wake(word, (int)value, ~0u);
    case FUTEX_WAKE_BITSET:
        return futex_wake(word, (int)value, bits);
    default:
        fail("a futex operation that the machine does not know");
    }
}

/* ---- descriptors ---- */

static long ready_count(struct pollfd *polls, nfds_t count) {
    return RAW3(SYS_poll, polls, count, 0);
}

void wake_pollers(Time at, bool pays) {
    for (int i = 0; i < thread_count; i++) {
        Thread *thread = &threads[i];
        if (thread->state != IN_POLL || ready_count(thread->polls, thread->poll_count) <= 0)
            continue;
        if (pays) {
            spend(cost_unpark);
            at = running->clock;
        }
        wake_thread(thread, at);
    }
    if (pays) yield_if_ahead();
}

bool await_descriptors(struct pollfd *polls, nfds_t count, Time deadline) {
    spend(cost_park);
    running->polls = polls;
    running->poll_count = count;
    return block(IN_POLL, deadline);
}

static Time deadline_after(Time timeout) {
    return timeout < 0 ? NEVER : running->clock + timeout;
}

int epoll_call(int epoll, struct epoll_event *events, int max, Time timeout) {
    spend_in_kernel(cost_poll);
    running->counts.polls++;
    Time deadline = deadline_after(timeout);
    struct pollfd self = { epoll, POLLIN, 0 };
    for (;;) {
        long count = with_errno(RAW6(SYS_epoll_pwait, epoll, events, max, 0, 0, 8));
        if (count || running->clock >= deadline) return (int)count;
        if (!await_descriptors(&self, 1, deadline)) return 0;
    }
}

int poll(struct pollfd *polls, nfds_t count, int timeout_ms) {
    if (!running) return (int)with_errno(RAW3(SYS_poll, polls, count, timeout_ms));
    spend_in_kernel(cost_poll);
    Time deadline = deadline_after(timeout_ms * 1000 * US);
    for (;;) {
        long ready = with_errno(ready_count(polls, count));
        if (ready || running->clock >= deadline) return (int)ready;
        if (!await_descriptors(polls, count, deadline)) return 0;
    }
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout_ms) {
    if (!running)
        return (int)with_errno(RAW6(SYS_epoll_pwait, epoll, events, max, timeout_ms, 0, 8));
    return epoll_call(epoll, events, max, timeout_ms * 1000 * US);
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
    if (running) spend_in_kernel(cost_syscall);
    int result = (int)with_errno(RAW4(SYS_epoll_ctl, epoll, operation, descriptor, event));
    if (running) wake_pollers(running->clock, true);
    return result;
}

/* ---- sleeps ---- */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *left) {
    if (!running) return (int)-RAW4(SYS_clock_nanosleep, clock, flags, time, left);
    spend_in_kernel(cost_park);
    Time deadline = flags & TIMER_ABSTIME ? from_point(clock, time)
                                          : running->clock + from_timespec(time);
    if (deadline > running->clock) block(ASLEEP, deadline);
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    if (!error) return 0;
    errno = error;
    return -1;
}

/* Other threads that wait for a CPU get this one. */
int sched_yield(void) {
    if (!running) return (int)with_errno(RAW0(SYS_sched_yield));
    running->slice_end = running->clock;
    spend(cost_yield);
    reschedule();
    return 0;
}

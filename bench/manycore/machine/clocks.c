/* Clocks and timers.
 *
 * All clocks that measure real time advance with the clock of the thread that reads them. A timerfd
 * is an eventfd, to which the machine writes when the virtual time has come.
 */
#include "machine.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* What the clocks show when the machine starts: not 0, so that programs can subtract. */
#define MONOTONIC_START_S 1000
#define REALTIME_START_S 1700000000

/* Points further away than this are as good as never. */
#define FAR_S 4000000

/* The number of the CPU clock of thread 0. The kernel's own numbers are negative or small. */
#define THREAD_CLOCKS 1000

static time_t start_of(clockid_t clock) {
    bool is_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    return is_date ? REALTIME_START_S : MONOTONIC_START_S;
}

static void write_timespec(struct timespec *spec, Time time, time_t start) {
    spec->tv_sec = start + time / SECOND;
    spec->tv_nsec = time % SECOND / NS;
}

Time from_timespec(const struct timespec *spec) {
    return spec->tv_sec > FAR_S ? FAR_S * SECOND : spec->tv_sec * SECOND + spec->tv_nsec * NS;
}

Time from_point(clockid_t clock, const struct timespec *spec) {
    struct timespec since_start = { spec->tv_sec - start_of(clock), spec->tv_nsec };
    return from_timespec(&since_start);
}

int clock_gettime(clockid_t clock, struct timespec *spec) {
    Thread *me = running;
    if (!me) return (int)with_errno(RAW2(SYS_clock_gettime, clock, spec));
    yield_if_ahead();
    spend(cost_clock_read);
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        write_timespec(spec, me->busy, 0);
    else if (clock == CLOCK_PROCESS_CPUTIME_ID)
        write_timespec(spec, process_busy(), 0);
    else if (clock >= THREAD_CLOCKS && clock < THREAD_CLOCKS + thread_count)
        write_timespec(spec, busy_until(&threads[clock - THREAD_CLOCKS], me->clock), 0);
    else
        write_timespec(spec, me->clock, start_of(clock));
    return 0;
}

int pthread_getcpuclockid(pthread_t handle, clockid_t *clock) {
    for (int i = 0; i < thread_count; i++) {
        if (threads[i].state == UNUSED || !pthread_equal(threads[i].handle, handle)) continue;
        *clock = THREAD_CLOCKS + i;
        return 0;
    }
    return ESRCH;
}

/* ---- timers ---- */

struct Timer {
    Event event;
    int descriptor;
    Time interval; /* 0: it fires once */
    bool is_used;
};
#define TIMERS_MAX 64
static Timer timers[TIMERS_MAX];

static Timer *find_timer(int descriptor) {
    for (int i = 0; i < TIMERS_MAX; i++)
        if (timers[i].is_used && timers[i].descriptor == descriptor) return &timers[i];
    return NULL;
}

void fire(Timer *timer) {
    uint64_t one = 1;
    Time now = timer->event.at;
    RAW3(SYS_write, timer->descriptor, &one, sizeof one);
    if (timer->interval) set_event(&timer->event, now + timer->interval);
    wake_pollers(now, false);
}

void forget_timer(int descriptor) {
    Timer *timer = find_timer(descriptor);
    if (!timer) return;
    clear_event(&timer->event);
    timer->is_used = false;
}

int timerfd_create(int clock, int flags) {
    (void)clock, (void)flags;
    int descriptor = (int)with_errno(RAW2(SYS_eventfd2, 0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (descriptor < 0) return -1;
    for (int i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].is_used) continue;
        timers[i] = (Timer){ .descriptor = descriptor, .is_used = true };
        timers[i].event = (Event){ .position = -1, .timer = &timers[i] };
        return descriptor;
    }
    fail("too many timers");
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *new,
                    struct itimerspec *old) {
    Timer *timer = find_timer(descriptor);
    if (!timer) {
        errno = EINVAL;
        return -1;
    }
    if (running) spend_in_kernel(cost_timer_set);
    if (old) memset(old, 0, sizeof *old);
    /* Setting a timer clears its expirations. */
    uint64_t expirations;
    RAW3(SYS_read, descriptor, &expirations, sizeof expirations);
    clear_event(&timer->event);
    timer->interval = from_timespec(&new->it_interval);
    Time now = running ? running->clock : 0;
    if (new->it_value.tv_sec || new->it_value.tv_nsec) {
        Time at = flags & TFD_TIMER_ABSTIME ? from_point(CLOCK_MONOTONIC, &new->it_value)
                                            : now + from_timespec(&new->it_value);
        set_event(&timer->event, at > now ? at : now);
    }
    return 0;
}

/* What things cost: the times of a current x86 server, rounded. ../README.md says what the most
 * important ones stand for. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

Time cost_hit = 400, cost_call = 500, cost_rmw = 6 * NS;
Time cost_transfer = 70 * NS, cost_shared_read = 45 * NS, cost_first_touch = 4 * NS;
Time cost_alloc = 20 * NS, cost_clock_read = 20 * NS, cost_syscall = 200 * NS, cost_io = 1 * US;
Time cost_poll = 500 * NS, cost_park = 1 * US, cost_unpark = 1500 * NS, cost_futex_wake = 300 * NS;
Time cost_timer_set = 300 * NS, cost_yield = 500 * NS, cost_barrier = 2 * US;
Time cost_interrupt = 1 * US, cost_thread_create = 8 * US, cost_context_switch = 1500 * NS;
Time delay_wake = 5 * US, delay_thread_start = 10 * US;
Time quantum = 60 * NS, time_slice = 3000 * US;
double wake_jitter = 0.1, cpu_limit = 0, visible_cpus = 16, cpu_quota = 0, random_seed = 1;

typedef struct {
    const char *name;
    Time *time;
    Time unit;
    double *number;
    const char *meaning;
} Constant;

static const Constant constants[] = {
    { "hit-ns", &cost_hit, NS, 0, "access to a line that the core has" },
    { "call-ns", &cost_call, NS, 0, "call of a function that was not inlined" },
    { "rmw-ns", &cost_rmw, NS, 0, "atomic read-modify-write, or sequentially consistent store" },
    { "transfer-ns", &cost_transfer, NS, 0, "moving a modified line, or invalidating its copies" },
    { "shared-read-ns", &cost_shared_read, NS, 0, "reading a line that others only read" },
    { "first-touch-ns", &cost_first_touch, NS, 0, "access to a line that no core has" },
    { "alloc-ns", &cost_alloc, NS, 0, "allocation or deallocation" },
    { "clock-ns", &cost_clock_read, NS, 0, "reading a clock" },
    { "syscall-ns", &cost_syscall, NS, 0, "system call without an entry of its own" },
    { "io-us", &cost_io, US, 0, "read, write, send, recv, accept and similar calls" },
    { "poll-us", &cost_poll, US, 0, "epoll_wait or poll, before it parks" },
    { "park-us", &cost_park, US, 0, "parking in a futex or in epoll_wait" },
    { "unpark-us", &cost_unpark, US, 0, "waking another thread, to the thread that wakes it" },
    { "futex-wake-us", &cost_futex_wake, US, 0, "futex wake, without the threads that it wakes" },
    { "timer-set-us", &cost_timer_set, US, 0, "timerfd_settime" },
    { "yield-us", &cost_yield, US, 0, "sched_yield" },
    { "barrier-us", &cost_barrier, US, 0, "membarrier, to the caller" },
    { "interrupt-us", &cost_interrupt, US, 0, "membarrier, to each other running thread" },
    { "thread-create-us", &cost_thread_create, US, 0, "pthread_create" },
    { "context-switch-us", &cost_context_switch, US, 0, "switching a CPU between two threads" },
    { "wake-us", &delay_wake, US, 0, "from a wake-up until the thread runs" },
    { "wake-jitter", 0, 0, &wake_jitter,
      "how much wake-ups vary; 0.1: by up to a tenth" },
    { "thread-start-us", &delay_thread_start, US, 0, "from pthread_create until the thread runs" },
    { "quantum-ns", &quantum, NS, 0, "how far the running thread may be ahead of another" },
    { "slice-us", &time_slice, US, 0, "time slice, if threads wait for a CPU" },
    { "cpus", 0, 0, &cpu_limit, "number of CPUs; 0: one for each thread" },
    { "visible-cpus", 0, 0, &visible_cpus,
      "number of CPUs that the program sees, without `cpus`" },
    { "quota", 0, 0, &cpu_quota, "CPU quota in CPUs, in periods of 100 ms; 0: none" },
    { "seed", 0, 0, &random_seed, "seed of all random numbers" },
};
#define CONSTANT_COUNT (sizeof constants / sizeof constants[0])

/* Sets a constant. Returns false if there is none of that name. */
bool mc_set(const char *name, double value) {
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        if (strcmp(constants[i].name, name)) continue;
        if (constants[i].time)
            *constants[i].time = (Time)(value * constants[i].unit + 0.5);
        else
            *constants[i].number = value;
        return true;
    }
    return false;
}

/* Prints the name, value and meaning of each constant, separated by tabs. */
void mc_print_constants(void) {
    for (size_t i = 0; i < CONSTANT_COUNT; i++) {
        const Constant *c = &constants[i];
        double value = c->time ? (double)*c->time / c->unit : *c->number;
        printf("%s\t%g\t%s\n", c->name, value, c->meaning);
    }
    fflush(stdout);
}

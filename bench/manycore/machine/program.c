/* What the program under test calls, declared in ../src/machine.rs. */
#include "machine.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

/* In seconds of real time. No case needs more than a few; a runtime that spins forever would. */
#define REAL_LIMIT_S 120

_Noreturn void fail(const char *what) {
    static const char *const states[] = { "unused", "ready", "in futex", "in poll",
                                          "asleep", "joining", "ended" };
    Thread *last = running;
    running = NULL;
    fprintf(stderr, "virtual machine: %s\n", what);
    for (int i = 0; i < thread_count; i++)
        fprintf(stderr, "  thread %d%s: %s at %ld us\n", i, &threads[i] == last ? " (last)" : "",
                states[threads[i].state], (long)(threads[i].clock / US));
    _exit(3);
}

/* Restarts the program without randomized addresses, if it has them and the system permits it.
 * Which objects share a cache line then repeats. */
void mc_fix_addresses(char **arguments) {
    int persona = personality(0xffffffff);
    if (persona < 0 || persona & ADDR_NO_RANDOMIZE) return;
    if (personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0) return;
    if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) return;
    execv("/proc/self/exe", arguments);
}

/* Starts the machine with the calling thread, which must be the only one. */
void mc_begin(void) {
    /* Each thread has an arena of its own, as if there were as many real CPUs. */
    mallopt(M_ARENA_MAX, THREADS_MAX);
    alarm(REAL_LIMIT_S);
    Thread *first = &threads[0];
    start_threads(first);
    start_scheduler(first);
}

/* Stops the machine: from now on time is real, and other threads no longer run. */
void mc_stop(void) { running = NULL; }

/* Computes for a while, without accesses to memory. */
void mc_work(uint64_t ns) {
    if (!running) return;
    /* Without these, nothing can happen to a thread that computes. */
    bool can_be_stopped = cpu_limit > 0 || cpu_quota > 0;
    Time left = (Time)ns * NS, step = can_be_stopped ? 50 * US : left;
    while (left > 0) {
        Time part = left < step ? left : step;
        spend(part);
        yield_if_ahead();
        left -= part;
    }
}

void mc_alloc(void) {
    if (running) spend(cost_alloc);
}

static struct Counts total(void) {
    struct Counts sum = { 0 };
    for (int i = 0; i < thread_count; i++) {
        const struct Counts *c = &threads[i].counts;
        sum.transfers += c->transfers;
        sum.shared_reads += c->shared_reads;
        sum.rmws += c->rmws;
        sum.parks += c->parks;
        sum.polls += c->polls;
        sum.calls += c->calls;
    }
    return sum;
}

static struct Counts before;

/* Starts counting, and recording transfers. */
void mc_reset(void) {
    before = total();
    reset_profile();
}

/* Returns what was counted since mc_reset(). */
void mc_counts(struct Counts *counts) {
    struct Counts now = total();
    counts->transfers = now.transfers - before.transfers;
    counts->shared_reads = now.shared_reads - before.shared_reads;
    counts->rmws = now.rmws - before.rmws;
    counts->parks = now.parks - before.parks;
    counts->polls = now.polls - before.polls;
    counts->calls = now.calls - before.calls;
}

uint64_t mc_switches(void) { return switch_count; }

void mc_print_profile(int places) { print_profile(places); }

/* A virtual machine with many cores, for programs compiled with ThreadSanitizer's hooks.
 *
 * | file | role |
 * |---|---|
 * | constants.c | what things cost, by name |
 * | scheduler.c | virtual time: which thread runs next, CPUs, time slices, quota |
 * | switch.c | moves the real CPU from one virtual thread to another |
 * | lines.c | the directory of cache lines, and the profile of transfers |
 * | hooks.c | the hooks that the compiler inserts at memory accesses |
 * | threads.c | pthread_create, pthread_join and the like |
 * | waits.c | futex, epoll, poll and sleeps |
 * | locks.c | the locks of pthread |
 * | clocks.c | clocks and timerfd |
 * | descriptors.c | read, write and other calls on descriptors |
 * | environment.c | CPU counts, /proc, /sys and random numbers |
 * | program.c | what the program under test calls |
 *
 * Only one virtual thread runs at a time, so that none of this needs a lock. A thread may leave the
 * CPU only in reschedule().
 */
#ifndef MACHINE_H
#define MACHINE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Picoseconds of virtual time. 64 bits hold 106 days. */
typedef int64_t Time;
#define NS ((Time)1000)
#define US (1000 * NS)
#define SECOND (1000000 * US)
#define NEVER INT64_MAX

/* ---- constants.c ---- */

/* See the table in constants.c for the meaning of each. */
extern Time cost_hit, cost_call, cost_rmw, cost_transfer, cost_shared_read, cost_first_touch;
extern Time cost_alloc, cost_clock_read, cost_syscall, cost_io, cost_poll, cost_park;
extern Time cost_unpark, cost_futex_wake, cost_timer_set, cost_yield, cost_barrier;
extern Time cost_interrupt, cost_thread_create, cost_context_switch;
extern Time delay_wake, delay_thread_start, quantum, time_slice;
extern double wake_jitter, cpu_limit, visible_cpus, cpu_quota, random_seed;

/* ---- scheduler.c ---- */

/* Room for 64 workers, their standbys, and Tokio's 512 threads for blocking calls. */
#define THREADS_MAX 768

typedef struct Thread Thread;
typedef struct Timer Timer;

/* An entry of the queue of events: a thread that is ready or has a deadline, or a timer. */
typedef struct {
    Time at;
    int position; /* in the heap, or -1 */
    Thread *thread;
    Timer *timer;
} Event;

typedef enum { UNUSED, READY, IN_FUTEX, IN_POLL, ASLEEP, JOINING, ENDED } State;

struct Counts {
    uint64_t transfers, shared_reads, rmws, parks, polls, calls;
};

struct Thread {
    int id;
    int cpu;      /* the CPU it has, or -1 */
    int last_cpu; /* the CPU whose cache it has warmed */
    State state;
    Event event;
    Time clock;         /* the virtual time up to which it has run */
    Time busy;          /* its CPU time */
    Time busy_at_switch;
    Time slice_end;
    uint64_t wait_order; /* first come, first served */
    Thread *next_queued; /* behind it in the queue for CPUs */
    bool timed_out;
    bool is_detached;

    const void *waits_at; /* the futex, lock or condition variable */
    uint32_t futex_bits;
    struct pollfd *polls;
    nfds_t poll_count;
    Thread *joins;

    uintptr_t stack_low, stack_high;
    bool stack_is_shared; /* other threads have accessed it */

    pthread_t handle;
    void *(*start)(void *);
    void *argument;

    void *stack_pointer;    /* while it is switched out */
    uint64_t thread_pointer; /* the base of its thread-local storage */
    int resume;             /* real futex: its own kernel thread shall go on */
    int is_parked;          /* real futex: its kernel thread has parked for the first time */
    int kernel_id;

    struct Counts counts;
};

extern Thread threads[THREADS_MAX];
extern int thread_count;
/* The thread that runs now. Null until the program starts the machine and after it stops it. */
extern Thread *running;
/* If the clock of the running thread is beyond this, another event comes first. */
extern Time horizon;

/* Lets other threads run, until the clock of the running thread is the least again. */
void reschedule(void);
/* Parks the running thread in `state` until make_ready() or, unless `deadline` is NEVER, until
 * then. Returns false if the deadline came first. */
bool block(State state, Time deadline);
/* Ends the running thread's time on its CPU for good. Returns the thread to run next. */
Thread *leave(void);
/* Allows new threads to use the entry of a thread that has ended. */
void free_slot(Thread *thread);
/* Makes a parked or new thread ready to run at `at`. */
void make_ready(Thread *thread, Time at);
/* Makes a parked thread ready to run some time after `now`, when it is woken. */
void wake_thread(Thread *thread, Time now);
/* Keeps a ready thread from running for a while, as an interrupt does. */
void interrupt(Thread *thread, Time duration);
/* Chooses the running thread when the machine starts. */
void start_scheduler(Thread *first);
/* Sets `running` and the end of its turn. */
void set_running(Thread *thread);
void set_event(Event *event, Time at);
void clear_event(Event *event);
Time process_busy(void);
Time busy_until(const Thread *thread, Time now);
extern uint64_t switch_count;

static inline void spend(Time duration) {
    running->clock += duration;
    running->busy += duration;
}

static inline void yield_if_ahead(void) {
    if (running->clock > horizon) reschedule();
}

/* Spends time in the kernel, after which earlier events of other threads are visible. */
static inline void spend_in_kernel(Time duration) {
    spend(duration);
    running->counts.calls++;
    yield_if_ahead();
}

/* ---- switch.c ---- */

uint64_t read_thread_pointer(void);
/* Continues `to` in place of `from`, on the same kernel thread. */
void switch_threads(Thread *from, Thread *to);
/* Parks the new kernel thread of `thread`, which from then on is switched to. */
void park_new_thread(Thread *thread);
/* Waits until park_new_thread() has parked it. */
void await_parked(Thread *thread);
/* Moves the running thread to its own kernel thread, where it can exit. */
void return_to_own_kernel_thread(Thread *thread);
/* Continues `to` on its own kernel thread, while the kernel thread of `from` exits. */
void switch_and_exit(Thread *from, Thread *to);
/* Waits until a kernel thread that is exiting is gone, so that real time decides nothing. */
void await_exit(void);

long raw_syscall(long number, long a, long b, long c, long d, long e, long f);
/* Converts the kernel's result to libc's convention. */
long with_errno(long result);

#define RAW0(n) raw_syscall(n, 0, 0, 0, 0, 0, 0)
#define RAW1(n, a) raw_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define RAW2(n, a, b) raw_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW3(n, a, b, c) raw_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW4(n, a, b, c, d) raw_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RAW6(n, a, b, c, d, e, f) \
    raw_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* ---- lines.c ---- */

typedef enum { READ, WRITE, UPDATE } Access;
/* Accesses the cache line of `address` from the code at `place`. */
void access_line(uintptr_t address, Access access, void *place);
void reset_profile(void);
/* Prints the places that cost most. */
void print_profile(int places);

/* ---- threads.c ---- */

void start_threads(Thread *first);
void find_stack(Thread *thread);

/* ---- waits.c ---- */

/* Wakes threads that wait for descriptors which are ready now. */
void wake_pollers(Time at, bool pays);
/* Parks the running thread until one of the descriptors is ready. */
bool await_descriptors(struct pollfd *polls, nfds_t count, Time deadline);
/* Parks the running thread until unpark_at(). Returns false if the deadline came first. No other
 * thread runs before it has parked, nor during unpark_at(). */
bool park_at(const void *address, Time deadline);
void unpark_at(const void *address, int count);
long futex_call(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout,
                uint32_t bits);
struct epoll_event;
int epoll_call(int epoll, struct epoll_event *events, int max, Time timeout);

/* ---- clocks.c ---- */

Time from_timespec(const struct timespec *spec);
/* Converts a point of a clock of the program to virtual time. */
Time from_point(clockid_t clock, const struct timespec *spec);
/* What happens when a timer's time has come. */
void fire(Timer *timer);
void forget_timer(int descriptor);

/* ---- environment.c ---- */

/* Opens the machine's version of a file, or returns -1 if the real file shall be opened. */
int open_virtual(const char *path);
/* Reads a virtual file whose content changes. Returns -1 if it is none. */
ssize_t read_virtual(int descriptor, void *buffer, size_t size, off_t offset);
void forget_virtual(int descriptor);
void fill_random(void *buffer, size_t size);
/* Returns the next number from 0 to 1 of the machine's own sequence. */
double random_share(void);
int virtual_thread_id(const Thread *thread);

/* ---- program.c ---- */

/* Reports a state that the machine cannot go on from, and exits. */
_Noreturn void fail(const char *what);

#endif

/* What a program can learn about the machine: CPUs, load, its own threads, and random numbers. */
#include "machine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's numbers of threads are the machine's plus this. */
#define FIRST_THREAD_ID 100000

static int cpus(void) { return (int)(cpu_limit > 0 ? cpu_limit : visible_cpus); }

/* ---- numbers of CPUs ---- */

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
    (void)process;
    if (running) spend_in_kernel(cost_syscall);
    CPU_ZERO_S(size, set);
    for (int i = 0; i < cpus(); i++) CPU_SET_S(i, size, set);
    return 0;
}

int get_nprocs(void) { return cpus(); }

long sysconf(int name) {
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return cpus();
    static __typeof__(&sysconf) real;
    if (!real) real = (__typeof__(&sysconf))dlsym(RTLD_NEXT, "sysconf");
    return real(name);
}

/* ---- files ---- */

#define CHANGING_MAX 16
/* Descriptors of /proc/loadavg, which programs keep open and read again. */
static int load_files[CHANGING_MAX];
static int load_file_count;

int virtual_thread_id(const Thread *thread) { return FIRST_THREAD_ID + thread->id; }

static int load_text(char *text, size_t size) {
    int runnable = 0, existing = 0;
    for (int i = 0; i < thread_count; i++) {
        runnable += threads[i].state == READY;
        existing += threads[i].state != UNUSED && threads[i].state != ENDED;
    }
    return snprintf(text, size, "0.00 0.00 0.00 %d/%d 1\n", runnable, existing);
}

/* Writes what /proc/self/task/ID/syscall says. Returns 0 if `path` is another file. */
static int syscall_text(const char *path, char *text, size_t size) {
    int id, end = 0;
    if (sscanf(path, "/proc/self/task/%d/syscall%n", &id, &end) != 1 || !end || path[end]) return 0;
    id -= FIRST_THREAD_ID;
    if (id < 0 || id >= thread_count || threads[id].state == UNUSED) return 0;
    State state = threads[id].state;
    if (state == READY) return snprintf(text, size, "running\n");
    int number = state == IN_POLL ? SYS_poll : state == ASLEEP ? SYS_nanosleep : SYS_futex;
    return snprintf(text, size, "%d 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", number);
}

static int quota_text(char *text, size_t size) {
    if (cpu_quota <= 0) return snprintf(text, size, "max 100000\n");
    return snprintf(text, size, "%d 100000\n", (int)(cpu_quota * 100000));
}

static int text_of(const char *path, char *text, size_t size) {
    if (!strcmp(path, "/sys/devices/system/cpu/online"))
        return snprintf(text, size, "0-%d\n", cpus() - 1);
    if (!strcmp(path, "/proc/self/cgroup")) return snprintf(text, size, "0::/\n");
    if (!strcmp(path, "/sys/fs/cgroup/cpu.max")) return quota_text(text, size);
    if (!strcmp(path, "/proc/loadavg")) return load_text(text, size);
    return syscall_text(path, text, size);
}

int open_virtual(const char *path) {
    char text[128];
    int size = text_of(path, text, sizeof text);
    if (!size) return -1;
    int descriptor = (int)RAW2(SYS_memfd_create, "virtual", 1 /* close on exec */);
    if (descriptor < 0) fail("cannot create a virtual file");
    RAW4(SYS_pwrite64, descriptor, text, size, 0);
    if (!strcmp(path, "/proc/loadavg") && load_file_count < CHANGING_MAX)
        load_files[load_file_count++] = descriptor;
    return descriptor;
}

ssize_t read_virtual(int descriptor, void *buffer, size_t size, off_t offset) {
    for (int i = 0; i < load_file_count; i++) {
        if (load_files[i] != descriptor) continue;
        char text[128];
        int length = load_text(text, sizeof text);
        RAW2(SYS_ftruncate, descriptor, 0);
        RAW4(SYS_pwrite64, descriptor, text, length, 0);
        return RAW4(SYS_pread64, descriptor, buffer, size, offset);
    }
    return -1;
}

void forget_virtual(int descriptor) {
    for (int i = 0; i < load_file_count; i++)
        if (load_files[i] == descriptor) load_files[i--] = load_files[--load_file_count];
}

/* ---- random numbers ---- */

/* The generator splitmix64. Each of its two sequences starts at a place of its own. */
static uint64_t next_random(uint64_t *steps, uint64_t start) {
    uint64_t word = ((uint64_t)random_seed << 32) + start + ++*steps * 0x9E3779B97F4A7C15u;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

/* What the program gets: the seeds of its hash functions repeat. */
void fill_random(void *buffer, size_t size) {
    static uint64_t steps;
    for (size_t done = 0; done < size;) {
        uint64_t word = next_random(&steps, 0);
        size_t part = size - done < sizeof word ? size - done : sizeof word;
        memcpy((char *)buffer + done, &word, part);
        done += part;
    }
}

double random_share(void) {
    static uint64_t steps;
    /* The 53 bits that a double holds. */
    return (double)(next_random(&steps, 1) >> 11) / (double)(1ull << 53);
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    (void)flags;
    fill_random(buffer, size);
    return (ssize_t)size;
}

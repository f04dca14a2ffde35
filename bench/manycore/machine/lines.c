/* The directory of cache lines.
 *
 * For each line of 64 bytes it records which cores have a copy, and whether one of them has
 * modified it. An access that needs another core to act moves the line. A line moves to one core at
 * a time: if several want it, they wait in the order in which they came.
 *
 * Caches are infinite: a core keeps a line until another one writes it.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES 64
#define LINES_PER_PAGE 64
#define PAGE_SHIFT 12
#define CORE_WORDS (THREADS_MAX / 64)
#define NO_OWNER (-1)

typedef struct {
    uint64_t sharers[CORE_WORDS]; /* the cores that have a copy */
    Time moves_until;             /* when its last transfer ends */
    int owner;                    /* the core that has modified it, or NO_OWNER */
    bool is_known;                /* some core has accessed it */
} Line;

typedef struct {
    uintptr_t number;
    Line lines[LINES_PER_PAGE];
} Page;

/* ---- pages ---- */

/* A hash table of all pages that the program has accessed: at most 512 MB of them. */
#define PAGE_SLOTS (1u << 18)
#define PAGES_MAX (PAGE_SLOTS / 2)
static Page *pages[PAGE_SLOTS];
static unsigned page_count;

/* Remembers recent pages, because almost every access is to one of them. */
#define RECENT 1024
static Page *recent[RECENT];

/* Pages do not come from malloc: the machine would move the program's own allocations. */
static Page *new_page(uintptr_t number) {
    static char *free_memory;
    static size_t free_bytes;
    if (++page_count > PAGES_MAX) fail("the program uses too much memory");
    if (free_bytes < sizeof(Page)) {
        free_bytes = 1024 * sizeof(Page);
        free_memory = mmap(NULL, free_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (free_memory == MAP_FAILED) fail("no memory for the directory of cache lines");
    }
    Page *page = (Page *)free_memory;
    free_memory += sizeof(Page);
    free_bytes -= sizeof(Page);
    page->number = number;
    for (int i = 0; i < LINES_PER_PAGE; i++) page->lines[i].owner = NO_OWNER;
    return page;
}

static unsigned page_slot(uintptr_t number) {
    /* Fibonacci hashing: the top bits of the product by 2^64 divided by the golden ratio. */
    unsigned slot = (unsigned)((number * 0x9E3779B97F4A7C15u) >> (64 - 18));
    while (pages[slot] && pages[slot]->number != number) slot = (slot + 1) % PAGE_SLOTS;
    return slot;
}

/* Returns the page, or null if no access was recorded there. */
static inline Page *find_page(uintptr_t number) {
    Page **hint = &recent[number % RECENT];
    if (*hint && (*hint)->number == number) return *hint;
    Page *page = pages[page_slot(number)];
    if (page) *hint = page;
    return page;
}

/* Adds a page. If it belongs to a thread's stack, that thread has accessed it already. */
static Page *add_page(uintptr_t number) {
    Page *page = pages[page_slot(number)] = new_page(number);
    uintptr_t address = number << PAGE_SHIFT;
    for (int i = 0; i < thread_count; i++) {
        Thread *thread = &threads[i];
        if (thread->state == UNUSED || thread->state == ENDED) continue;
        if (address + (1 << PAGE_SHIFT) <= thread->stack_low || address >= thread->stack_high)
            continue;
        thread->stack_is_shared = true;
        int core = thread->last_cpu;
        for (int n = 0; n < LINES_PER_PAGE; n++) {
            page->lines[n].owner = core;
            page->lines[n].sharers[core / 64] = 1ull << (core % 64);
            page->lines[n].is_known = true;
        }
    }
    return page;
}

/* ---- the profile ---- */

typedef struct {
    void *place;
    uint64_t transfers;
    Time time;
} Site;
#define SITES (1u << 14)
static Site sites[SITES];

static void record_transfer(void *place, Time time) {
    unsigned slot = (unsigned)(((uintptr_t)place * 0x9E3779B97F4A7C15u) >> (64 - 14));
    for (unsigned tried = 0; tried < SITES; tried++, slot = (slot + 1) % SITES) {
        if (!sites[slot].place) sites[slot].place = place;
        if (sites[slot].place != place) continue;
        sites[slot].transfers++;
        sites[slot].time += time;
        return;
    }
}

void reset_profile(void) { memset(sites, 0, sizeof sites); }

static int by_time(const void *a, const void *b) {
    Time left = ((const Site *)a)->time, right = ((const Site *)b)->time;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Prints offsets in the executable, from which its debug information tells the source lines. */
void print_profile(int places) {
    extern char __executable_start;
    qsort(sites, SITES, sizeof(Site), by_time);
    for (int i = 0; i < places && i < (int)SITES && sites[i].place; i++) {
        /* A hook knows where it returns to, which may be the next line already. */
        long offset = (char *)sites[i].place - 1 - &__executable_start;
        printf("site %#lx %lu %ld\n", offset, sites[i].transfers, (long)(sites[i].time / NS));
    }
}

/* ---- accesses ---- */

static bool others_have(const Line *line, int core) {
    uint64_t others = 0;
    for (int i = 0; i < CORE_WORDS; i++)
        others |= line->sharers[i] & ~(i == core / 64 ? 1ull << (core % 64) : 0);
    return others;
}

/* Waits for the line, and for its way to this core. */
static void transfer(Line *line, void *place) {
    yield_if_ahead();
    Thread *me = running;
    Time before = me->clock, from = line->moves_until > before ? line->moves_until : before;
    spend(from - before + cost_transfer);
    line->moves_until = me->clock;
    me->counts.transfers++;
    record_transfer(place, me->clock - before);
}

static void read_line(Line *line, int core, void *place) {
    uint64_t *word = &line->sharers[core / 64], bit = 1ull << (core % 64);
    if (*word & bit) return;
    if (!line->is_known) {
        spend(cost_first_touch);
        line->owner = core;
        line->is_known = true;
    } else if (line->owner != NO_OWNER) {
        transfer(line, place);
        line->owner = NO_OWNER;
    } else {
        yield_if_ahead();
        spend(cost_shared_read);
        running->counts.shared_reads++;
        record_transfer(place, cost_shared_read);
    }
    *word |= bit;
}

static void write_line(Line *line, int core, void *place) {
    if (line->owner == core) return;
    if (others_have(line, core))
        transfer(line, place);
    else if (!line->is_known)
        spend(cost_first_touch);
    memset(line->sharers, 0, sizeof line->sharers);
    line->sharers[core / 64] = 1ull << (core % 64);
    line->owner = core;
    line->is_known = true;
}

void access_line(uintptr_t address, Access access, void *place) {
    Thread *me = running;
    spend(access == UPDATE ? cost_rmw : cost_hit);
    Page *page = find_page(address >> PAGE_SHIFT);
    if (address - me->stack_low < me->stack_high - me->stack_low) {
        if (!me->stack_is_shared || !page) return;
    } else if (!page) {
        page = add_page(address >> PAGE_SHIFT);
    }
    Line *line = &page->lines[address / LINE_BYTES % LINES_PER_PAGE];
    int core = me->cpu;
    if (access == READ)
        read_line(line, core, place);
    else
        write_line(line, core, place);
}

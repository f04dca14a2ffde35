/* Threads: created, joined and detached in virtual time. */
#include "machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Its destructor runs when a thread ends, after those of the program's thread-local variables. */
static pthread_key_t end_key;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void find_stack(Thread *thread) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    thread->stack_low = (uintptr_t)low;
    thread->stack_high = thread->stack_low + size;
    thread->stack_is_shared = false;
}

static Thread *find_thread(pthread_t handle) {
    for (int i = 0; i < thread_count; i++)
        if (threads[i].state != UNUSED && pthread_equal(threads[i].handle, handle))
            return &threads[i];
    return NULL;
}

static void *begin_thread(void *argument) {
    Thread *me = argument;
    park_new_thread(me);
    /* From here on this is a virtual thread on the carrier. */
    await_exit();
    find_stack(me);
    pthread_setspecific(end_key, me);
    return me->start(me->argument);
}

static void end_thread(void *argument) {
    Thread *me = argument;
    if (!running) return;
    for (int i = 0; i < thread_count; i++)
        if (threads[i].state == JOINING && threads[i].joins == me)
            wake_thread(&threads[i], me->clock);
    return_to_own_kernel_thread(me);
    Thread *next = leave();
    set_running(next);
    switch_and_exit(me, next);
}

static Thread *unused_slot(void) {
    for (int i = 0; i < thread_count; i++)
        if (threads[i].state == UNUSED) return &threads[i];
    if (thread_count == THREADS_MAX) fail("too many threads");
    Thread *slot = &threads[thread_count];
    slot->id = slot->last_cpu = thread_count++;
    slot->event.thread = slot;
    return slot;
}

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    REAL(pthread_create);
    Thread *me = running;
    if (!me) return real(handle, attributes, start, argument);
    spend_in_kernel(cost_thread_create);
    Thread *thread = unused_slot();
    thread->cpu = thread->event.position = -1;
    thread->is_parked = thread->resume = 0;
    thread->is_detached = false;
    thread->start = start;
    thread->argument = argument;
    thread->clock = me->clock;
    thread->stack_low = thread->stack_high = 0;
    int error = real(handle, attributes, begin_thread, thread);
    if (error) {
        free_slot(thread);
        return error;
    }
    await_parked(thread);
    thread->handle = *handle;
    make_ready(thread, me->clock + delay_thread_start);
    return 0;
}

int pthread_join(pthread_t handle, void **result) {
    REAL(pthread_join);
    Thread *thread = running ? find_thread(handle) : NULL;
    if (!thread) return real(handle, result);
    spend_in_kernel(cost_syscall);
    if (thread->state != ENDED) {
        running->joins = thread;
        block(JOINING, NEVER);
    }
    int error = real(handle, result);
    if (!error) free_slot(thread);
    return error;
}

int pthread_detach(pthread_t handle) {
    REAL(pthread_detach);
    Thread *thread = running ? find_thread(handle) : NULL;
    if (thread) {
        thread->is_detached = true;
        if (thread->state == ENDED) free_slot(thread);
    }
    return real(handle);
}

void start_threads(Thread *first) {
    pthread_key_create(&end_key, end_thread);
    thread_count = 1;
    first->event.thread = first;
    first->event.position = first->cpu = -1;
    first->handle = pthread_self();
    first->thread_pointer = read_thread_pointer();
    find_stack(first);
}

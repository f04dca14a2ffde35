/* The locks and condition variables of pthread. Rust's own do not use them, but C libraries do.
 *
 * The C library would wait for them in the kernel, and with the carrier all threads would wait. So
 * its locks are only tried, and waiting is the machine's. Calls that the C library makes itself do
 * not come here; it holds its locks in no call that could switch threads.
 */
#include "machine.h"

#include <dlfcn.h>
#include <errno.h>

static int try_lock(pthread_mutex_t *mutex) {
    static __typeof__(&pthread_mutex_trylock) real;
    if (!real) real = (__typeof__(&pthread_mutex_trylock))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    return real(mutex);
}

static int lock(pthread_mutex_t *mutex) {
    int error;
    while ((error = try_lock(mutex)) == EBUSY) park_at(mutex, NEVER);
    return error;
}

static int unlock(pthread_mutex_t *mutex) {
    static __typeof__(&pthread_mutex_unlock) real;
    if (!real) real = (__typeof__(&pthread_mutex_unlock))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int error = real(mutex);
    if (!error && running) unpark_at(mutex, 1);
    return error;
}

/* Both cost what an atomic update of the lock costs. */
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (running) {
        yield_if_ahead();
        access_line((uintptr_t)mutex, UPDATE, __builtin_return_address(0));
        return lock(mutex);
    }
    /* Before the machine starts, and when it has stopped, no other thread runs. */
    return try_lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (running) {
        yield_if_ahead();
        access_line((uintptr_t)mutex, UPDATE, __builtin_return_address(0));
    }
    int error = unlock(mutex);
    if (running) yield_if_ahead();
    return error;
}

/* A thread that waits is only woken by a call below, so there are no spurious wake-ups. */
static int wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, Time deadline) {
    if (!running) fail("a condition variable is used without the machine");
    unlock(mutex);
    bool was_woken = park_at(condition, deadline);
    int error = lock(mutex);
    return error ? error : was_woken ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    return wait_until(condition, mutex, NEVER);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *time) {
    return wait_until(condition, mutex, from_point(clock, time));
}

/* The clock of the condition variable's attributes is not known here; this is the default. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *time) {
    return wait_until(condition, mutex, from_point(CLOCK_REALTIME, time));
}

int pthread_cond_signal(pthread_cond_t *condition) {
    if (running) unpark_at(condition, 1);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    if (running) unpark_at(condition, THREADS_MAX);
    return 0;
}

/* The hooks that the compiler inserts with `-Zsanitizer=thread`, in place of ThreadSanitizer's.
 *
 * An atomic access happens in the order of virtual time: earlier events of other threads come
 * first. Plain accesses need no order, because programs without data races order them by atomic
 * ones.
 */
#include "machine.h"

#include <string.h>

#define CALLER __builtin_return_address(0)

static inline void plain_access(const volatile void *address, Access access, void *place) {
    if (running) access_line((uintptr_t)address, access, place);
}

static inline void atomic_access(const volatile void *address, Access access, void *place) {
    if (!running) return;
    yield_if_ahead();
    access_line((uintptr_t)address, access, place);
}

static inline void atomic_update(const volatile void *address, void *place) {
    if (!running) return;
    running->counts.rmws++;
    atomic_access(address, UPDATE, place);
}

#define PLAIN(size)                                                                          \
    void __tsan_read##size(void *a) { plain_access(a, READ, CALLER); }                       \
    void __tsan_write##size(void *a) { plain_access(a, WRITE, CALLER); }                     \
    void __tsan_unaligned_read##size(void *a) { plain_access(a, READ, CALLER); }             \
    void __tsan_unaligned_write##size(void *a) { plain_access(a, WRITE, CALLER); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_vptr_read(void **a) { plain_access(a, READ, CALLER); }
void __tsan_vptr_update(void **a, void *value) {
    (void)value;
    plain_access(a, WRITE, CALLER);
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) {
    (void)caller;
    if (running) spend(cost_call);
}
void __tsan_func_exit(void) {}

static void access_range(const void *start, size_t size, Access access, void *place) {
    if (!running) return;
    uintptr_t first = (uintptr_t)start, end = first + size;
    for (uintptr_t at = first; at < end; at = (at | 63) + 1) access_line(at, access, place);
}

void __tsan_read_range(void *a, size_t size) { access_range(a, size, READ, CALLER); }
void __tsan_write_range(void *a, size_t size) { access_range(a, size, WRITE, CALLER); }
void *__tsan_memcpy(void *to, const void *from, size_t size) {
    access_range(from, size, READ, CALLER);
    access_range(to, size, WRITE, CALLER);
    return memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size) {
    access_range(from, size, READ, CALLER);
    access_range(to, size, WRITE, CALLER);
    return memmove(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
    access_range(to, size, WRITE, CALLER);
    return memset(to, value, size);
}

/* On x86 only a sequentially consistent fence is an instruction, as dear as an update. */
void __tsan_atomic_thread_fence(int order) {
    if (running && order == __ATOMIC_SEQ_CST) spend(cost_rmw);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* So is a sequentially consistent store. */
#define LOADS_AND_STORES(size, type)                                                         \
    type __tsan_atomic##size##_load(const volatile type *a, int order) {                     \
        (void)order;                                                                         \
        atomic_access(a, READ, CALLER);                                                      \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                         \
    }                                                                                        \
    void __tsan_atomic##size##_store(volatile type *a, type value, int order) {              \
        atomic_access(a, order == __ATOMIC_SEQ_CST ? UPDATE : WRITE, CALLER);                \
        __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                        \
    }

#define UPDATE_BY(size, type, hook, builtin)                                                 \
    type __tsan_atomic##size##_##hook(volatile type *a, type value, int order) {             \
        (void)order;                                                                         \
        atomic_update(a, CALLER);                                                            \
        return builtin(a, value, __ATOMIC_SEQ_CST);                                          \
    }

#define COMPARE_EXCHANGE(size, type, strength)                                               \
    int __tsan_atomic##size##_compare_exchange_##strength(                                   \
        volatile type *a, type *expected, type value, int order, int failure_order) {        \
        (void)order, (void)failure_order;                                                    \
        atomic_update(a, CALLER);                                                            \
        return __atomic_compare_exchange_n(a, expected, value, 0, __ATOMIC_SEQ_CST,          \
                                           __ATOMIC_SEQ_CST);                                \
    }

#define ATOMIC(size, type)                                                                   \
    LOADS_AND_STORES(size, type)                                                             \
    UPDATE_BY(size, type, exchange, __atomic_exchange_n)                                     \
    UPDATE_BY(size, type, fetch_add, __atomic_fetch_add)                                     \
    UPDATE_BY(size, type, fetch_sub, __atomic_fetch_sub)                                     \
    UPDATE_BY(size, type, fetch_and, __atomic_fetch_and)                                     \
    UPDATE_BY(size, type, fetch_or, __atomic_fetch_or)                                       \
    UPDATE_BY(size, type, fetch_xor, __atomic_fetch_xor)                                     \
    UPDATE_BY(size, type, fetch_nand, __atomic_fetch_nand)                                   \
    COMPARE_EXCHANGE(size, type, strong)                                                     \
    COMPARE_EXCHANGE(size, type, weak)                                                       \
    type __tsan_atomic##size##_compare_exchange_val(volatile type *a, type expected,         \
                                                    type value, int order, int failure) {    \
        (void)order, (void)failure;                                                          \
        atomic_update(a, CALLER);                                                            \
        __atomic_compare_exchange_n(a, &expected, value, 0, __ATOMIC_SEQ_CST,                \
                                    __ATOMIC_SEQ_CST);                                       \
        return expected;                                                                     \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

/* Moves the real CPU from one virtual thread to another.
 *
 * A virtual thread is a thread of pthread with its own stack and thread-local storage, but it does
 * not run on its own kernel thread: one kernel thread, the carrier, runs all of them in turn. To
 * switch, it exchanges the callee-saved registers, the stack pointer and the base of thread-local
 * storage. That takes some nanoseconds, where a wake-up of another kernel thread takes
 * microseconds. All other kernel threads are parked in a futex, and use no memory there: the
 * carrier may be running on their stacks.
 *
 * A thread can exit only on its own kernel thread. So at its end it moves there, which makes that
 * one the carrier, and on leaving passes this role to the kernel thread of the next virtual thread.
 */
#include "machine.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the machine runs on x86-64 only"
#endif

/* The kernel thread that runs virtual threads now, named by the virtual thread it belongs to. */
static Thread *carrier = &threads[0];
/* The kernel's number of a kernel thread that is exiting, or 0. */
static int exiting_kernel_id;

long raw_syscall(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

long with_errno(long result) {
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003

uint64_t read_thread_pointer(void) {
    uint64_t base;
    RAW2(SYS_arch_prctl, ARCH_GET_FS, &base);
    return base;
}

/* Whether the kernel lets programs set the base themselves (Linux 5.9, and a CPU since 2012). */
static bool can_write_base(void) {
    static int answer = -1;
    if (answer < 0) answer = (getauxval(AT_HWCAP2) & 2) != 0;
    return answer;
}

static void set_thread_pointer(uint64_t base) {
    if (can_write_base())
        __asm__ volatile("wrfsbase %0" : : "r"(base) : "memory");
    else
        RAW2(SYS_arch_prctl, ARCH_SET_FS, base);
}

/* void swap_stacks(void **save, void *load): the registers that a call preserves go on the old
 * stack, and come from the new one. */
__asm__(".text\n.type swap_stacks, @function\nswap_stacks:\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
        "ret\n.size swap_stacks, . - swap_stacks\n");
void swap_stacks(void **save, void *load);

/* void hand_over(void **save, int *wake, Thread *parks, int *resume): saves the stack of the
 * running thread, sets and wakes the futex `wake`, and parks this kernel thread, which belongs to
 * `parks`, in the futex `resume`. Then continues `parks`. From the wake-up on, another kernel
 * thread may be using this stack, so only registers are used. */
__asm__(".text\n.type hand_over, @function\nhand_over:\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rdx, %r12\n" /* parks */
        "mov %rcx, %r13\n" /* resume */
        "mov %rsi, %rdi\n" /* futex(wake, FUTEX_WAKE_PRIVATE, 1) */
        "movl $1, (%rdi)\n"
        "mov $129, %esi\n mov $1, %edx\n mov $202, %eax\n syscall\n"
        "1: cmpl $0, (%r13)\n jne 2f\n"
        "mov %r13, %rdi\n" /* futex(resume, FUTEX_WAIT_PRIVATE, 0, no timeout) */
        "mov $128, %esi\n xor %edx, %edx\n xor %r10d, %r10d\n mov $202, %eax\n syscall\n"
        "jmp 1b\n"
        "2: movl $0, (%r13)\n"
        "mov $0x1002, %edi\n" /* arch_prctl(ARCH_SET_FS, parks->thread_pointer) */
        "mov thread_pointer_offset(%rip), %rsi\n mov (%r12, %rsi), %rsi\n"
        "mov $158, %eax\n syscall\n"
        "mov stack_pointer_offset(%rip), %rax\n mov (%r12, %rax), %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
        "ret\n.size hand_over, . - hand_over\n");
void hand_over(void **save, int *wake, Thread *parks, int *resume);
__attribute__((used)) static const size_t thread_pointer_offset = offsetof(Thread, thread_pointer);
__attribute__((used)) static const size_t stack_pointer_offset = offsetof(Thread, stack_pointer);

/* The C code between the two calls below has no access to thread-local storage: the build turns
 * off stack protectors, and inlining cannot reach into assembly. */
void switch_threads(Thread *from, Thread *to) {
    set_thread_pointer(to->thread_pointer);
    swap_stacks(&from->stack_pointer, to->stack_pointer);
}

void park_new_thread(Thread *thread) {
    thread->thread_pointer = read_thread_pointer();
    thread->kernel_id = (int)RAW0(SYS_gettid);
    hand_over(&thread->stack_pointer, &thread->is_parked, thread, &thread->resume);
}

void await_parked(Thread *thread) {
    while (!__atomic_load_n(&thread->is_parked, __ATOMIC_SEQ_CST))
        RAW4(SYS_futex, &thread->is_parked, FUTEX_WAIT_PRIVATE, 0, 0);
}

void return_to_own_kernel_thread(Thread *thread) {
    Thread *before = carrier;
    if (before == thread) return;
    carrier = thread;
    hand_over(&thread->stack_pointer, &thread->resume, before, &before->resume);
}

void switch_and_exit(Thread *from, Thread *to) {
    exiting_kernel_id = from->kernel_id;
    carrier = to;
    __atomic_store_n(&to->resume, 1, __ATOMIC_SEQ_CST);
    RAW3(SYS_futex, &to->resume, FUTEX_WAKE_PRIVATE, 1);
}

void await_exit(void) {
    if (!exiting_kernel_id) return;
    /* The signal 0 only asks whether the thread exists. */
    while (RAW3(SYS_tgkill, getpid(), exiting_kernel_id, 0) == 0) RAW0(SYS_sched_yield);
    exiting_kernel_id = 0;
}

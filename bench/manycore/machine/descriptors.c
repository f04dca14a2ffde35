/* Calls on descriptors. The kernel carries them out at once; the machine charges for them, wakes
 * threads that wait for their effects, and parks the thread if the call would block. */
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Parks the running thread until a call that waits for `event` would not block. */
static void await_ready(int descriptor, short event, int flags) {
    if (flags & MSG_DONTWAIT) return;
    long status = RAW3(SYS_fcntl, descriptor, F_GETFL, 0);
    if (status < 0 || status & O_NONBLOCK) return;
    struct pollfd self = { descriptor, event, 0 };
    while (RAW3(SYS_poll, &self, 1, 0) == 0) await_descriptors(&self, 1, NEVER);
}

/* A call that moves data: it may make other descriptors readable, or writable. */
#define DATA_CALL(descriptor, event, flags, call)                                            \
    if (!running) return with_errno(call);                                                   \
    spend_in_kernel(cost_io);                                                                \
    await_ready(descriptor, event, flags);                                                   \
    ssize_t result = with_errno(call);                                                       \
    if (result > 0) wake_pollers(running->clock, true);                                      \
    return result;

ssize_t read(int fd, void *buffer, size_t size) {
    DATA_CALL(fd, POLLIN, 0, RAW3(SYS_read, fd, buffer, size))
}
ssize_t readv(int fd, const struct iovec *vectors, int count) {
    DATA_CALL(fd, POLLIN, 0, RAW3(SYS_readv, fd, vectors, count))
}
ssize_t recv(int fd, void *buffer, size_t size, int flags) {
    DATA_CALL(fd, POLLIN, flags, RAW6(SYS_recvfrom, fd, buffer, size, flags, 0, 0))
}
ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    DATA_CALL(fd, POLLIN, flags, RAW3(SYS_recvmsg, fd, message, flags))
}
ssize_t write(int fd, const void *buffer, size_t size) {
    DATA_CALL(fd, POLLOUT, 0, RAW3(SYS_write, fd, buffer, size))
}
ssize_t writev(int fd, const struct iovec *vectors, int count) {
    DATA_CALL(fd, POLLOUT, 0, RAW3(SYS_writev, fd, vectors, count))
}
ssize_t send(int fd, const void *buffer, size_t size, int flags) {
    DATA_CALL(fd, POLLOUT, flags, RAW6(SYS_sendto, fd, buffer, size, flags, 0, 0))
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    DATA_CALL(fd, POLLOUT, flags, RAW3(SYS_sendmsg, fd, message, flags))
}

/* A call that changes what a descriptor is connected with, which its other end notices. */
#define LINK_CALL(call)                                                                      \
    if (running) spend_in_kernel(cost_io);                                                   \
    int result = (int)with_errno(call);                                                      \
    int error = errno;                                                                       \
    if (running) wake_pollers(running->clock, true);                                         \
    errno = error;                                                                           \
    return result;

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    LINK_CALL(RAW3(SYS_connect, fd, address, size))
}
int shutdown(int fd, int how) { LINK_CALL(RAW2(SYS_shutdown, fd, how)) }
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    if (running) await_ready(fd, POLLIN, 0);
    LINK_CALL(RAW4(SYS_accept4, fd, address, size, flags))
}
int close(int fd) {
    forget_timer(fd);
    forget_virtual(fd);
    LINK_CALL(RAW1(SYS_close, fd))
}

static int open_file(int at, const char *path, int flags, int mode) {
    if (running) {
        spend_in_kernel(cost_io);
        int descriptor = open_virtual(path);
        if (descriptor >= 0) return descriptor;
    }
    return (int)with_errno(RAW4(SYS_openat, at, path, flags, mode));
}
#define MODE_OF(flags)                                                                       \
    va_list rest;                                                                            \
    va_start(rest, flags);                                                                   \
    int mode = va_arg(rest, int);                                                            \
    va_end(rest);
int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}
ssize_t pread64(int fd, void *buffer, size_t size, off_t offset) {
    if (running) {
        spend_in_kernel(cost_io);
        ssize_t result = read_virtual(fd, buffer, size, offset);
        if (result >= 0) return result;
    }
    return with_errno(RAW4(SYS_pread64, fd, buffer, size, offset));
}

/* ---- syscall() ---- */

/* Interrupts all threads that run, so that each executes a barrier. */
static long barrier(int command) {
    const int expedited = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_GLOBAL_EXPEDITED;
    if (!(command & expedited)) return with_errno(RAW3(SYS_membarrier, command, 0, 0));
    spend_in_kernel(cost_barrier);
    for (int i = 0; i < thread_count; i++)
        if (threads[i].state == READY && threads[i].cpu >= 0 && &threads[i] != running)
            interrupt(&threads[i], cost_interrupt);
    return 0;
}

static Time ms_timeout(long ms) { return (int)ms < 0 ? -1 : (int)ms * 1000 * US; }

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

long syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
    long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
    va_end(rest);
    if (!running) return with_errno(RAW6(number, a, b, c, d, e, f));
    switch (number) {
    case SYS_futex:
        return futex_call((uint32_t *)a, (int)b, (uint32_t)c, (const struct timespec *)d,
                          (uint32_t)f);
    case SYS_epoll_pwait:
        return epoll_call((int)a, (struct epoll_event *)b, (int)c, ms_timeout(d));
    case SYS_epoll_pwait2:
        return epoll_call((int)a, (struct epoll_event *)b, (int)c,
                          d ? from_timespec((const struct timespec *)d) : -1);
    case SYS_membarrier:
        return barrier((int)a);
    }
    spend_in_kernel(cost_syscall);
    switch (number) {
    case SYS_gettid:
        return virtual_thread_id(running);
    case SYS_getrandom:
        fill_random((void *)a, (size_t)b);
        return b;
    default:
        return with_errno(RAW6(number, a, b, c, d, e, f));
    }
}

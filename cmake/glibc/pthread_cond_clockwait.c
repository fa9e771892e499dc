// cmake/glibc/pthread_cond_clockwait.c — Since glibc 2.30. The C++ library waits with it until a time of
// CLOCK_MONOTONIC. Its condition variables have CLOCK_REALTIME, so the wait ends early or late if that clock
// is set meanwhile. The C++ library reads the time again after each wait.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

enum { second = 1000000000 };

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
    struct timespec now, real;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &real);
    real.tv_sec += until->tv_sec - now.tv_sec;
    real.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (real.tv_nsec < 0) {
        real.tv_nsec += second;
        --real.tv_sec;
    } else if (real.tv_nsec >= second) {
        real.tv_nsec -= second;
        ++real.tv_sec;
    }
    return pthread_cond_timedwait(condition, mutex, &real);
}

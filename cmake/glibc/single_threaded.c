// cmake/glibc/single_threaded.c — Since glibc 2.32. The C++ library counts references without atomics while
// it is true; false is always safe.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

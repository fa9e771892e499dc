// cmake/glibc/stat.c — Symbols since glibc 2.33. Before, they were inline functions that called those
// declared here.
#define _GNU_SOURCE
#include <sys/stat.h>

enum { of_this_kernel = 1 };  // _STAT_VER of x86-64
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);
int __fxstatat(int, int, const char*, struct stat*, int);

int stat(const char* path, struct stat* to) { return __xstat(of_this_kernel, path, to); }
int lstat(const char* path, struct stat* to) { return __lxstat(of_this_kernel, path, to); }
int fstat(int file, struct stat* to) { return __fxstat(of_this_kernel, file, to); }
int fstatat(int folder, const char* path, struct stat* to, int flags) {
    return __fxstatat(of_this_kernel, folder, path, to, flags);
}

// On 64-bit machines struct stat64 is struct stat.
int stat64(const char*, struct stat64*) __attribute__((alias("stat")));
int lstat64(const char*, struct stat64*) __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int fstatat64(int, const char*, struct stat64*, int) __attribute__((alias("fstatat")));

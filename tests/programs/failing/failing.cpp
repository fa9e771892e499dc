// tests/programs/failing/failing.cpp — A library below libc's callers in which one call fails: the N-th
// allocation, write, opening of a file, mapping, new thread or new process of the program that it is
// preloaded into.
//
// DEADRANK_FAIL=KIND:N fails call N, counted from 1; KIND:N+ that one and all after it; KIND:0 none.
// DEADRANK_FAIL_COUNT=FILE gets the number of calls, at the end of the program.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

enum class Kind { none, malloc, write, open, mmap, thread, fork };

constexpr const char* names[] = {"", "malloc", "write", "open", "mmap", "thread", "fork"};

Kind kind = Kind::none;
long first = 0;
bool and_after = false;
std::atomic<long> calls = 0;

bool fails(Kind called) {
    if (called != kind) return false;
    const long number = ++calls;
    return first > 0 && (number == first || (and_after && number > first));
}

__attribute__((constructor)) void begin() {
    const char* wish = std::getenv("DEADRANK_FAIL");
    const char* colon = wish ? std::strchr(wish, ':') : nullptr;
    if (!colon) return;
    first = std::strtol(colon + 1, nullptr, 10);
    and_after = std::strchr(colon, '+') != nullptr;
    for (int i = 1; i <= 6; ++i) {
        const std::size_t length = std::strlen(names[i]);
        if (static_cast<std::size_t>(colon - wish) == length && std::strncmp(wish, names[i], length) == 0)
            kind = static_cast<Kind>(i);
    }
}

__attribute__((destructor)) void end() {
    const long all = calls;
    kind = Kind::none;
    const char* file = std::getenv("DEADRANK_FAIL_COUNT");
    std::FILE* out = file ? std::fopen(file, "w") : nullptr;
    if (!out) return;
    std::fprintf(out, "%ld\n", all);
    std::fclose(out);
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

template <class Result>
Result refuse(int why, Result result) {
    errno = why;
    return result;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
    return fails(Kind::malloc) ? refuse<void*>(ENOMEM, nullptr) : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
    return fails(Kind::malloc) ? refuse<void*>(ENOMEM, nullptr) : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
    return fails(Kind::malloc) ? refuse<void*>(ENOMEM, nullptr) : __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return fails(Kind::malloc) ? refuse<void*>(ENOMEM, nullptr) : __libc_memalign(alignment, size);
}
int posix_memalign(void** place, std::size_t alignment, std::size_t size) noexcept {
    if (fails(Kind::malloc)) return ENOMEM;
    *place = __libc_memalign(alignment, size);
    return *place ? 0 : ENOMEM;
}

// The disk is full, not gone.
ssize_t write(int descriptor, const void* bytes, std::size_t count) {
    static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
    return fails(Kind::write) ? refuse<ssize_t>(ENOSPC, -1) : real(descriptor, bytes, count);
}

int open(const char* path, int flags, ...) {
    static const auto real = next<int (*)(const char*, int, unsigned)>("open");
    __builtin_va_list more;
    __builtin_va_start(more, flags);
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(more, unsigned) : 0;
    __builtin_va_end(more);
    return fails(Kind::open) ? refuse(EMFILE, -1) : real(path, flags, mode);
}
std::FILE* fopen(const char* path, const char* mode) {
    static const auto real = next<std::FILE* (*)(const char*, const char*)>("fopen");
    return fails(Kind::open) ? refuse<std::FILE*>(EMFILE, nullptr) : real(path, mode);
}
std::FILE* fopen64(const char* path, const char* mode) {
    static const auto real = next<std::FILE* (*)(const char*, const char*)>("fopen64");
    return fails(Kind::open) ? refuse<std::FILE*>(EMFILE, nullptr) : real(path, mode);
}

void* mmap(void* at, std::size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
    static const auto real = next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
    return fails(Kind::mmap) ? refuse<void*>(ENOMEM, MAP_FAILED)
                             : real(at, size, protection, flags, descriptor, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
    static const auto real =
        next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    return fails(Kind::thread) ? EAGAIN : real(thread, attributes, body, argument);
}

pid_t fork() noexcept {
    static const auto real = next<pid_t (*)()>("fork");
    return fails(Kind::fork) ? refuse<pid_t>(EAGAIN, -1) : real();
}

}  // extern "C"

// inject/shims/files/drawn_names.cpp — mkstemp and its like, wrapped, since each name has to be known before
// its file exists: libc itself opens the name that it draws internally.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/shims/files/file_calls.h"

namespace deadrank::inject::shims {

namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                           place = "XXXXXX";

// `make` answers -1 with EEXIST where the name is taken.
template <class Make>
int drawn(char* name, int behind_it, const Make& make) {
    const auto length = static_cast<std::ptrdiff_t>(std::strlen(name));
    const std::ptrdiff_t begin = length - behind_it - static_cast<std::ptrdiff_t>(place.size());
    if (behind_it < 0 || begin < 0 || std::string_view(name + begin, place.size()) != place) {
        errno = EINVAL;
        return -1;
    }
    for (int attempt = 0; attempt < 1000; ++attempt) {
        unsigned char bytes[place.size()];
        if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return -1;
        for (std::size_t i = 0; i < place.size(); ++i)
            name[begin + static_cast<std::ptrdiff_t>(i)] = letters[bytes[i] % letters.size()];
        const int made = make();
        if (made >= 0 || errno != EEXIST) return made;
    }
    return -1;
}

int drawn_file(char* name, int behind_it, int flags) {
    return drawn(name, behind_it,
                 [&] { return ::open(name, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600); });
}

}  // namespace

}  // namespace deadrank::inject::shims

using namespace deadrank::inject::shims;

#pragma GCC visibility push(default)
extern "C" {

int mkostemps(char* name, int behind_it, int flags) { return drawn_file(name, behind_it, flags); }
int mkostemp(char* name, int flags) { return drawn_file(name, 0, flags); }
int mkstemps(char* name, int behind_it) { return drawn_file(name, behind_it, 0); }
int mkstemp(char* name) { return drawn_file(name, 0, 0); }
int mkostemps64(char*, int, int) __attribute__((alias("mkostemps")));
int mkostemp64(char*, int) __attribute__((alias("mkostemp")));
int mkstemps64(char*, int) __attribute__((alias("mkstemps")));
int mkstemp64(char*) __attribute__((alias("mkstemp")));
char* mkdtemp(char* name) noexcept {
    return drawn(name, 0, [&] { return ::mkdir(name, 0700); }) < 0 ? nullptr : name;
}
}
#pragma GCC visibility pop

// inject/shims/files/file_calls.h — What the functions that wrap libc's share.
#pragma once

#include <dlfcn.h>

#include "inject/shims/core/session.h"
#include "inject/shims/files/damage.h"
#include "inject/shims/files/file_keeper.h"
#include "inject/shims/files/file_turn.h"

namespace deadrank::inject::shims {

template <class Call>
Call next_symbol(const char* name) {
    return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

inline void flip(char* data, std::int64_t bit) {
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << (bit % 8)));
}

// Calls that matter to faults alone; and calls that change what a name refers to, whose files are kept, too.
inline bool watched() { return Damage::any() && !Inside::now(); }
inline bool guarded() { return (Keeper::on() || Damage::any()) && !Inside::now(); }

}  // namespace deadrank::inject::shims

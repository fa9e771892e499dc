// inject/shims/core/below.h — The library below an interposer: the one that the program loaded, found by
// name, so that ours links none and loads into any program.
#pragma once

namespace deadrank::inject::shims {

// A function that an interposer wraps.
struct CallBelow {
    const char* symbol;  // "ncclAllReduce"
    const char* moment;  // as a plan's `before` calls it: "all_reduce"
};

// The next one after ours in the search order; else the one in `library` ("libnccl.so.2"), where a dlopen
// with RTLD_LOCAL hides it. Never loads one. Null when there is none.
void* symbol_below(const char* symbol, const char* library);

// Of `library` alone, as above.
void* hidden_symbol(const char* symbol, const char* library);

}  // namespace deadrank::inject::shims

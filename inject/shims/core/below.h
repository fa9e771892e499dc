// inject/shims/core/below.h — The library below an interposer: whichever the program brought, found by name,
// so that ours links none and loads into anything.
#pragma once

namespace deadrank::inject::shims {

// A function that an interposer stands before.
struct CallBelow {
    const char* symbol;  // "ncclAllReduce"
    const char* moment;  // as a plan's `before` calls it: "all_reduce"
};

// Behind ours in the order of libraries; else in `library` ("libnccl.so.2") where it is loaded out of sight,
// as a dlopen with RTLD_LOCAL does. Never loads one. Null when there is none.
void* symbol_below(const char* symbol, const char* library);

// Of `library` alone, as above.
void* hidden_symbol(const char* symbol, const char* library);

}  // namespace deadrank::inject::shims

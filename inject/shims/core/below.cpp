// inject/shims/core/below.cpp — Looked up anew each time, since the library may be loaded after us.
#include "inject/shims/core/below.h"

#include <dlfcn.h>

namespace deadrank::inject::shims {

void* hidden_symbol(const char* symbol, const char* library) {
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    return loaded ? ::dlsym(loaded, symbol) : nullptr;
}

void* symbol_below(const char* symbol, const char* library) {
    void* const known = ::dlsym(RTLD_NEXT, symbol);
    return known ? known : hidden_symbol(symbol, library);
}

}  // namespace deadrank::inject::shims

// inject/shims/core/inside.cpp — Counted by thread: a library's own threads are met at depth 0.
#include "inject/shims/core/inside.h"

namespace deadrank::inject::shims {

int& Inside::depth() {
    thread_local int depth = 0;
    return depth;
}

}  // namespace deadrank::inject::shims

// inject/shims/core/inside.h — Whose call is it? Asked at each call of a shim, so it is one load when there
// is nothing to do.
#pragma once

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

inline bool awake() {
    static const bool wanted = Session::wanted();
    return wanted;
}

// Libraries call their own public functions, too. Those calls are not the program's.
class Inside {
public:
    Inside() { ++depth(); }
    ~Inside() { --depth(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    static bool now() { return depth() > 0; }

private:
    static int& depth();
};

inline bool watching() { return awake() && !Inside::now(); }

}  // namespace deadrank::inject::shims

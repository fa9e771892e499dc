// inject/shims/env/env_plugin.cpp — The plugin that NCCL asks for its variables.

#include <cstdint>
#include <cstdlib>

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

namespace {

// What the plan says of this rank. The strings stay where they are: NCCL keeps the pointers.
const Surroundings& surroundings() {
    static Session* const session = new Session;
    static const Surroundings nothing;
    const auto mine = session->plan().environment.find(session->rank().rank);
    return mine == session->plan().environment.end() ? nothing : mine->second;
}

int init(std::uint8_t, std::uint8_t, std::uint8_t, const char*) {
    (void)surroundings();  // a bad plan is reported before anything else
    return 0;
}
int finalize() { return 0; }

const char* value_of(const char* name) {
    const Surroundings& mine = surroundings();
    if (const auto found = mine.set.find(name); found != mine.set.end()) return found->second.c_str();
    return mine.unset.contains(name) ? nullptr : std::getenv(name);
}

struct Plugin {
    const char* name;
    int (*init)(std::uint8_t, std::uint8_t, std::uint8_t, const char*);
    int (*finalize)();
    const char* (*value)(const char*);
};

}  // namespace

}  // namespace deadrank::inject::shims

#pragma GCC visibility push(default)
extern "C" {

extern const deadrank::inject::shims::Plugin ncclEnvPlugin_v1;
const deadrank::inject::shims::Plugin ncclEnvPlugin_v1 = {"deadrank", deadrank::inject::shims::init,
                                                          deadrank::inject::shims::finalize,
                                                          deadrank::inject::shims::value_of};

}  // extern "C"
#pragma GCC visibility pop

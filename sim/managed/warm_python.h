// sim/managed/warm_python.h — The interpreters that all runs of a command are forked from. Each is started by
// the first run that needs it, and ends with its last user.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "sim/managed/zygote.h"

namespace deadrank::sim::managed {

// Thread-safe.
class WarmPython {
public:
    // One for each interpreter, script and environment; of those with patched packages, only the latest stays warm.
    // `prepare` completes the settings of one that is started.
    // Throws HostTrouble.
    std::shared_ptr<Zygote> get(ZygoteSettings settings,
                                const std::function<void(ZygoteSettings&)>& prepare = {});

private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Zygote>> zygotes_;
    std::pair<std::string, std::shared_ptr<Zygote>> patched_;
};

}  // namespace deadrank::sim::managed

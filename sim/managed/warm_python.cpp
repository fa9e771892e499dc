// sim/managed/warm_python.cpp — The interpreters that all runs of a command are forked from.
#include "sim/managed/warm_python.h"

namespace deadrank::sim::managed {

namespace {

std::string key_of(const ZygoteSettings& settings) {
    std::string key = settings.python.string() + '\n' + settings.program.string();
    for (const std::string& module : settings.preload) key += '\n' + module;
    for (const auto& [name, value] : settings.environment) key += '\n' + name + '=' + value;
    return key;
}

}  // namespace

std::shared_ptr<Zygote> WarmPython::get(ZygoteSettings settings,
                                        const std::function<void(ZygoteSettings&)>& prepare) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Zygote>& zygote = zygotes_[key_of(settings)];
    if (zygote) return zygote;
    if (prepare) prepare(settings);
    return zygote = std::make_shared<Zygote>(settings);
}

}  // namespace deadrank::sim::managed

// sim/managed/warm_python.cpp — The interpreters that all runs of a command are forked from.
#include "sim/managed/warm_python.h"

namespace deadrank::sim::managed {

namespace {

std::string key_of(const ZygoteSettings& settings) {
    std::string key = settings.python.string() + '\n' + settings.program.string();
    for (const std::string& module : settings.preload) key += '\n' + module;
    for (const auto& [name, value] : settings.environment) key += '\n' + name + '=' + value;
    for (const auto& [file, text] : settings.patched) key += '\n' + file + '\n' + text;
    return key;
}

}  // namespace

std::shared_ptr<Zygote> WarmPython::get(ZygoteSettings settings,
                                        const std::function<void(ZygoteSettings&)>& prepare) {
    const std::lock_guard lock(mutex_);
    const std::string key = key_of(settings);
    if (!settings.patched.empty() && key != patched_.first) patched_ = {key, nullptr};
    std::shared_ptr<Zygote>& zygote = settings.patched.empty() ? zygotes_[key] : patched_.second;
    if (zygote) return zygote;
    if (prepare) prepare(settings);
    return zygote = std::make_shared<Zygote>(settings);
}

}  // namespace deadrank::sim::managed

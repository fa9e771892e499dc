// sim/managed/managed_job.cpp — An unmodified Python program as the workload of a simulated job.
#include "sim/managed/managed_job.h"

#include <utility>

#include "sim/managed/proxy.h"

namespace deadrank::sim::managed {

void ManagedJob::play(World& world) {
    if (stopped()) return;
    if (!std::exchange(expects_, true)) zygote_->expect(world.processes());
    try {
        Proxy proxy(*this, world);
        proxy.run();
    } catch (const HostTrouble& trouble) {
        if (!trouble_) trouble_ = trouble;
    }
}

void ManagedJob::finish() {
    try {
        for (const pid_t pid : std::exchange(ending, {})) RankProcess::end(*zygote_, pid);
    } catch (const HostTrouble&) {  // the zygote is gone, and its children with it
    }
}

void ManagedJob::show_stacks() {
    for (const auto& [process, proxy] : proxies) proxy->show_stack();
}

std::string ManagedJob::shown(std::string_view text) const {
    std::string words(text);
    const std::string& real = program_.temporary;
    if (real.empty()) return words;
    for (std::size_t at = 0; (at = words.find(real, at)) != std::string::npos;
         at += program_.temporary_shown.size())
        words.replace(at, real.size(), program_.temporary_shown);
    return words;
}

}  // namespace deadrank::sim::managed

// sim/managed/managed_job.cpp — An unmodified Python program as the workload of a simulated job.
#include "sim/managed/managed_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>
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

tl::expected<pid_t, std::string> ManagedJob::copy(const std::function<pid_t()>& fork,
                                                  const std::function<void()>& enter) {
    for (const auto& [process, proxy] : proxies)
        if (!proxy->awaits_answer())
            return tl::unexpected(fmt::format("rank {} does not wait for the simulator", process));
    Descriptor connection = zygote_->connect();
    std::map<Rank, RankProcess::Copy> copies;
    for (const auto& [process, proxy] : proxies) copies[process] = proxy->process().begin_copy(proxy->now());
    std::string obstacle;
    std::vector<pid_t> pids;
    for (auto& [process, copy] : copies) {
        const std::string why = proxies[process]->process().finish_copy(copy, program_.real_limit);
        if (copy.pid > 0) pids.push_back(copy.pid);
        if (!why.empty() && obstacle.empty()) obstacle = fmt::format("rank {} cannot be copied: {}", process, why);
    }
    Zygote::adopt(connection, pids);
    if (!obstacle.empty()) return tl::unexpected(obstacle);  // the zygote ends the copies with the connection
    const pid_t pid = fork();
    if (pid != 0) return pid;
    zygote_->use(std::move(connection));
    ending.clear();  // they belong to the other process
    for (auto& [process, copy] : copies) proxies[process]->process().use(std::move(copy));
    enter();
    program_.options["within"] = std::to_string(::getpid());
    for (const auto& [process, proxy] : proxies) proxy->enter_files_of(::getpid());
    return 0;
}

void ManagedJob::open_debugger(Rank process, std::string_view obstacle, std::function<void()> back) {
    const auto found = proxies.find(process);
    if (found == proxies.end()) return;
    back_ = std::move(back);
    program_.real_limit = std::chrono::hours(24);
    found->second->process().channel().open_debugger(found->second->now(), obstacle, STDIN_FILENO, STDOUT_FILENO);
}

void ManagedJob::let_run(Proxy& proxy) {
    answered_.push_back(&proxy);
    fill_room();
}

void ManagedJob::note_running(Proxy& proxy) {
    std::erase(answered_, &proxy);
    running_.insert(&proxy);
}

void ManagedJob::note_waiting(Proxy& proxy) {
    std::erase(answered_, &proxy);
    running_.erase(&proxy);
    fill_room();
}

// One process at a time: each goes on at its turn, and not while another one waits for its disk.
void ManagedJob::fill_room() {
    if (program_.at_once == 1) return;
    while (!answered_.empty() && static_cast<int>(running_.size()) < program_.at_once)
        answered_.front()->send_reply();
}

// The simulated file holds the number of its version in place of each eight bytes, so that what became of them can
// be read from it. A flip hits one number, so the version is that of most others.
std::optional<Spoilt> ManagedJob::find_spoilt(const std::vector<Number>* content, std::int64_t latest) const {
    if (!content) return Spoilt{.there = false, .version = latest, .flips = {}};
    const auto is_version = [&](Number number) {
        return number > 0 && number <= static_cast<Number>(sizes.size());
    };
    const auto whole = std::find_if(content->begin(), content->end(), is_version);
    const Number version = whole == content->end() ? latest : *whole;
    Spoilt found{.version = version,
                 .kept = content->size(),
                 .of = sizes[static_cast<std::size_t>(version) - 1],
                 .flips = {}};
    for (std::size_t i = 0; i < content->size(); ++i)
        if ((*content)[i] != version)
            found.flips.emplace_back(i, static_cast<std::uint64_t>((*content)[i]) ^ static_cast<std::uint64_t>(version));
    if (version == latest && found.kept == found.of && found.flips.empty()) return std::nullopt;
    return found;
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

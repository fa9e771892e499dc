// inject/shims/core/faults.cpp — The rules of a moment are inject/core/trigger.h's; the truth is written
// before the deed, since a rank that is killed by its own fault says nothing afterwards.
#include "inject/shims/core/faults.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "inject/core/trigger.h"
#include "inject/shims/core/process.h"

namespace deadrank::inject::shims {

namespace {

// What happens to files is another library's.
bool all_of_storage(const Entry& entry) {
    return std::all_of(entry.pulls.begin(), entry.pulls.end(),
                       [](const Pull& pull) { return pull.lever == "change_storage"; });
}

}  // namespace

Faults::Faults(const ShimPlan& plan, Rank rank, LineFile& truth, std::int64_t started)
    : rank_(rank), started_(started), truth_(truth) {
    for (const Entry& entry : plan.faults) {
        if (entry.ranks.contains(rank) && !all_of_storage(entry)) armed_.push_back({entry});
    }
}

void Faults::begin() {
    for (Armed& armed : armed_) {
        if (from_start(armed.entry.when)) {
            pull(armed, "", nullptr);
        } else if (by_clock(armed.entry.when)) {
            std::thread([this, &armed] {
                sleep_for(armed.entry.when.at - (now() - started_));
                pull(armed, "", nullptr);
            }).detach();
        }
    }
}

bool Faults::matches(Armed& armed, const Moment& moment) {
    const scenarios::Trigger& when = armed.entry.when;
    if (from_start(when) || by_clock(when) || (armed.fired && !when.always)) return false;
    if (armed.fired && when.lasts >= 0 && now() - armed.since > when.lasts) return false;
    return fits(when, moment) && ++armed.seen >= when.nth;
}

Decision Faults::at(std::string_view call, std::string_view comm) {
    Decision decision;
    if (armed_.empty()) return decision;
    const Moment moment{.rank = rank_, .now = Time(now() - started_), .call = call, .comm = comm};
    const std::lock_guard lock(guard_);
    for (Armed& armed : armed_) {
        if (matches(armed, moment)) pull(armed, call, &decision);
    }
    return decision;
}

void Faults::pull(Armed& armed, std::string_view call, Decision* decision) {
    const Entry& entry = armed.entry;
    if (armed.fired++ == 0) {
        armed.since = now();
        Line mark("fault.applied", rank_);
        mark.add("fault", entry.fault).add("step", -1).add("call", call).add("says", entry.says);
        truth_.write(mark);
    }
    for (const Pull& pull : entry.pulls) {
        if (pull.lever == "kill") {
            kill_process(pull.signal);
        } else if (pull.lever == "exit") {
            leave_process(pull.code, pull.says);
        } else if (pull.lever == "stop") {
            stop_process(entry.when.lasts);
        } else if (pull.lever == "set_version" && (pull.package == "nccl" || pull.package.empty())) {
            const int version = version_number(pull.version);
            if (version == 0) refuse(entry.fault, "'" + pull.version + "' is no version of NCCL");
            version_.store(version, std::memory_order_relaxed);
        } else if (pull.lever == "alter_call" && decision) {
            *decision = {true, entry.fault, pull.alteration, pull.bytes_per_second};
        } else if (pull.lever == "alter_call") {
            refuse(entry.fault, "this moment is no call that could be altered");
        } else {
            refuse(entry.fault, "a library in a real program has no lever " + pull.lever);
        }
    }
}

void Faults::refuse(std::int64_t fault, std::string_view sentence) {
    Line line("fault.refused", rank_);
    truth_.write(line.add("fault", fault).add("says", sentence));
}

int version_number(std::string_view text) {
    int parts[3] = {0, 0, 0};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (int i = 0; i < 3 && at != end; ++i) {
        const auto [next, trouble] = std::from_chars(at, end, parts[i]);
        if (trouble != std::errc() || parts[i] < 0 || parts[i] > 99) return 0;
        at = next;
        if (at != end && *at++ != '.') return 0;
    }
    return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

}  // namespace deadrank::inject::shims

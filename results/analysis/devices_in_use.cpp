// results/analysis/devices_in_use.cpp — Which device each process has, and which processes break the pattern
// of their peers.
#include "results/analysis/devices_in_use.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "results/analysis/lives.h"
#include "results/analysis/variables.h"
#include "results/record/event_names.h"

namespace deadrank::results::analysis {

namespace {

// The offset that most processes have; of several, the one nearest to 0.
std::int32_t most_common(const std::map<std::int32_t, int>& counts) {
    std::int32_t best = 0;
    int most = 0;
    for (const auto& [offset, count] : counts) {
        if (count < most || (count == most && std::abs(offset) >= std::abs(best))) continue;
        best = offset;
        most = count;
    }
    return best;
}

// Ranks that share devices on purpose do so everywhere alike: each device in use has as many of them, and
// each host deals its devices out as the others do. All on the first device is no choice: so it is without
// one.
bool is_shared_intentionally(
    const std::map<std::int32_t, std::map<std::int32_t, std::int32_t>>& devices_by_place) {
    if (devices_by_place.empty()) return false;
    const auto& seats = devices_by_place.begin()->second;
    std::map<std::int32_t, std::size_t> users;
    for (const auto& [place, device] : seats) ++users[device];
    if (users.empty() || (users.size() == 1 && users.begin()->first == 0)) return false;
    const std::size_t each = users.begin()->second;
    return each > 1 &&
           std::all_of(users.begin(), users.end(), [&](const auto& user) { return user.second == each; }) &&
           std::all_of(devices_by_place.begin(), devices_by_place.end(),
                       [&](const auto& host) { return host.second == seats; });
}

}  // namespace

DevicesInUse::DevicesInUse(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const auto attempt_at = [&](Time at) { return static_cast<std::size_t>(lives.attempt_at(at)); };
    std::vector<Attempt> attempts(static_cast<std::size_t>(lives.attempts()));
    for (const Event* event : evidence.each<RankStart>()) {
        Seat& seat = attempts[attempt_at(event->at)][event->rank];
        seat.node = event->as<RankStart>()->node;
        seat.environment = event->as<RankStart>()->environment;
    }
    for (const Event* event : evidence.each<DeviceBind>()) {
        const auto* bind = event->as<DeviceBind>();
        Attempt& attempt = attempts[attempt_at(event->at)];
        const auto seat = attempt.find(event->rank);
        if (seat == attempt.end() || evidence.text(bind->what) != BoundPart::model) continue;
        seat->second.device = bind->device;
        seat->second.at = event->at;
    }
    const auto jobs = evidence.each<JobStart>();
    const std::int32_t devices = jobs.empty() ? 0 : jobs.front()->as<JobStart>()->gpus_per_node;
    for (Attempt& attempt : attempts) {
        std::map<std::int32_t, std::int32_t> next;  // place on each host
        for (auto& [rank, seat] : attempt) seat.place = next[seat.node]++;
        find_odd(evidence, attempt, devices);
    }
}

void DevicesInUse::find_odd(const Evidence& evidence, const Attempt& attempt, std::int32_t devices_on_host) {
    struct Host {
        std::int32_t processes = 0, as_usual = 0;
        std::map<std::int32_t, int> users;  // by device
        std::set<std::int32_t> usual;
        bool exchanged() const {  // the same devices, dealt out otherwise
            return std::equal(users.begin(), users.end(), usual.begin(), usual.end(),
                              [](const auto& one, std::int32_t device) { return one.first == device; });
        }
    };
    std::map<std::int32_t, int> offsets;
    for (const auto& [rank, seat] : attempt)
        if (seat.device) ++offsets[seat.offset()];
    const std::int32_t usual = most_common(offsets);
    std::map<std::int32_t, Host> hosts;
    for (const auto& [rank, seat] : attempt) {
        Host& host = hosts[seat.node];
        ++host.processes;
        host.usual.insert(seat.place + usual);
        if (seat.device) ++host.users[*seat.device];
        host.as_usual += seat.device && seat.offset() == usual;
        last_[rank] = seat.device.value_or(seat.place + usual);
    }
    const std::size_t known = odd_.size();
    for (const auto& [rank, seat] : attempt) {
        const Host& host = hosts[seat.node];
        if (!seat.device || seat.offset() == usual || host.processes > devices_on_host) continue;
        const bool alone = host.users.at(*seat.device) == 1;
        if (alone && (2 * host.as_usual <= host.processes || host.exchanged())) continue;
        odd_.push_back({rank, *seat.device, seat.place + usual, seat.at});
    }
    if (odd_.size() == known) return;
    std::map<std::int32_t, std::map<std::int32_t, std::int32_t>> devices_by_place;  // of each host
    for (const auto& [rank, seat] : attempt)
        if (seat.device) devices_by_place[seat.node][seat.place] = *seat.device;
    const bool one_each = std::any_of(attempt.begin(), attempt.end(), [&](const auto& one) {
        const Seat& seat = one.second;
        return devices_listed(evidence.text(seat.environment)) >= hosts.at(seat.node).processes;
    });
    if (!one_each && is_shared_intentionally(devices_by_place)) odd_.resize(known);
}

std::int32_t DevicesInUse::of(Rank rank) const {
    const auto found = last_.find(rank);
    return found == last_.end() ? -1 : found->second;
}

}  // namespace deadrank::results::analysis

// runners/backends/ranks/job_world.cpp — Each method passes the gate where a fault may act, as in the
// simulator.
#include "runners/backends/ranks/job_world.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/record/event_names.h"
#include "runners/backends/ranks/comm_library.h"
#include "runners/backends/ranks/meeting_place.h"
#include "sim/engine/rng.h"
#include "sim/world/failure.h"

namespace deadrank::runners {

using results::Phase;
using sim::Call;
using sim::CallKind;
using sim::Time;

namespace {

// A device works on while its process is not on a core: a late wake-up shortens the next piece of work, by at
// most what this machine's scheduler may cause (10 ms of real time).
constexpr Time most_late(200'000'000);

std::string joined(const std::map<std::string, std::string>& settings) {
    std::string text;
    for (const auto& [name, value] : settings) text += (text.empty() ? "" : "\n") + name + "=" + value;
    return text;
}

}  // namespace

RealEnv::RealEnv(const sim::ClusterSettings& settings, Gate& gate, const CommLibrary& library,
                 results::Rank process)
    : settings_(settings), gate_(gate), library_(library) {
    const auto per_node = static_cast<results::Rank>(settings.gpus_per_node);
    const results::Rank first = process / per_node * per_node;
    given_ = {{"RANK", std::to_string(gate.levers().state().claims.value_or(process))},
              {"WORLD_SIZE", std::to_string(settings.process_count())},
              {"LOCAL_RANK", std::to_string(process - first)},
              {"LOCAL_WORLD_SIZE", std::to_string(std::min(per_node, settings.process_count() - first))}};
    const auto usual = [&](const char* name, const char* value) {
        if (!settings.environment.contains(name)) given_[name] = value;
    };
    usual("MASTER_ADDR", "node0");
    usual("MASTER_PORT", "29500");
    usual("NCCL_DEBUG", "WARN");
}

std::optional<std::string> RealEnv::get(std::string_view name) const {
    const auto& changed = gate_.levers().state().environment;
    if (const auto own = changed.find(name); own != changed.end()) return own->second;
    if (const auto given = given_.find(name); given != given_.end()) return given->second;
    const auto found = settings_.environment.find(std::string(name));
    if (found == settings_.environment.end()) return std::nullopt;
    return found->second;
}

std::string RealEnv::version(std::string_view package) const {
    if (const auto real = library_.version(package)) return *real;
    const auto found = settings_.versions.find(std::string(package));
    return found == settings_.versions.end() ? "" : found->second;
}

std::map<std::string, std::string> RealEnv::all() const {
    std::map<std::string, std::string> all = settings_.environment;
    for (const auto& [name, value] : given_) all[name] = value;
    for (const auto& [name, value] : gate_.levers().state().environment) {
        if (value) all[name] = *value;
        if (!value) all.erase(name);
    }
    return all;
}

std::string RealEnv::lines() const { return joined(all()); }

std::string RealEnv::version_lines() const {
    std::map<std::string, std::string> all = settings_.versions;
    for (auto& [package, number] : all) number = version(package);
    return joined(all);
}

void RealDevice::compute(Time nominal) {
    Call call{.kind = CallKind::compute, .name = "compute", .count = nominal.count()};
    if (gate_.plain(call)) return;
    const Time length(std::max<std::int64_t>(0, call.count) / 1000 * gate_.levers().state().slow_permille);
    const Time until = gate_.now() + length - woken_late_;
    gate_.wait([&] { return gate_.now() >= until; });
    woken_late_ = std::clamp(gate_.now() - until, Time(0), most_late);
}

std::int64_t RealDevice::limit() const {
    const std::int64_t limited = gate_.levers().state().memory_limit;
    return limited < 0 ? settings_.device_memory : std::min(limited, settings_.device_memory);
}

void RealDevice::feel_pressure() {
    const std::int64_t limited = gate_.levers().state().memory_limit;
    if (limited == pressed_) return;
    pressed_ = limited;
    library_.leave_free(limited < 0 ? -1 : std::max<std::int64_t>(0, limited - used_));
}

void RealDevice::leak() {
    if (const std::int64_t bytes = gate_.levers().state().leak_per_step; bytes > 0) allocate(bytes);
}

std::int64_t RealDevice::allocate(std::int64_t bytes) {
    Call call{.kind = CallKind::allocate, .name = "allocate", .count = bytes};
    if (gate_.plain(call)) return 0;
    feel_pressure();
    const std::int64_t free = std::max<std::int64_t>(0, limit() - used_);
    if (call.count > free) {
        evidence_.record(results::MemoryOom{
            call.count, free, evidence_.text(scenarios::enum_name(results::MemoryPlace::device))});
        throw sim::OutOfMemory(
            fmt::format("torch.OutOfMemoryError: tried to allocate {} bytes on a device with {} of {} free",
                        call.count, free, limit()));
    }
    used_ += call.count;
    peak_ = std::max(peak_, used_);
    pieces_.push_back({call.count, false});
    return static_cast<std::int64_t>(pieces_.size());
}

std::int64_t RealDevice::allocate_host(std::int64_t bytes, bool pinned) {
    Call call{
        .kind = CallKind::allocate, .name = pinned ? "allocate_pinned" : "allocate_host", .count = bytes};
    if (gate_.plain(call)) return 0;
    host_used_ += call.count;
    pieces_.push_back({call.count, true});
    return static_cast<std::int64_t>(pieces_.size());
}

void RealDevice::release(std::int64_t handle) {
    if (handle < 1 || handle > static_cast<std::int64_t>(pieces_.size())) return;
    Piece& piece = pieces_[static_cast<std::size_t>(handle - 1)];
    (piece.host ? host_used_ : used_) -= piece.bytes;
    piece = {};
}

void RealDevice::sample() {
    feel_pressure();
    evidence_.record(results::MemorySample{peak_, limit(), host_used_, settings_.host_memory});
    peak_ = used_;
}

RealWorld::RealWorld(const scenarios::Plan& plan, const sim::ClusterSettings& settings, Gate& gate,
                     Trail& evidence, CommLibrary& library, const std::filesystem::path& directory,
                     results::Rank process)
    : plan_(plan),
      settings_(settings),
      gate_(gate),
      evidence_(evidence),
      library_(library),
      place_(directory / "meeting"),
      process_(process),
      timer_(gate, evidence.clock()),
      env_(settings, gate, library, process),
      device_(settings, gate, evidence, library, static_cast<int>(process % settings.gpus_per_node)),
      storage_(directory / "storage", gate, place_.within("once")),
      rank_{gate, evidence, settings.watchdog, settings.collective_timeout} {}

void RealWorld::show_start(int pid) {
    evidence_.record(results::RankStart{pid, node(), device_.index(),
                                        evidence_.text(fmt::format("node{}", node())),
                                        evidence_.text(env_.version_lines()), evidence_.text(env_.lines())});
}

sim::Store& RealWorld::rendezvous(std::string_view endpoint, bool host, Time timeout) {
    Call call{.kind = CallKind::store, .name = "rendezvous"};
    gate_.plain(call);
    stores_.push_back(
        connect_file_store(gate_, place_, {std::string(endpoint), settings_.nodes}, host, timeout));
    return *stores_.back();
}

std::unique_ptr<sim::Comm> RealWorld::communicator(const sim::CommRequest& request) {
    const int nth = joined_[request.name]++;
    return join_communicator(rank_, library_, place_, {process_, nth, settings_.store_timeout}, request);
}

std::uint64_t RealWorld::chance(std::string_view purpose, std::uint64_t index, std::uint64_t bound) {
    const sim::Entity entity{static_cast<std::uint32_t>(process_), 0};
    return sim::Chance(sim::Seed{plan_.seed.number}, entity, purpose).below(index, bound);
}

std::int64_t RealWorld::seam(std::string_view name, std::int64_t value) {
    Call call{.kind = CallKind::seam, .name = name, .count = value};
    gate_.pass(call);
    return call.count;
}

bool RealWorld::block(std::string_view name) {
    Call call{.kind = CallKind::block, .name = name};
    gate_.plain(call);
    return !call.skip;
}

void RealWorld::step(std::int64_t number) {
    phase(Phase::none);
    gate_.step = number;
    Call call{.kind = CallKind::step, .name = "step", .count = number};
    gate_.plain(call);
    record(results::StepBegin{number});
    device_.leak();
    device_.sample();
}

void RealWorld::phase(Phase next) {
    if (const Phase over = std::exchange(gate_.phase, Phase::none); over != Phase::none)
        record(results::PhaseEnd{gate_.step, over});
    if (next == Phase::none) return;
    gate_.phase = next;
    Call call{.kind = CallKind::phase, .name = results::name_of(next)};
    gate_.plain(call);
    record(results::PhaseBegin{gate_.step, next});
}

}  // namespace deadrank::runners

// sim/machine/machine.cpp — The machines of one simulated cluster: hosts, devices, files, network, processes
// and the launcher. What uses them is above, in sim/collectives, and is notified through hooks.
#include "sim/machine/machine.h"

#include <algorithm>
#include <fmt/format.h>

#include "sim/machine/device.h"
#include "sim/machine/files.h"

namespace deadrank::sim {

// ── Putting the parts together, and starting over after a restart.

Machine::Machine(Engine& engine_of_stage, const ClusterSettings& cluster, Seed drawn,
                 results::EventSink& sink)
    : engine(engine_of_stage),
      settings(cluster),
      seed(drawn),
      recorder(engine, sink),
      topology(settings),
      environment(settings),
      network(*this),
      hosts(*this),
      devices(*this),
      files(*this),
      processes(*this),
      gate(*this),
      stores(*this),
      samples(*this),
      launcher(*this) {}

void Machine::begin_attempt() {
    attempt_started = engine.now();
    forget_communicators();
    stores.begin_attempt();
}

void Machine::replace_node(int node) {
    if (!hosts[node].down) files.local_lost(node);
    hosts.replace(node);
    devices.replace(node);
    network.replace(node);
    gate.replaced(node);
}

// ── A process's own view of its device: handles, and calls that pass the gate.

int RankDevice::index() const { return machine_.devices.bind(process_); }

int RankDevice::count() const { return machine_.devices.count(); }

int RankDevice::visible() const { return static_cast<int>(machine_.devices.shown(process_).size()); }

int RankDevice::seen(int number) const {
    const auto shown = machine_.devices.shown(process_);
    return number >= 0 && number < std::ssize(shown) ? shown[static_cast<std::size_t>(number)] : -1;
}

int RankDevice::number() const {
    const auto shown = machine_.devices.shown(process_);
    const auto own = std::find(shown.begin(), shown.end(), index());
    return own == shown.end() ? index() : static_cast<int>(own - shown.begin());
}

void RankDevice::choose(int device) { machine_.devices.use(process_, device); }

void RankDevice::choose_by_place() { (void)machine_.devices.bind(process_, true); }

void RankDevice::compute(Time nominal) {
    if (process_.armed) {
        Call call{.kind = CallKind::compute, .name = "compute", .count = nominal.count()};
        if (machine_.gate.plain(process_, call)) return;
        nominal = Time(call.count);
    }
    machine_.devices.compute(process_, std::max(nominal, Time{0}));
}

Time RankDevice::queue(Time nominal) {
    if (process_.armed) {
        Call call{.kind = CallKind::compute, .name = "compute", .count = nominal.count()};
        if (machine_.gate.plain(process_, call)) return Time{0};
        nominal = Time(call.count);
    }
    return machine_.devices.queue(process_, std::max(nominal, Time{0}));
}

Time RankDevice::clock() const { return machine_.engine.now(); }

std::int64_t RankDevice::allocate_on(int device, std::int64_t bytes) {
    if (process_.armed) {
        Call call{.kind = CallKind::allocate, .name = "allocate", .count = bytes};
        if (machine_.gate.plain(process_, call)) return 0;
        bytes = call.count;
    }
    if (pieces_.empty()) pieces_.reserve(8);
    pieces_.push_back({bytes, false, machine_.devices.allocate(process_, bytes, device)});
    return static_cast<std::int64_t>(pieces_.size());
}

std::int64_t RankDevice::allocate_host(std::int64_t bytes, bool pinned) {
    Call call{
        .kind = CallKind::allocate, .name = pinned ? "allocate_pinned" : "allocate_host", .count = bytes};
    if (machine_.gate.plain(process_, call)) return 0;
    machine_.hosts.allocate(process_, call.count, pinned);
    pieces_.push_back({call.count, true});
    return static_cast<std::int64_t>(pieces_.size());
}

void RankDevice::release(std::int64_t handle) {
    if (handle < 1 || handle > static_cast<std::int64_t>(pieces_.size())) return;
    Piece& piece = pieces_[static_cast<std::size_t>(handle - 1)];
    if (piece.host) {
        machine_.hosts.release(process_, piece.bytes);
    } else if (piece.device >= 0) {
        std::int64_t& used = machine_.devices.at(process_.node, piece.device).used;
        used = std::max<std::int64_t>(0, used - piece.bytes);  // the last process on a device leaves it empty
    }
    piece = {};
}

std::int64_t RankDevice::used() const { return machine_.devices.of(process_).used; }
std::int64_t RankDevice::limit() const { return machine_.devices.limit(process_); }
std::int64_t RankDevice::free_on(int device) const {
    const DeviceState& state = machine_.devices.at(process_.node, device);
    return std::max<std::int64_t>(0, machine_.devices.limit_of(state) - state.used);
}

// ── A rank's calls to the file system, each of which an interceptor may look at first.

// True: the call is over already, with `answer`.
bool RankStorage::intercept_call(CallKind kind, std::string_view path, std::int64_t count, Code& answer,
                                 std::int64_t* flip) {
    answer = Code::ok;
    Call call{.kind = kind, .name = path, .count = count};
    machine_.gate.pass(process_, call);
    answer = call.answer;
    if (flip) *flip = call.flip_bit;
    if (answer == Code::system_error) machine_.hosts[process_.node].disk_failed = true;
    if (call.never_completes) machine_.wait(process_, {.kind = WaitKind::other}, [] { return false; });
    return call.skip || answer != Code::ok;
}

Code RankStorage::write(std::string_view path, std::span<const Number> content, WriteMode mode) {
    Code answer;
    std::int64_t bit = -1;
    if (intercept_call(CallKind::storage_write, path, static_cast<std::int64_t>(content.size()), answer,
                       &bit))
        return answer;
    if (bit < 0 || bit / 64 >= static_cast<std::int64_t>(content.size()))
        return machine_.files.write(process_, path, content, mode);
    std::vector<Number> flipped(content.begin(), content.end());
    Number& value = flipped[static_cast<std::size_t>(bit / 64)];
    value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
    return machine_.files.write(process_, path, flipped, mode);
}

Code RankStorage::read(std::string_view path, std::vector<Number>& content) {
    Code answer;
    std::int64_t bit = -1;
    if (intercept_call(CallKind::storage_read, path, 0, answer, &bit)) return answer;
    const Code code = machine_.files.read(process_, path, content);
    if (bit >= 0 && bit / 64 < static_cast<std::int64_t>(content.size())) {
        Number& value = content[static_cast<std::size_t>(bit / 64)];
        value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
    }
    return code;
}

// Only reading and writing of data are calls that a fault may aim at; these follow them.
Code RankStorage::sync(std::string_view path) { return machine_.files.sync(process_, path); }
Code RankStorage::rename(std::string_view from, std::string_view to) {
    return machine_.files.rename(process_, from, to);
}
Code RankStorage::remove(std::string_view path) { return machine_.files.remove(process_, path); }
Code RankStorage::leave_open(std::string_view) {
    return machine_.hosts.open_files(process_.node, 1) ? Code::ok : Code::system_error;
}
std::vector<std::string> RankStorage::list(std::string_view prefix) const {
    return machine_.files.list(prefix);
}

}  // namespace deadrank::sim

// sim/cluster/rank_world.cpp — Each method passes the gate where a fault may act, and then asks the part of
// the machine in charge.
#include "sim/cluster/rank_world.h"

#include <algorithm>
#include <bit>

#include "sim/collectives/fabric.h"

namespace deadrank::sim {

using results::Phase;

static_assert(sizeof(RankWorld) < 300, "a million ranks have one each");

Time RankTimer::now() const { return machine_.hosts.clock(process_.node); }

void RankTimer::sleep(Time duration) {
    if (duration > Time{0}) machine_.engine.sleep(duration);
    machine_.processes.settle(process_);
}

void RankTimer::yield_turn() {
    machine_.engine.yield_turn();
    machine_.processes.settle(process_);
}

std::optional<std::string> RankEnv::get(std::string_view name) const {
    return machine_.environment.get(process_, name);
}
std::vector<std::pair<std::string, std::string>> RankEnv::variables() const {
    std::vector<std::pair<std::string, std::string>> variables;
    const std::string lines = machine_.environment.lines(process_, machine_.attempt + process_.lives);
    for (std::size_t begin = 0; begin < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', begin), lines.size());
        const std::string line = lines.substr(begin, end - begin);
        if (const std::size_t equals = line.find('='); equals != std::string::npos)
            variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
        begin = end + 1;
    }
    return variables;
}

std::string RankEnv::version(std::string_view package) const {
    return machine_.environment.version(process_, package);
}

void RankEnv::keep(int number, bool yes) {
    const std::uint32_t bit = 1U << number;
    process_.keeps = yes ? process_.keeps | bit : process_.keeps & ~bit;
}

int RankEnv::take() {
    if (process_.kept == 0) return 0;
    const int number = std::countr_zero(process_.kept);
    process_.kept &= process_.kept - 1;
    return number;
}

RankWorld::RankWorld(Fabric& machine, Process& process)
    : machine_(machine),
      process_(process),
      timer_(machine, process),
      env_(machine, process),
      device_(machine, process),
      storage_(machine, process) {}

Rank RankWorld::process() const { return process_.id; }
Rank RankWorld::processes() const { return machine_.processes.count(); }
int RankWorld::node() const { return process_.node; }
int RankWorld::attempt() const { return machine_.attempt + process_.lives; }

Store& RankWorld::rendezvous(std::string_view endpoint, bool host, Time timeout) {
    return machine_.stores.connect(process_, endpoint, host, timeout);
}

Store& RankWorld::own_store(std::string_view endpoint, bool host, Time timeout) {
    return machine_.stores.connect(process_, endpoint, host, timeout, true);
}

Store& RankWorld::file_store(std::string_view path, Rank ranks) {
    return machine_.stores.open_file(process_, path, ranks);
}

void RankWorld::leave_store(Store& store) { machine_.stores.leave(process_, store); }

std::unique_ptr<Comm> RankWorld::communicator(const CommRequest& request) {
    return machine_.bootstrap.join(process_, request);
}

std::uint64_t RankWorld::chance(std::string_view purpose, std::uint64_t index, std::uint64_t bound) {
    const Entity entity{static_cast<std::uint32_t>(process_.id), static_cast<std::uint32_t>(attempt())};
    return Chance(machine_.seed, entity, purpose).below(index, bound);
}

std::int64_t RankWorld::seam(std::string_view name, std::int64_t value) {
    if (!process_.armed) return value;
    Call call{.kind = CallKind::seam, .name = name, .count = value};
    machine_.gate.pass(process_, call);
    return call.count;
}

bool RankWorld::block(std::string_view name) {
    if (!process_.armed) return true;
    Call call{.kind = CallKind::block, .name = name};
    machine_.gate.plain(process_, call);
    return !call.skip;
}

void RankWorld::record(const results::Payload& what) { machine_.recorder.record(process_.id, what); }
results::TextId RankWorld::text(std::string_view words) { return machine_.recorder.text(words); }

void RankWorld::step(std::int64_t number) {
    phase(Phase::none);
    process_.step = number;
    if (process_.armed) {
        Call call{.kind = CallKind::step, .name = "step", .count = number};
        machine_.gate.plain(process_, call);
    }
    record(results::StepBegin{number});
    machine_.devices.check(process_);
    machine_.devices.step(process_);
    machine_.hosts.step(process_);
    machine_.samples.step(process_);
}

void RankWorld::phase(Phase next) {
    if (process_.phase != Phase::none) {
        record(results::PhaseEnd{process_.step, process_.phase});
        process_.phase = Phase::none;
    }
    if (next == Phase::none) return;
    process_.phase = next;
    if (process_.armed) {
        Call call{.kind = CallKind::phase, .name = results::name_of(next)};
        machine_.gate.plain(process_, call);
    }
    record(results::PhaseBegin{process_.step, next});
}

}  // namespace deadrank::sim

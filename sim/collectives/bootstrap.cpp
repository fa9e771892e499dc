// sim/collectives/bootstrap.cpp — How a communicator is made: its members come to a root, which waits, checks
// and answers.
#include "sim/collectives/bootstrap.h"

#include <algorithm>
#include <fmt/format.h>

#include "sim/collectives/comm_sim.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

namespace {

constexpr Time closing_takes{1'000'000};  // until a rank hears that a peer's process has closed its end
constexpr std::int64_t registered_memory = 16 << 20;  // that one rank's buffers for RDMA must lock

}  // namespace

const NcclSettings& Bootstrap::settings_of(Rank id) {
    return settings_of(id, machine_.settings.library == LibraryKind::gloo);
}

bool Bootstrap::is_over_gloo(CommId comm) const {
    const auto met =
        std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one->id == comm; });
    return met == open_.end() ? machine_.settings.library == LibraryKind::gloo : (*met)->over_gloo;
}

const NcclSettings& Bootstrap::settings_of(Rank id, bool over_gloo) {
    const Process& process = machine_.processes[id];
    if (process.tampering) return own_[{id, over_gloo}] = read_nccl_settings(machine_, process, over_gloo);
    const HostState& host = machine_.hosts[process.node];
    for (const Usual& known : usual_) {
        if (known.direct == host.direct && known.peers_stuck == host.peers_stuck &&
            known.over_gloo == over_gloo && known.interfaces == host.interfaces)
            return known.settings;
    }
    NcclSettings read = read_nccl_settings(machine_, process, over_gloo);
    return usual_
        .emplace_back(Usual{host.interfaces, host.direct, host.peers_stuck, over_gloo, std::move(read)})
        .settings;
}

Bootstrap::Gathering& Bootstrap::gathering(Process& process, const CommRequest& request) {
    // The n-th of that name, as this member counts: a member that left one out joins the others' earlier one.
    const auto same_name = [&](const Membership& known) {
        return known.comm->name() == request.name && known.comm->meeting() == request.meeting;
    };
    const auto nth = static_cast<int>(std::count_if(process.comms.begin(), process.comms.end(), same_name));
    const Rank lead = request.members.empty() ? 0 : request.members[0];
    // A communicator of one needs no shared unique id: each process has its own, whatever its rank.
    const Rank alone = request.members.size() == 1 ? process.id : results::no_rank;
    for (const auto& known : open_) {
        if (known->alone == alone && known->nth == nth && known->lead == lead &&
            known->name == request.name && known->meeting == request.meeting)
            return *known;
    }
    auto fresh = std::make_shared<Gathering>();
    fresh->name = request.name;
    fresh->nth = nth;
    fresh->lead = lead;
    fresh->alone = alone;
    fresh->meeting = request.meeting;
    fresh->over_gloo = request.library == CommLibrary::usual ? machine_.settings.library == LibraryKind::gloo
                                                             : request.library == CommLibrary::gloo;
    fresh->id = machine_.communicators.next_id();
    open_.push_back(fresh);
    return *fresh;
}

// Rank 0 of the communicator makes the id; the others ask the store for it.
void Bootstrap::wait_for_lead(Process& process, Gathering& met, Rank place, const WaitNote& note,
                              Time patience) {
    if (place == 0) {
        met.leader_arrived = true;
        for (Process& peer : machine_.processes.all()) {
            if (peer.waits.kind == WaitKind::comm_init) machine_.engine.wake(static_cast<ActorId>(peer.id));
        }
    }
    const Time timeout = patience > Time{0} ? patience : machine_.settings.store_timeout;
    if (!machine_.wait_until(process, note, machine_.engine.now() + timeout,
                             [&] { return met.leader_arrived; })) {
        machine_.recorder.record(process.id, results::CommInitLeave{met.id, Code::timeout});
        throw LibraryError(
            Code::timeout,
            fmt::format(
                "torch.distributed.DistBackendError: [{}] is setting up NCCL communicator and retrieving "
                "ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: "
                "wait timeout after {}ms, keys: /default_pg/0//cuda//0",
                place, timeout.count() / 1'000'000));
    }
}

std::unique_ptr<Comm> Bootstrap::join(Process& process, const CommRequest& request) {
    Call call{.kind = CallKind::comm_init, .name = "comm_init"};
    call.comm = request.name;
    call.count = static_cast<std::int64_t>(request.members.size());
    machine_.gate.pass(process, call);
    if (call.skip) return std::make_unique<SimComm>(machine_, process, nullptr, 0, 0, request.name);

    const Rank place = request.members.place_of(request.rank);
    Gathering& met = gathering(process, request);
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(0, call.count));
    Recorder& recorder = machine_.recorder;
    recorder.record(process.id, results::CommInitEnter{met.id, static_cast<std::int32_t>(size), place,
                                                       recorder.text(request.name),
                                                       recorder.text(request.members.text())});
    if (call.answer != Code::ok) fail(process, met.id, call.answer, "ncclCommInitRank failed");
    machine_.devices.bind(process);
    machine_.devices.check(process);
    warn_of_own_name(process, met);
    if (!settings_of(process.id, met.over_gloo).problem.empty()) {
        const NcclSettings settings = settings_of(process.id, met.over_gloo);
        if (settings.problem_after > Time{0}) machine_.engine.sleep(settings.problem_after);
        if (settings.raises.empty()) warn(process, settings.where, settings.problem);
        fail(process, met.id, settings.problem_code, settings.problem);
    }
    process.card = settings_of(process.id).card_for(process.local, machine_.topology);
    if (place < 0 || static_cast<std::size_t>(place) >= size) {
        const std::string text =
            fmt::format("Invalid rank requested : {}/{}", place < 0 ? request.rank : place, size);
        warn(process, "init.cc:1987", text);
        fail(process, met.id, Code::invalid_argument, text);
    }
    if (call.never_completes)
        machine_.wait(process, {.kind = WaitKind::comm_init, .text = &met.name}, [] { return false; });

    const WaitNote note{.kind = WaitKind::comm_init, .number = met.id, .text = &met.name};
    wait_for_lead(process, met, place, note,
                  request.patience > Time{0} ? request.patience : request.store_timeout);
    if (met.ranks.empty()) met.ranks = request.members.list();
    check_in(process, met, place, size);
    using State = Gathering::State;
    const auto answered = [&] { return met.state == State::ready || met.state == State::failed; };
    if (request.patience <= Time{0}) {
        machine_.wait(process, note, answered);
    } else if (!machine_.wait_until(process, note, machine_.engine.now() + request.patience, answered)) {
        give_up(process, met, request.patience);
    }
    if (met.state == State::failed) fail_as_decided(process, met);
    wait_for_wrappers(process, met);
    take_resources(process, met);
    process.comms.push_back({met.comm, place});
    if (request.timeout > Time{0}) met.comm->bound_calls(place, request.timeout);
    inform(process, met, place);
    recorder.record(process.id,
                    results::CommInitLeave{met.id, Code::ok, recorder.text(transport_of(process, met))});
    return std::make_unique<SimComm>(machine_, process, met.comm, place, met.id, met.name);
}

void Bootstrap::warn_of_own_name(const Process& process, const Gathering& met) {
    if (!settings_of(process.id, met.over_gloo).falls_back) return;
    machine_.recorder.log(
        process.id, 1,
        "[Gloo] Unable to resolve hostname to a (local) address. Using the loopback address "
        "as fallback. Manually set the network interface to bind to with "
        "GLOO_SOCKET_IFNAME.");
}

void Bootstrap::fail_as_decided(Process& process, const Gathering& met) {
    if (met.after > Time{0}) {
        machine_.engine.sleep(met.after);
        machine_.processes.settle(process);
    }
    if (const auto lost = met.closed.find(process.id); lost != met.closed.end()) {
        machine_.engine.sleep(closing_takes);
        machine_.processes.settle(process);
        fail_with(process, met.id, Code::remote_error, lost->second, "RuntimeError: " + lost->second);
    }
    if (!met.raises.empty()) fail_with(process, met.id, met.code, met.text, met.raises);
    warn(process, "init.cc:896", met.text);
    fail(process, met.id, met.code, met.text);
}

// Without this member the communicator cannot come to be: whoever comes later waits as long as it likes.
void Bootstrap::give_up(Process& process, Gathering& met, Time after) {
    met.state = Gathering::State::hung;
    machine_.recorder.record(process.id, results::CommInitLeave{met.id, Code::timeout});
    throw LibraryError(Code::timeout, fmt::format("torch.distributed.DistBackendError: communicator {} was "
                                                  "not made within {}ms",
                                                  met.name, after.count() / 1'000'000));
}

void Bootstrap::fail(Process& process, CommId comm, Code code, const std::string& last_error) {
    const std::string raises = settings_of(process.id, is_over_gloo(comm)).raises;
    fail_with(process, comm, code, last_error,
              raises.empty() ? nccl_exception(code, machine_.environment.version(process, "nccl"), last_error)
                             : raises);
}

void Bootstrap::fail_with(Process& process, CommId comm, Code code, const std::string& last_error,
                          const std::string& raises) {
    Recorder& recorder = machine_.recorder;
    recorder.record(process.id, results::CommError{comm, code, recorder.text(last_error)});
    recorder.record(process.id, results::CommInitLeave{comm, code});
    throw LibraryError(code, raises);
}

bool Bootstrap::wants_detail(const Process& process) const {
    return machine_.environment.get(process, "TORCH_DISTRIBUTED_DEBUG") == "DETAIL";
}

// A wrapper compares itself with its peers' through the store; where only some members have one, it waits in
// vain.
void Bootstrap::wait_for_wrappers(Process& process, const Gathering& met) {
    if (!met.some_detail || !wants_detail(process)) return;
    const Time timeout = machine_.settings.store_timeout;
    machine_.engine.sleep(timeout);
    machine_.processes.settle(process);
    machine_.recorder.record(process.id, results::CommInitLeave{met.id, Code::timeout});
    throw LibraryError(Code::timeout,
                       fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: "
                                   "/default_pg/0//cuda//pg_wrapper:0/0/0",
                                   timeout.count() / 1'000'000));
}

void Bootstrap::inform(const Process& process, const Gathering& met, Rank place) {
    const NcclSettings& settings = settings_of(process.id);
    if (!settings.informs) return;
    const auto log_line = [&](const std::string& words) {
        machine_.recorder.log(
            process.id, 0,
            fmt::format("{}:{}:{} [{}] NCCL INFO {}", machine_.topology.host_name(process.node), process.pid,
                        process.pid, process.local, words));
    };
    if (place == 0) {
        machine_.recorder.log(
            process.id, 0,
            fmt::format("NCCL version {}+cuda{}", machine_.environment.version(process, "nccl"),
                        machine_.environment.version(process, "cuda")));
    }
    log_line(fmt::format("Bootstrap: Using {}:10.0.{}.1<0>", settings.interface, process.node));
    if (met.text.starts_with("NET/IB") && settings.direct == results::DirectAccess::copied) {
        log_line(fmt::format("NET/IB : GPU Direct RDMA Disabled for HCA {} 'mlx5_{}'", process.card,
                             process.card));
    }
    log_line(fmt::format("ncclCommInitRank comm {} rank {} nranks {} cudaDev {} busId {:x} - Init COMPLETE",
                         met.id, place, met.came, process.device, machine_.devices.bus_id(process.device)));
}

// Each says for itself whether its cards reach its device; over sockets all use what the first one chose.
std::string Bootstrap::transport_of(const Process& process, const Gathering& met) {
    const bool rdma = met.text.starts_with("NET/IB");
    return rdma ? settings_of(process.id, met.over_gloo).transport() : met.text;
}

void Bootstrap::take_resources(Process& process, const Gathering& met) {
    const std::int64_t locked = machine_.hosts[process.node].locked_limit;
    if (met.text.starts_with("NET/IB") && !met.over_gloo && locked >= 0 && locked < registered_memory) {
        const std::string text = "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory";
        warn(process, "misc/ibvwrap.cc:262", text);
        fail(process, met.id, Code::system_error, text);
    }
    if (!machine_.hosts.take_shared(process.node, shared_segment)) {
        const std::string text =
            fmt::format("Error while creating shared memory segment /dev/shm/nccl-{:06x} (size {})",
                        process.pid, shared_segment);
        warn(process, "misc/shmutils.cc:87", text);
        fail(process, met.id, Code::system_error, text);
    }
    if (!machine_.hosts.open_files(process.node, sockets)) {
        const std::string text = "Call to socket failed : Too many open files";
        warn(process, "misc/socket.cc:497", text);
        fail(process, met.id, Code::system_error, text);
    }
}

void Bootstrap::warn(const Process& process, std::string_view where, std::string_view text) {
    if (!settings_of(process.id).warns) return;
    const std::int64_t seconds = machine_.engine.now().count() / 1'000'000'000;
    machine_.recorder.log(process.id, 1,
                          fmt::format("[2026-01-{:02} {:02}:{:02}:{:02}] {}:{}:{} [{}] {} NCCL WARN {}",
                                      seconds / 86400 + 1, seconds / 3600 % 24, seconds / 60 % 60,
                                      seconds % 60, machine_.topology.host_name(process.node), process.pid,
                                      process.pid, process.local, where, text));
}

void Bootstrap::warn_root(const Gathering& met, std::string_view where, std::string_view text) {
    for (const Process& process : machine_.processes.all()) {
        if (process.alive && !met.processes.empty() && met.processes.front() == process.id)
            warn(process, where, text);
    }
}

void Bootstrap::process_gone(const Process& process) {
    for (const auto& met : open_) {
        if (met->state != Gathering::State::gathering && met->state != Gathering::State::deciding) continue;
        const bool came =
            std::find(met->processes.begin(), met->processes.end(), process.id) != met->processes.end();
        if (came) met->state = Gathering::State::hung;
    }
}

// By place where the caller's gathering counts them; processes of a skewed gathering meet elsewhere and are
// not known here.
std::vector<Rank> Bootstrap::missing(const Process& process) const {
    std::vector<Rank> absent;
    for (const auto& met : open_) {
        if (met->id != static_cast<CommId>(process.waits.number) || met->state == Gathering::State::hung)
            continue;
        for (std::size_t place = 0; place < met->ranks.size(); ++place) {
            const bool came = place < met->processes.size() && met->processes[place] != results::no_rank;
            if (!came && machine_.processes.in_crowd(met->ranks[place])) continue;
            if (!came && (met->leader_arrived || place == 0)) absent.push_back(met->ranks[place]);
        }
    }
    return absent;
}

void Bootstrap::clear() { open_.clear(); }

}  // namespace deadrank::sim

// sim/collectives/bootstrap.h — How a communicator is made: its members come to a root, which waits, checks
// and answers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/nccl_settings.h"
#include "sim/machine/host.h"
#include "sim/world/world.h"

namespace deadrank::sim {

struct Fabric;
struct Process;
class Communicator;

// What one rank's part of a communicator takes of its host, until the rank lets go of it.
constexpr std::int64_t shared_segment = 9'637'888;  // bytes that its transports map in /dev/shm
constexpr std::int64_t sockets = 16;

// How a communicator comes to be: all members check in at a root, compare notes, and connect. The root does
// not report when something is wrong, so most disagreements end in silence, few in an error.
class Bootstrap {
public:
    explicit Bootstrap(Fabric& machine) : machine_(machine) {}

    // ncclCommInitRank, on the process's own fiber.
    std::unique_ptr<Comm> join(Process& process, const CommRequest& request);

    // As they are now, kept until they are read again; of a group over gloo, or of the job's library.
    const NcclSettings& settings_of(Rank process, bool over_gloo);
    const NcclSettings& settings_of(Rank process);
    void process_gone(const Process& process);
    void clear();

    // For the wait-for graph: who has not come where this process waits, as RANK names them.
    std::vector<Rank> missing(const Process& process) const;

private:
    struct Gathering;

    bool is_over_gloo(CommId comm) const;
    Gathering& gathering(Process& process, const CommRequest& request);
    void wait_for_lead(Process& process, Gathering& met, Rank place, const WaitNote& note, Time patience);
    void check_in(Process& process, Gathering& gathering, Rank place, std::size_t size);
    void decide(Gathering& gathering);
    bool decide_by_version(Gathering& gathering);
    bool decide_by_ports(Gathering& gathering);
    bool decide_by_loopback(Gathering& gathering);
    void fail_all(Gathering& gathering, Code code, std::string text);
    void succeed(Gathering& gathering);
    [[noreturn]] void give_up(Process& process, Gathering& gathering, Time after);
    [[noreturn]] void fail(Process& process, CommId comm, Code code, const std::string& last_error);
    void warn_of_own_name(const Process& process, const Gathering& gathering);
    [[noreturn]] void fail_as_decided(Process& process, const Gathering& gathering);
    [[noreturn]] void fail_with(Process& process, CommId comm, Code code, const std::string& last_error,
                                const std::string& raises);
    bool wants_detail(const Process& process) const;
    void wait_for_wrappers(Process& process, const Gathering& gathering);
    void inform(const Process& process, const Gathering& gathering, Rank place);
    std::string transport_of(const Process& process, const Gathering& gathering);
    void take_resources(Process& process, const Gathering& gathering);
    void warn(const Process& process, std::string_view where, std::string_view text);
    void warn_root(const Gathering& gathering, std::string_view where, std::string_view text);

    // As read for processes that no fault has changed: alike where interfaces and cards of their nodes are.
    struct Usual {
        std::vector<Interface> interfaces;
        results::DirectAccess direct = results::DirectAccess::works;
        bool peers_stuck = false;
        bool over_gloo = false;
        NcclSettings settings;
    };

    Fabric& machine_;
    std::deque<Usual> usual_;
    std::map<std::pair<Rank, bool>, NcclSettings> own_;  // of processes that a fault has changed; over gloo
    std::vector<std::shared_ptr<Gathering>> open_;
};

// One creation of a communicator: who came to the root so far, and what came of it.
struct Bootstrap::Gathering {
    enum class State : std::uint8_t { gathering, deciding, ready, failed, hung };

    std::string name;
    Rank alone = results::no_rank;  // the only member's process, where it has but one
    std::uint64_t meeting = 0;      // of the store that the callers met at
    int nth = 0;                    // of this name, as the callers count
    Rank lead = 0;                  // whose unique id it is, as RANK names it
    CommId id = 0;
    State state = State::gathering;
    bool leader_arrived = false;
    bool over_gloo = false;    // as the first to come asks for it
    bool some_detail = false;  // TORCH_DISTRIBUTED_DEBUG=DETAIL on some members only
    Rank came = 0;
    std::vector<Rank> ranks;        // as the first to come believes
    std::vector<Rank> processes;    // by place; no_rank: not yet
    std::vector<Rank> refused_ranks;  // came to a root that had given up
    // Who came, without those that a crowd's process plays for; filled in when the root decides.
    struct Member {
        Rank place = 0;
        const Process* process = nullptr;
        const NcclSettings* settings = nullptr;
    };
    std::vector<Member> members;
    Code code = Code::ok;
    std::string text;
    std::string raises;                  // instead of NCCL's exception
    std::map<Rank, std::string> closed;  // by process: its peers failed, and their ends closed
    Time after{0};                       // how long a member tries before it fails so
    Communicator* comm = nullptr;
};

}  // namespace deadrank::sim

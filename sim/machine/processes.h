// sim/machine/processes.h — The processes of the job: where each runs, whether it lives, what it waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/changes.h"
#include "results/record/codes.h"
#include "results/record/time.h"
#include "sim/engine/effort.h"
#include "sim/world/failure.h"

namespace deadrank::sim {

// ── What the cluster knows of one process of the job: where it runs, whether it lives, what it waits for.
// Kept small: a crowd of a million has one each, and what most never use is an empty vector.

using results::NameTrouble;
using results::StoreTrouble;

using results::no_rank;
using results::Rank;
using results::Time;

// In the order of results::RankEnd. `stuck`: still waiting when no further event was possible; `stopped`:
// under SIGSTOP.
enum class ProcessEnd : std::uint8_t { running, finished, failed, killed, stopped, stuck };

class Communicator;

enum class WaitKind : std::uint8_t { none, collective, send, recv, comm_init, store, destroy, other };

// Written for people, when nothing can happen any more.
struct WaitNote {
    WaitKind kind = WaitKind::none;
    const Communicator* comm = nullptr;
    std::int64_t number = 0;            // sequence number, or the peer of a send or recv
    const std::string* text = nullptr;  // a store key or a communicator's name; lives as long as the wait
};

struct Membership {
    Communicator* comm = nullptr;
    Rank index = 0;
};

// What was done to a process before it started. It outlives a restart.
struct Tampering {
    using Setting = std::pair<std::string, std::optional<std::string>>;  // nullopt: taken away

    std::vector<Setting> environment;  // over the cluster's and the launcher's
    std::vector<Setting> own;          // over all others, by the process itself: of this life alone
    std::vector<Setting> versions;
    struct BrokenPackage {
        std::string package, problem;
        bool shadowed = false;  // another copy of it is found first
        std::string built_for;  // "torch 2.4": loads where that is installed; empty: nowhere
    };
    std::vector<BrokenPackage> broken_packages;
    std::vector<std::pair<std::string, NameTrouble>> broken_names;
    StoreTrouble store = StoreTrouble::none;
    Time store_late{0};
    std::set<std::string, std::less<>> asked;  // of the environment and the versions: what the process read
};

struct Process {
    Rank id = 0;
    Rank given_rank = 0;  // what the launcher writes into RANK
    int node = 0;
    int local = 0;    // place on its node, and the device that is meant for it
    int device = -1;  // the one it bound; -1 before it did
    int card = -1;    // the network card of its node that it uses; -1 = that of its place
    int pid = 0;
    Rank weight = 1;        // how many ranks it stands for: more than one is the crowd
    int lives = 0;          // how often its launcher started it again while the others went on
    int restart_count = 0;  // TORCHELASTIC_RESTART_COUNT, as its launcher last wrote it

    bool armed = false;
    bool alive = false;     // its process exists
    bool stopped = false;   // SIGSTOP
    bool lost = false;      // gone with its node: no exit was seen
    bool watched = false;   // a watchdog timer is under way
    bool pending_stop = false;
    ProcessEnd end = ProcessEnd::running;
    int exit_code = 0;
    std::int16_t exit_signal = 0;
    std::int16_t pending_signal = 0;  // takes effect at its next point of decision, or when it is resumed
    std::uint32_t keeps = 0;          // signals, a bit each, that a handler of its own takes
    std::uint32_t kept = 0;           // those of them that came, and were not taken yet
    std::unique_ptr<std::pair<int, std::string>> pending_exit = {};

    std::int64_t step = -1;
    results::Phase phase = results::Phase::none;
    Time started{0};
    WaitNote waits = {};

    std::vector<Membership> comms = {};
    std::unique_ptr<Tampering> tampering = {};  // none on most

    Tampering& tamper() {
        if (!tampering) tampering = std::make_unique<Tampering>();
        return *tampering;
    }
};

struct Machine;

// What is wrong with the way from this name to its host, for this process.
NameTrouble trouble_with(const Process& process, std::string_view host);

// The life of the job's processes: started, stopped, killed, raising, ended. The kernel's part of the
// cluster.
class Processes {
public:
    explicit Processes(Machine& machine);

    // Of a rank in the crowd: the process that plays for it.
    Process& operator[](Rank id) { return all_[place_of(id)]; }
    const Process& operator[](Rank id) const { return all_[place_of(id)]; }
    Rank count() const { return count_; }
    bool has_crowd() const { return static_cast<std::size_t>(count_) > all_.size(); }
    bool in_crowd(Rank id) const { return has_crowd() && (*this)[id].weight > 1; }
    bool any_stopped() const { return stopped_ > 0; }
    Counted<Process>& all() { return all_; }  // those that are played, by id
    const Counted<Process>& all() const { return all_; }

    void start(Process& process);

    // From anywhere. A process that asks for its own end goes on until it reaches settle().
    void signal(Process& process, int number);
    void raise(Process& process, int code, std::string_view says);
    void stop(Process& process);
    void resume(Process& process);
    void lose(Process& process);                          // with its node: no exit is seen

    // On the process's own fiber, after each wait and each interception: takes what is pending.
    void settle(Process& process) {
        if (process.pending_stop || process.pending_signal != 0 || process.pending_exit)
            take_pending(process);
    }

private:
    std::size_t place_of(Rank id) const;
    void run(Process& process);
    void take_pending(Process& process);
    void fail(Process& process, const RankFailure& failure);
    void end(Process& process, ProcessEnd how, int code, int signal);

    void set_stopped(Process& process, bool stopped);

    Machine& machine_;
    Rank count_ = 0;
    Rank stopped_ = 0;  // how many of them are
    Counted<Process> all_;
    std::size_t crowd_ = 0;  // the place of the process that plays for the crowd
};

}  // namespace deadrank::sim

// runners/backends/local/namespaces.h — Network faults around real processes: a network namespace for each
// node, and a port that is already taken.
#pragma once

#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "runners/backends/process/journal.h"

namespace deadrank::runners {

// ── A network for each node of the job: one namespace per node, joined by a bridge in a further one. Faults
// in there touch nothing else on this machine and vanish with the namespaces. Each is entered in the journal
// before it is made.

// Why this process cannot make namespaces, as part of a sentence; empty = it probably can.
std::string namespaces_missing();

class Namespaces {
public:
    // Errors: unsupported (a kernel or container that does not let us), io (no journal).
    static scenarios::Result<Namespaces> make(int nodes);
    Namespaces(Namespaces&&) noexcept = default;
    Namespaces& operator=(Namespaces&&) = delete;
    ~Namespaces();

    static constexpr const char* interface = "eth0";  // the same on every node
    static std::string address(int node);
    const std::string& of(int node) const { return names_.at(static_cast<std::size_t>(node) + 1); }
    // The command that runs `command` on that node's network.
    std::vector<std::string> inside(int node, std::vector<std::string> command) const;
    // What hooks must know, as JSON: the namespace and bridge port of each rank, and the bridge's namespace.
    std::string places_of_ranks(const inject::Levers& levers) const;

private:
    explicit Namespaces(Journal journal) : journal_(std::move(journal)) {}
    scenarios::Result<int> add(const std::string& name);
    scenarios::Result<int> join(int node);

    Journal journal_;
    std::vector<std::string> names_;  // the bridge's first, then one per node
    std::vector<Journal::Entry> entries_;
};

// The command in a network of its own that has nothing but loopback, so that it can reach no other machine.
// Unchanged where the kernel gives this user none; the environment is all that keeps it off the network then.
std::vector<std::string> on_loopback_alone(std::vector<std::string> command);

// Occupies the port where the job wants to meet, for the length of a run.
class TakenPort {
public:
    // `mute`: listens and never answers; else it only keeps the port from being bound.
    TakenPort(int port, bool mute);
    ~TakenPort();
    TakenPort(const TakenPort&) = delete;
    TakenPort& operator=(const TakenPort&) = delete;
    bool taken() const { return taken_; }

    static int any_free();  // a port that was free a moment ago

private:
    int descriptor_;
    bool taken_ = false;
};

}  // namespace deadrank::runners

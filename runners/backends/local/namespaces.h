// runners/backends/local/namespaces.h — Faults of the network around real processes: namespaces of our own,
// and a port that somebody else has taken.
#pragma once

#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "runners/backends/process/journal.h"

namespace deadrank::runners {

// A network for each node of the job: a namespace a node, joined by a bridge in one of its own. What is
// dropped, refused or cut in there touches nothing else on this machine, and all of it goes with the
// namespaces. Each is on the journal before it is made.

// Why this process cannot make any, in words for a sentence; empty = it can, as far as can be told before.
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
    // A command that runs there instead of here.
    std::vector<std::string> inside(int node, std::vector<std::string> command) const;
    // What a hook has to know, as JSON: the namespace, the bridge's one and the port there, by node.
    std::string told(const inject::Levers& levers) const;

private:
    explicit Namespaces(Journal journal) : journal_(std::move(journal)) {}
    scenarios::Result<int> add(const std::string& name);
    scenarios::Result<int> join(int node);

    Journal journal_;
    std::vector<std::string> names_;  // the bridge's first, then a node's each
    std::vector<Journal::Entry> entries_;
};

// Somebody else has the port where the job wants to meet, for the length of a run.

class TakenPort {
public:
    // A mute one listens and never answers; the other only keeps the port from being bound.
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

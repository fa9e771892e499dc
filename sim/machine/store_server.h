// sim/machine/store_server.h — The keys of one store, and who waits for them: of a process that listens, or
// of a file.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine/machine.h"

namespace deadrank::sim {

struct Stores::Server : std::enable_shared_from_this<Stores::Server> {
    Rank owner = 0;
    int node = 0;
    int port = 0;
    int torch_major = 2;
    bool alive = true;
    bool file = false;
    bool own = false;  // the program's: no agent keeps it
    std::uint64_t number = 0;  // of those that this run opened
    std::vector<Rank> left;    // processes that are done with it
    std::map<std::string, std::string, std::less<>> values;
    std::map<std::string, std::map<Rank, Rank>, std::less<>> people;  // by prefix and number: processes
    std::map<std::string, std::vector<Rank>, std::less<>> waiting;    // by key; some may have given up

    bool left_by(Rank process) const { return std::find(left.begin(), left.end(), process) != left.end(); }

    // Lets those that wait for the key look again; an empty key means all.
    void wake(Engine& engine, std::string_view key) {
        for (auto& [name, ranks] : waiting) {
            if (!key.empty() && name != key) continue;
            for (const Rank rank : ranks) engine.wake(static_cast<ActorId>(rank));
            ranks.clear();
        }
    }
};

}  // namespace deadrank::sim

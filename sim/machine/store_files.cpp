// sim/machine/store_files.cpp — c10d's FileStore: keys in a file that all ranks see. The last of the ranks
// that end well removes it; what a killed run left holds that run's keys.
#include <algorithm>

#include "sim/machine/store_server.h"

namespace deadrank::sim {

Store& Stores::open_file(Process& process, std::string_view path, Rank ranks) {
    if (process.armed) {
        Call call{.kind = CallKind::store, .name = "rendezvous"};
        machine_.gate.plain(process, call);
    }
    machine_.engine.sleep(machine_.settings.storage_latency);
    machine_.processes.settle(process);
    const std::vector<Number>* there = machine_.files.content(path);
    const std::vector<Number> before = there ? *there : std::vector<Number>();
    OpenFile& open = files_[std::string(path)];
    if (!there || !open.server) {
        open = {.server = std::make_shared<Server>(), .users = {}, .left = 0, .ranks = ranks};
        open.server->owner = results::no_rank;
        open.server->file = true;
        open.server->number = ++opened_;
    }
    if (!there) {
        const Number size[] = {ranks};
        machine_.files.write(process, path, size, WriteMode::replace);
    } else if (open.server->values.empty() && open.users.empty()) {
        open.server->values = {{"/joined", std::to_string(before.empty() ? 1 : before.front())},
                               {"/all_joined", "1"},
                               {"/unique_id", "another run"}};
    }
    open.users.push_back(process.id);
    return new_client(process, open.server, "/");
}

// The last one that is done with it removes it, as the last one does that ends.
void Stores::leave_file(const Process& process, const Server& server) {
    for (auto& [path, open] : files_) {
        if (open.server.get() != &server) continue;
        const auto user = std::find(open.users.begin(), open.users.end(), process.id);
        if (user == open.users.end()) continue;
        open.users.erase(user);
        if (++open.left != open.ranks) continue;
        machine_.files.drop(path);
        open = {};
    }
}

void Stores::close_files(const Process& process) {
    for (auto& [path, open] : files_) {
        if (std::erase(open.users, process.id) == 0 || process.exit_signal != 0) continue;
        if (++open.left != open.ranks) continue;
        machine_.files.drop(path);
        open = {};
    }
}

}  // namespace deadrank::sim

// sim/machine/store.h — c10d's TCPStore: hosted by one process, reached by host name and port, gone when its
// process is. Names that do not resolve, hosts out of reach, ports that are taken or mute: each fails with
// its own text, or never returns.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/world.h"

namespace deadrank::sim {

struct Machine;
struct Process;

class StoreClient;

class Stores {
public:
    explicit Stores(Machine& machine);
    ~Stores();

    Store& connect(Process& process, std::string_view endpoint, bool host, Time timeout);
    void process_gone(const Process& process);
    void clear();
    void serve(int node, int port);
    void take_port(int node, int port, bool mute) { taken_[{node, port}] = mute; }

private:
    struct Server;
    friend class StoreClient;

    Server* listening(int node, int port) const;  // nullptr: nobody is
    void no_route(Process& process, const std::string& name, int port, Time timeout);
    void no_such_name(Process& process, const std::string& name, int port, Time timeout);
    void check_release(Process& process, const Server& server, const std::string& name, Time timeout);
    void listen(Process& process, int port);
    void wake_connecting();

    Machine& machine_;
    std::vector<std::shared_ptr<Server>> servers_;
    std::vector<std::unique_ptr<StoreClient>> clients_;
    std::vector<Rank> connecting_;               // before the server listened
    std::map<std::pair<int, int>, bool> taken_;  // node and port → whether it is mute
};

}  // namespace deadrank::sim

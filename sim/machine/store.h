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

    // `own`: the program's, which no agent keeps.
    Store& connect(Process& process, std::string_view endpoint, bool host, Time timeout, bool own = false);
    // c10d's FileStore: the last of so many ranks that end well removes the file, and nobody else does.
    Store& open_file(Process& process, std::string_view path, Rank ranks);
    // destroy_process_group: what the process itself hosts may be replaced, and is no answer to it any more.
    void leave(const Process& process, Store& store);
    void process_gone(const Process& process);
    void begin_attempt();                      // those that lived in processes are gone
    void open_kept();                          // that outlives the job's processes, where the cluster has one
    void agents_gone();              // and so is a store that lived in one; the next ones open another
    void node_lost(int node);        // with the agent that lived there
    void serve(int node, int port);  // until it is closed: in no process of the job
    // What another job, or an earlier one, has left in the kept store under that run id. False: there is
    // none.
    bool share(std::string_view run_id, std::int64_t came, std::int64_t expected);
    void take_port(int node, int port, bool mute) { taken_[{node, port}] = mute; }

private:
    struct Server;
    friend class StoreClient;

    Server* listening(int node, int port) const;                         // nullptr: nobody is
    Server* found_by(const Process& process, int node, int port) const;  // that it has not left
    void no_route(Process& process, const std::string& name, int port, Time timeout);
    void no_such_name(Process& process, const std::string& name, int port, Time timeout);
    void check_release(Process& process, const Server& server, const std::string& name, Time timeout);
    void listen(Process& process, int port, bool own);
    void wake_connecting();
    void close_files(const Process& process);
    void leave_file(const Process& process, const Server& server);
    Store& new_client(Process& process, std::shared_ptr<Server> server, std::string prefix);
    std::string prefix_of(const Process& process) const;
    int kept_port() const;

    Machine& machine_;
    std::vector<std::shared_ptr<Server>> servers_;
    std::uint64_t opened_ = 0;
    std::vector<std::unique_ptr<StoreClient>> clients_;
    struct OpenFile {
        std::shared_ptr<Server> server;
        std::vector<Rank> users;  // that have not ended
        Rank left = 0, ranks = 0;
    };
    std::map<std::string, OpenFile, std::less<>> files_;           // by path
    std::vector<Rank> connecting_;                                 // before the server listened
    std::map<std::pair<int, int>, bool> taken_;                    // node and port → whether it is mute
    std::map<std::string, std::string, std::less<>> left_behind_;  // keys that a kept store begins with
};

}  // namespace deadrank::sim

// sim/managed/proxy.h — One rank's stand-in on its fiber: receives what the process asks, plays it in the
// simulated world, and answers. The process runs only between an answer and its next request. Processes whose
// ranks are due at one moment compute at the same time; what they ask is played in the order of the engine.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/log_level.h"
#include "sim/managed/rank_process.h"
#include "sim/world/failure.h"
#include "sim/world/world.h"

namespace deadrank::sim::managed {

class ManagedJob;

class Proxy {
public:
    Proxy(ManagedJob& job, World& world);
    ~Proxy();
    Proxy(const Proxy&) = delete;
    Proxy& operator=(const Proxy&) = delete;

    // Until the process has ended. Throws RankFailure or RankKilled as it ended, HostTrouble, and what the
    // engine throws when the rank is killed.
    void run();
    // The rank's process does nothing until it is answered: a copy of it can be made.
    bool awaits_answer() const { return awaits_answer_; }
    RankProcess& process() { return *process_; }
    std::int64_t now() const { return world_.timer().now().count(); }
    // The process learns its answer and goes on.
    void send_reply();
    // In a copy of this process: the rank sees the files of process `pid`, that is of this one.
    void enter_files_of(pid_t pid);
    // Logs where in the program the rank waits, if it does.
    void show_stack() noexcept;

private:
    // Of the device that the process calls by this number. False: it is full.
    bool take_memory(int number, std::int64_t bytes);
    void give_back_memory(int number, std::int64_t bytes);

    struct UnderWay {
        std::unique_ptr<Work> work;
        std::uint32_t comm = 0;
        bool is_message = false;
    };

    struct Reply {
        Status status;
        std::int64_t now;
        std::string body;
        std::vector<int> signals;  // reach the process before it
        bool beside_others;
    };

    std::optional<Request> receive();
    void play(const Request& request);
    void respond(Status status, std::string_view body);
    void answer(std::string_view body = {});
    void answer(const nlohmann::json& body);
    void resume_process();  // of a post
    void raise(const RankFailure& failure, std::optional<std::uint64_t> work = {});
    void spend(std::int64_t charge);
    void print(bool error, std::string_view line);
    void log_printed();

    void collective(const Request& request);
    void message(const Request& request);
    void wait(const Request& request);
    void wait_for_all(const std::vector<std::uint64_t>& ids, Time deadline);
    void wait_for_any(const std::vector<std::uint64_t>& ids, Time deadline);
    void record_message_wait(const std::vector<std::uint64_t>& ids, Time began);
    void answer_wait(const std::vector<std::uint64_t>& ids);
    void open_store(const nlohmann::json& body);
    void use_store(const nlohmann::json& body);
    void exchange_id(Store& store, const CommRequest& request);
    void open_comm(const nlohmann::json& body);
    void close_comm(const nlohmann::json& body);
    void record_comm_error(const nlohmann::json& body);
    void handle_seam(const nlohmann::json& body);
    void use_storage(const nlohmann::json& body);
    Code write_file(Storage& storage, const std::string& path, std::int64_t bytes, nlohmann::json& said);
    Code read_file(Storage& storage, const std::string& path, nlohmann::json& said);
    void use_device(const nlohmann::json& body);
    void leave(const nlohmann::json& body);
    void request_stack();
    [[noreturn]] void end();

    Comm& comm(std::uint32_t id);
    Store& store(const nlohmann::json& body);
    Time until(std::int64_t deadline) const;  // from now; never for -1
    bool is_over(UnderWay& call);
    RankSpec spec() const;

    ManagedJob& job_;
    World& world_;
    std::unique_ptr<RankProcess> process_;
    std::map<std::uint32_t, std::unique_ptr<Comm>> comms_;
    std::vector<Store*> stores_;
    std::set<std::size_t> files_;              // those of stores_ that lie in a file
    std::map<std::uint64_t, UnderWay> works_;  // destroyed before the arena that they read and write
    std::uint32_t next_comm_ = 0;
    std::optional<RankFailure> failed_post_;
    std::vector<std::pair<bool, std::string>> printed_;  // and not in the evidence yet; true: to stderr
    results::LogLevels levels_;
    std::optional<RankFailure> exit_;                    // how the process said that it ends
    std::optional<Reply> reply_;  // the process does not know it yet
    bool yields_turn_ = false;    // what it asked took time: others that are due now go on beside it
    bool runs_ = false;           // its process
    bool waits_ = false;          // for an answer: it is at a call that has one in every run
    bool awaits_answer_ = true;   // its process does nothing until it is answered
    Time waits_since_{0};
    std::optional<std::uint64_t> failing_;  // the work that a wait is at
    int unwinding_ = 0;
    std::map<int, std::multimap<std::int64_t, std::int64_t>> blocks_;  // of a device, by its number: bytes, handle
};

}  // namespace deadrank::sim::managed

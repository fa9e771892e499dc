// results/importers/story.h — Collects what the readers of single files find; it is sorted, completed and
// turned into evidence at the end. Times are nanoseconds since 1970 until then.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/analysis/signatures.h"
#include "results/record/evidence.h"

namespace deadrank::results::importers {

inline constexpr std::int64_t no_time = -1;  // the file does not say; the event gets the latest moment known

struct StoryEvent {
    std::int64_t at = no_time;
    Rank rank = no_rank;
    std::function<Payload(Evidence&)> what;  // texts go into the evidence that is being made
    bool informational = false;              // a log line whose level becomes that of information
    bool forgotten = false;                  // it meant nothing, as the rest of the log shows
    std::size_t order = 0;                   // among those of the same time: where it began in its log
};

struct KnownProcess {
    std::string host;
    std::int32_t pid = 0, gpu = 0;
    std::map<std::string, std::string> versions, environment;
};

struct KnownGroup {
    std::string name, description;
    std::vector<Rank> ranks;
    std::map<Rank, std::int64_t> joined;  // when, by the first entry known of it
    CommId id = 0;
};

class Story {
public:
    // Each told event has a number, by which its time can be set later.
    static constexpr std::size_t nothing = static_cast<std::size_t>(-1);
    std::size_t add_event(std::int64_t at, Rank rank, std::function<Payload(Evidence&)> what);
    // Returns `nothing` when the same rank printed it before, or when there is too much to keep.
    std::size_t log(std::int64_t at, Rank rank, int level, std::string line);
    // A line of information that the same process may have printed before: only its last place counts.
    std::size_t log_again(std::int64_t at, std::string line);
    void place(std::size_t told, std::int64_t at) { events_[told].at = at; }
    // What is told as a whole later, as a traceback is at its last line, began before what is told from now
    // on.
    std::size_t order_now() { return ++orders_; }
    void began(std::size_t told, std::size_t order) { events_[told].order = order; }

    analysis::LogRead& reading() { return reading_; }
    // Stamps without a year take it from dated lines, else from the file's own date.
    void year(int year) { year_ = year; }
    int year_or(int otherwise) const { return year_ > 0 ? year_ : otherwise; }

    // A process that a launcher saw fail. Its rank may be unknown; then `local` is its local rank.
    struct Failure {
        std::int64_t at = no_time;
        Rank rank = no_rank, local = no_rank;
        std::int32_t pid = 0;
        int code = 1;
        bool root = false;  // the launcher names it as the first failure
        std::string host = {};
    };
    void failed(const Failure& failure);
    void worker(std::int32_t pid) { workers_.insert(pid); }
    // A task of srun: a rank, unless a launcher on each node starts the ranks.
    void task_ended(std::int64_t at, Rank task, int code, int signal, std::string host);
    // The rank of that event is the number of a task.
    void by_task(std::size_t told) { by_task_.push_back(told); }
    // A launcher within the tasks starts the ranks, or a task's number and its rank differ.
    void ignore_task_numbers() { tasks_are_ranks_ = false; }
    // The program went on after that error: no complaint any more.
    void mark_survived(std::size_t told) { events_[told].informational = true; }
    void forget(std::size_t told) { events_[told].forgotten = true; }
    // That the process printed something, even if the line is not kept.
    void heard(Rank rank, std::int64_t at);
    // The same of a job whose lines name no rank: when its last line came, and the longest wait for one.
    void note_line(std::int64_t at);
    // A traceback without a rank: a failed rank that the launcher reports may claim it.
    void orphan(std::size_t told, const std::string& text);
    // The same traceback once more, from another process.
    void orphan_again(const std::string& text);

    KnownProcess& process(Rank rank) { return processes_[rank]; }
    const std::map<Rank, KnownProcess>& processes() const { return processes_; }
    // The rank of a process, by host and pid (an empty host is any); no_rank when unknown.
    Rank rank_of(const std::string& host, std::int32_t pid) const;
    void names(const std::string& host, std::int32_t pid, Rank rank);

    // The same name over the same ranks is the same communicator.
    KnownGroup& group(const std::string& name, const std::string& description,
                      const std::vector<Rank>& ranks);
    KnownGroup* group_named(const std::string& name, Rank member);

    // A communicator from NCCL's own log; used only when no dump describes any.
    void nccl_begins(const std::string& comm, Rank process, Rank place, std::int32_t size, std::int64_t at);
    void nccl_joined(const std::string& comm, Rank process, std::int64_t at);

    void world_size(std::int32_t size);
    void has_dump(Rank rank) { dumped_.insert(rank); }
    void unfinished(Rank rank) { unfinished_.insert(rank); }
    void seen_until(std::int64_t at);
    std::int64_t latest() const { return until_; }
    // One exit per rank: the first that a file reports.
    void exits(std::int64_t at, Rank rank, int code, int signal);

    struct Ending {
        Evidence evidence;
        std::int64_t zero = 0;
        std::vector<std::string> lacks;
        std::int64_t visits = 0;  // of events, over all passes: linear in their number
    };
    Ending finish(std::optional<std::int64_t> observed_until);

private:
    struct NcclMember {
        Rank process = no_rank, place = 0;
        std::int64_t begun = no_time, joined = no_time;
    };
    struct NcclComm {
        std::int32_t size = 0;
        std::vector<NcclMember> members = {};
        std::map<Rank, std::vector<std::size_t>> joining = {};  // the members that have not joined
    };

    void number_groups();
    void claim_orphans();
    void settle_tasks();
    void settle_exits();
    void forget_absurd_ranks();
    void spread_version();
    void record_last_lines();
    void record_start(Evidence& evidence, Rank count) const;
    void record_groups(Evidence& evidence, std::int64_t zero) const;
    void record_nccl_comms(Evidence& evidence, std::int64_t zero, Rank count) const;
    std::vector<std::string> lacks(Rank count) const;
    Rank count();

    std::vector<StoryEvent> events_;
    std::size_t orders_ = 0;
    std::map<Rank, KnownProcess> processes_;
    std::map<std::int32_t, std::map<std::string, Rank>> ranks_;  // by pid and host
    std::map<std::pair<std::string, std::vector<Rank>>, KnownGroup> groups_;
    std::vector<std::pair<std::string, NcclComm>> comms_;  // in order of first mention
    std::map<std::string, std::size_t> comm_places_;       // where each is in that list
    std::map<Rank, std::pair<std::int64_t, std::pair<int, int>>> exits_;
    std::set<Rank> dumped_;
    std::set<Rank> unfinished_;  // their dumps show calls that had not ended
    bool dumps_by_watchdog_ = false;
    std::map<std::pair<Rank, std::string>, std::size_t> logged_;
    std::map<Rank, std::size_t> kept_;  // lines of log
    struct Late {
        std::int64_t at = no_time;
        int level = 0;
        std::string line;
    };
    std::map<Rank, std::deque<Late>> late_;  // the last lines beyond the limit: the end of a log matters most
    std::vector<Failure> failures_;
    std::map<std::int32_t, std::map<std::string, std::size_t>> failed_at_;  // by pid and host
    std::vector<Failure> tasks_;
    std::set<Rank> roots_;  // first failures, as launchers say
    std::vector<std::size_t> by_task_;
    bool tasks_are_ranks_ = true;
    std::map<Rank, std::int64_t> last_line_at_;  // the last line of each rank
    std::int64_t last_line_ = no_time, longest_wait_ = 0;
    std::vector<std::size_t> orphans_;  // the same number twice: two processes printed it
    std::set<std::size_t> orphaned_;    // the same numbers, each once
    analysis::LogRead reading_;
    std::int32_t world_ = 0;
    std::set<std::int32_t> workers_;  // pids that launchers call their own
    int year_ = 0;
    std::int64_t visits_ = 0;
    std::int64_t until_ = no_time;
};

}  // namespace deadrank::results::importers

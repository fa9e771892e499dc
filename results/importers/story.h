// results/importers/story.h — What the readers of single files gather; sorted, completed and made evidence at
// the end. Times are nanoseconds since 1970 until then.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::importers {

inline constexpr std::int64_t no_time = -1;  // the file does not say; it gets the latest moment known

struct Told {
    std::int64_t at = no_time;
    Rank rank = no_rank;
    std::function<Payload(Evidence&)> what;  // texts are kept in the evidence that is being made
};

struct KnownProcess {
    std::string host;
    std::int32_t pid = 0, gpu = 0;
    std::map<std::string, std::string> versions, environment;
};

struct KnownGroup {
    std::string name, description;
    std::vector<Rank> ranks;
    std::map<Rank, std::int64_t> joined;  // when, by the first thing known of it
    CommId id = 0;
};

class Story {
public:
    void tell(std::int64_t at, Rank rank, std::function<Payload(Evidence&)> what);
    void log(std::int64_t at, Rank rank, int level, std::string line);

    KnownProcess& process(Rank rank) { return processes_[rank]; }
    const std::map<Rank, KnownProcess>& processes() const { return processes_; }
    // The rank of a process, by host and pid (an empty host is any); no_rank when nobody said.
    Rank rank_of(const std::string& host, std::int32_t pid) const;
    void names(const std::string& host, std::int32_t pid, Rank rank);

    // The same name over the same ranks is the same communicator.
    KnownGroup& group(const std::string& name, const std::string& description,
                      const std::vector<Rank>& ranks);
    KnownGroup* group_named(const std::string& name, Rank member);

    // A communicator as NCCL's own log speaks of it; counts only where no dump does.
    void nccl_begins(const std::string& comm, Rank process, Rank place, std::int32_t size, std::int64_t at);
    void nccl_joined(const std::string& comm, Rank process, std::int64_t at);

    void world_size(std::int32_t size);
    void has_dump(Rank rank) { dumped_.insert(rank); }
    void seen_until(std::int64_t at);
    std::int64_t latest() const { return until_; }
    // One exit a rank: the first that a file speaks of.
    void exits(std::int64_t at, Rank rank, int code, int signal);

    struct Ending {
        Evidence evidence;
        std::int64_t zero = 0;
        std::vector<std::string> lacks;
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
    };

    void number_groups();
    void record_start(Evidence& evidence) const;
    void record_groups(Evidence& evidence, std::int64_t zero) const;
    void record_nccl_comms(Evidence& evidence, std::int64_t zero) const;
    std::vector<std::string> lacks() const;
    Rank count() const;

    std::vector<Told> told_;
    std::map<Rank, KnownProcess> processes_;
    std::map<std::pair<std::string, std::int32_t>, Rank> ranks_;
    std::map<std::pair<std::string, std::vector<Rank>>, KnownGroup> groups_;
    std::vector<std::pair<std::string, NcclComm>> comms_;  // in order of first mention
    std::map<Rank, std::pair<std::int64_t, std::pair<int, int>>> exits_;
    std::set<Rank> dumped_;
    std::map<std::pair<Rank, std::string>, std::size_t> logged_;
    std::int32_t world_ = 0;
    std::int64_t until_ = no_time;
};

}  // namespace deadrank::results::importers

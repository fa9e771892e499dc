// results/emitters/nccl_logs.cpp — A WARN has an empty line before it; the rest differs by release. What a
// run did not print is printed here from its events, so that INFO is whole.
#include <fmt/format.h>
#include <map>

#include "results/emitters/c10d_names.h"
#include "results/emitters/logs.h"
#include "results/emitters/processes.h"
#include "results/emitters/stamps.h"
#include "results/facts/calls.h"

namespace deadrank::results::emitters {

namespace {

class NcclLog {
public:
    NcclLog(const Evidence& evidence, const ProcessPlace& place)
        : evidence_(evidence), place_(place), profile_(nccl_log_profile(place.nccl)) {}

    void take(const Event& event) {
        at_ = event.at;
        if (const auto* start = event.as<RankStart>()) begin(evidence_.text(start->environment));
        if (const auto* enter = event.as<CommInitEnter>()) init(*enter);
        if (const auto* leave = event.as<CommInitLeave>(); leave && leave->result == Code::ok)
            complete(*leave);
        if (const auto* error = event.as<CommError>()) warn(evidence_.text(error->message));
        if (const auto* abort = event.as<CommAbort>())
            info(fmt::format("comm {:#x} rank {} nranks {} cudaDev {} busId {} - Abort COMPLETE",
                             pointer(abort->comm), last_rank_, last_size_, place_.gpu, bus()));
    }

    std::string text() && { return std::move(text_); }

private:
    void begin(std::string_view environment) {
        text_.clear();  // a later life has a log of its own
        text_ += fmt::format("NCCL version {}+cuda{}\n", place_.nccl, place_.cuda);
        for (std::size_t at = 0; at < environment.size();) {
            const std::size_t end = std::min(environment.find('\n', at), environment.size());
            const std::string_view line = environment.substr(at, end - at);
            const std::size_t equals = line.find('=');
            if (line.starts_with("NCCL_") && equals != line.npos)
                info(fmt::format("{} set by environment to {}.", line.substr(0, equals),
                                 line.substr(equals + 1)));
            at = end + 1;
        }
    }
    void init(const CommInitEnter& enter) {
        last_rank_ = enter.rank_in_comm, last_size_ = enter.size;
        info(in_comm(fmt::format(fmt::runtime(profile_.starts), fmt::arg("rank", enter.rank_in_comm)),
                     enter.comm, enter.rank_in_comm, enter.size) +
             "Init START");
        sizes_[enter.comm] = {enter.rank_in_comm, enter.size};
    }
    void complete(const CommInitLeave& leave) {
        const auto [rank, size] = sizes_[leave.comm];
        // The rank stands in front of the first line alone.
        const std::size_t bracket = profile_.starts.find("] ");
        const std::string call =
            bracket == std::string::npos ? profile_.starts : profile_.starts.substr(bracket + 2);
        info(in_comm(call, leave.comm, rank, size) + "Init COMPLETE");
    }
    std::string in_comm(const std::string& call, CommId comm, Rank rank, std::int32_t size) const {
        return fmt::format("{}comm {:#x} rank {} nranks {} cudaDev {} nvmlDev {} busId {} commId {:#018x} - ",
                           call, pointer(comm), rank, size, place_.gpu, place_.gpu, bus(), comm_hash(comm));
    }
    std::string stamp() const { return profile_.stamps ? fmt::format("[{}] ", nccl_stamp(at_)) : ""; }
    void info(std::string_view words) {
        text_ += fmt::format("{}{} NCCL INFO {}\n", stamp(), nccl_prefix(place_), words);
    }
    void warn(std::string_view words) {
        std::string_view place = where(words);
        if (!profile_.function) place = place.substr(0, place.find(' '));
        text_ += fmt::format("\n{}{} {} NCCL WARN {}\n", stamp(), nccl_prefix(place_), place, words);
    }
    // The line is that of one release; the file has not moved.
    static std::string_view where(std::string_view words) {
        if (words.find("Mismatched NCCL version") != words.npos) return "init.cc:1043 (initTransportsRank)";
        if (words.find("Bootstrap") != words.npos) return "bootstrap.cc:122 (bootstrapNetInit)";
        if (words.find("shared memory") != words.npos) return "misc/shmutils.cc:87 (ncclShmOpen)";
        if (words.find("closed by remote peer") != words.npos) return "misc/socket.cc:58 (socketProgressOpt)";
        if (words.find("NET/IB") != words.npos) return "transport/net_ib.cc:2187 (ncclIbTest)";
        return "enqueue.cc:2100 (ncclEnqueueCheck)";
    }
    static std::uint64_t pointer(CommId comm) { return 0x55d000000000ULL + comm * 0x1000ULL; }
    std::string bus() const { return fmt::format("{:x}000", 0x19 + place_.gpu * 0x12); }

    const Evidence& evidence_;
    const ProcessPlace& place_;
    const NcclLogProfile& profile_;
    Time at_{0};
    Rank last_rank_ = 0;
    std::int32_t last_size_ = 0;
    std::map<CommId, std::pair<Rank, std::int32_t>> sizes_;
    std::string text_;
};

}  // namespace

std::vector<EmittedFile> nccl_logs(const Evidence& evidence, const Snapshot& snapshot) {
    const auto places = places_of(evidence, snapshot.at);
    std::map<Rank, NcclLog> logs;
    for (const auto& [process, place] : places) logs.try_emplace(process, evidence, place);
    for (const Event& event : evidence.events()) {
        const auto log = logs.find(event.rank);
        if (log != logs.end() && event.at <= snapshot.at) log->second.take(event);
    }
    std::vector<EmittedFile> files;
    for (auto& [process, log] : logs) {
        const ProcessPlace& place = places.at(process);
        files.push_back({fmt::format("nccl/{}.{}.log", place.host, place.pid), std::move(log).text()});
    }
    return files;
}

}  // namespace deadrank::results::emitters

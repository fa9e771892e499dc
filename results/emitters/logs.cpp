// results/emitters/logs.cpp — The log lines of a job as NCCL, the kernel, the ranks and torchrun write them.
#include "results/emitters/logs.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "results/analysis/calls.h"
#include "results/emitters/c10d_names.h"
#include "results/emitters/snapshot.h"
#include "results/emitters/stamps.h"
#include "results/record/event_names.h"
#include "results/record/text_file.h"

namespace deadrank::results::emitters {

// One ring buffer per node, as dmesg -T prints it, with the lines that health checks look for: "NVRM: Xid
// (PCI:…): N, …" and the killer's "Out of memory: Killed process".
std::vector<EmittedFile> kernel_logs(const Evidence& evidence, const Snapshot& snapshot) {
    const auto places = places_of(evidence, snapshot.at);
    std::map<std::string, std::string> logs;
    for (const auto& [process, place] : places) {
        std::string& log = logs[place.host];
        if (log.empty())
            log = fmt::format("[{}] NVRM: loading NVIDIA UNIX Open Kernel Module\n", kernel_stamp(Time{0}));
    }
    for (const Event& event : evidence.events()) {
        const auto found = places.find(event.rank);
        if (event.at > snapshot.at) break;
        if (const auto* error = event.as<DeviceError>(); error && event.rank == no_rank) {
            // A line that already names its node: "node1 kernel: NVRM: …".
            const std::string_view line = evidence.text(error->message);
            const std::size_t kernel = line.find(" kernel: ");
            if (kernel == line.npos) continue;
            logs[std::string(line.substr(0, kernel))] +=
                fmt::format("[{}] {}\n", kernel_stamp(event.at), line.substr(kernel + 9));
        }
        if (found == places.end()) continue;
        const ProcessPlace& place = found->second;
        if (const auto* error = event.as<DeviceError>()) {
            logs[place.host] +=
                fmt::format("[{}] NVRM: Xid (PCI:{}): {}, pid={}, name=python3, {}\n", kernel_stamp(event.at),
                            bus_id(place.gpu), error->xid, place.pid, evidence.text(error->message));
        }
        if (const auto* oom = event.as<MemoryOom>(); oom && evidence.text(oom->where) == MemoryPlace::host) {
            logs[place.host] += fmt::format("[{}] Out of memory: Killed process {} (python3) total-vm:{}kB\n",
                                            kernel_stamp(event.at), place.pid, oom->requested / 1024);
        }
    }
    std::vector<EmittedFile> files;
    for (auto& [host, text] : logs)
        files.push_back({fmt::format("kernel/{}.log", file_name_of(host)), std::move(text)});
    return files;
}

namespace {

// A WARN has an empty line before it; the rest differs by release. What a run did not print is derived from
// its events, so that INFO is complete.
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
        text_.clear();  // a restarted process has a log of its own
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
        // Only the first line is preceded by the rank.
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
    // The line number is that of one release; the file is the same in all.
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
        files.push_back(
            {fmt::format("nccl/{}.{}.log", file_name_of(place.host), place.pid), std::move(log).text()});
    }
    return files;
}

namespace {

// Only what c10d prints has a prefix with the time; a traceback has none.
bool from_c10d(std::string_view line) {
    return line.starts_with("[Rank ") || line.starts_with("[PG ID ") || line.starts_with("Some NCCL") ||
           line.starts_with("To avoid data");
}

std::string in_words_of(const WatchdogProfile& profile, std::string_view line) {
    WatchdogLine read;
    if (!line.starts_with("[Rank ") || !read_watchdog(line, read)) return std::string(line);
    return fmt::format(fmt::runtime(profile.timeout), fmt::arg("rank", read.rank), fmt::arg("seq", read.seq),
                       fmt::arg("op", read.op), fmt::arg("in", read.in), fmt::arg("out", read.out),
                       fmt::arg("limit", read.limit_ms), fmt::arg("ran", read.ran_ms));
}

std::string log_line(const ProcessPlace& place, const Event& event, std::string_view line) {
    if (!from_c10d(line)) return std::string(line) + "\n";
    const WatchdogProfile& profile = watchdog_profile(place.torch);
    const char level = "IWE"[std::min(event.as<RankLog>()->level, 2)];
    const std::string words = in_words_of(profile, line);
    if (!profile.c10_prefix) return fmt::format("[{} {}] {}\n", level, profile.source, words);
    return fmt::format("[rank{}]:[{}{} {}] {}\n", place.rank, level, c10_stamp(event.at), profile.source,
                       words);
}

}  // namespace

std::vector<EmittedFile> c10d_logs(const Evidence& evidence, const Snapshot& snapshot) {
    const auto places = places_of(evidence, snapshot.at);
    std::map<Rank, std::string> logs;
    for (const auto& [process, place] : places) logs[place.rank];
    for (const Event* event : evidence.each<RankLog>()) {
        const auto place = places.find(event->rank);
        const std::string_view line = evidence.text(event->as<RankLog>()->line);
        if (event->at > snapshot.at || place == places.end()) continue;
        if (line.find(" NCCL WARN ") != line.npos || line.find(" NCCL INFO ") != line.npos) continue;
        logs[place->second.rank] += log_line(place->second, *event, line);
    }
    std::vector<EmittedFile> files;
    for (auto& [rank, text] : logs) files.push_back({fmt::format("logs/rank_{}.log", rank), std::move(text)});
    return files;
}

// ── The agent's log has a time on each of its own lines; an error file exists only where a rank ended with
// an exception under @record.

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view traceback = "Traceback (most recent call last):\n";

// "Traceback …\nRuntimeError: words\nmore" → "RuntimeError: words"
std::string exception_in(std::string_view text) {
    text.remove_prefix(traceback.size());
    std::size_t at = 0;
    while (at < text.size() && text[at] == ' ') at = text.find('\n', at) + 1;
    return std::string(text.substr(at, text.find('\n', at) - at));
}

std::string error_file(std::string_view text, Time at) {
    return Json{{"message",
                 {{"message", exception_in(text)},
                  {"extraInfo",
                   {{"py_callstack", std::string(text)},
                    {"timestamp", std::to_string(wall_clock(at) / 1'000'000'000)}}}}}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::vector<EmittedFile> torchrun_files(const Evidence& evidence, const Snapshot& snapshot) {
    std::string agent;
    std::map<std::string, std::string> errors;
    int attempt = 0;
    for (const Event& event : evidence.events()) {
        if (event.at > snapshot.at) break;
        if (const auto* restart = event.as<Restart>()) attempt = restart->attempt;
        const auto* log = event.as<RankLog>();
        if (!log) continue;
        const std::string_view line = evidence.text(log->line);
        if (event.rank == no_rank) {
            const char level = "IWE"[std::min(log->level, 2)];
            agent += fmt::format("{}{} 1 torch/distributed/elastic/multiprocessing/api.py:1002] {}\n", level,
                                 glog_stamp(event.at), line);
        } else if (log->level == 2 && line.starts_with(traceback)) {
            errors[fmt::format("torchrun/attempt_{}/{}/error.json", attempt, event.rank)] =
                error_file(line, event.at);
        }
    }
    std::vector<EmittedFile> files = {{"torchrun/agent.log", std::move(agent)}};
    for (auto& [name, bytes] : errors) files.push_back({name, std::move(bytes)});
    return files;
}

}  // namespace deadrank::results::emitters

// results/importers/log_reader.cpp — Each line is tried against each form. Who printed it is taken from the
// line, else from the file's name.
#include "results/importers/log_reader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

#include "results/emitters/stamps.h"
#include "results/record/codes.h"

namespace deadrank::results::importers {

namespace {

std::string_view after(std::string_view line, std::string_view words) {
    const std::size_t at = line.find(words);
    return at == line.npos ? std::string_view() : line.substr(at + words.size());
}

std::int64_t number(std::string_view text) {
    return std::strtoll(std::string(text.substr(0, 24)).c_str(), nullptr, 0);
}

class LogReader {
public:
    LogReader(const LogPlace& place, Story& story) : place_(place), story_(story) {}

    void take(std::string_view line) {
        if (continues(line)) return;
        flush();
        if (line.empty()) return;
        if (nccl(line) || c10d(line) || agent(line) || kernel(line)) return;
        if (line.starts_with("Traceback (most recent call last):")) {
            block_ = std::string(line), block_level_ = 2, in_exception_ = false;
        } else if (place_.rank != no_rank) {
            story_.log(last_, place_.rank, level_of(line), std::string(line));
            ++plain_;
        }
    }

    std::string finish() {
        flush();
        std::string what;
        const auto add = [&](int lines, const char* name) {
            if (lines > 0) what += fmt::format("{}{}", what.empty() ? "" : ", ", name);
        };
        add(nccl_, "NCCL log");
        add(c10d_, "c10d output");
        add(agent_, "torchrun's agent");
        add(kernel_, "kernel log");
        add(tracebacks_, "tracebacks");
        if (what.empty() && plain_ > 0) what = "output";
        if (!what.empty() && place_.rank != no_rank) what += fmt::format(" of rank {}", place_.rank);
        return what;
    }

private:
    // A traceback goes on with indented lines, then the exception, and what it says until a line with a
    // prefix.
    bool continues(std::string_view line) {
        if (block_.empty()) return false;
        if (stamped(line) || line.starts_with("Traceback ")) return false;
        if (line.empty() && (in_exception_ || report_)) return false;
        if (!report_ && !line.starts_with(" ")) in_exception_ = true;
        block_ += "\n" + std::string(line);
        return true;
    }
    static bool stamped(std::string_view line) {
        return line.starts_with("[rank") || line.find(" NCCL ") != line.npos ||
               (line.starts_with("[") && line.find("] NVRM") != line.npos) ||
               (line.size() > 6 && (line[0] == 'E' || line[0] == 'W' || line[0] == 'I') && line[5] == ' ' &&
                emitters::read_c10_stamp(line.substr(1)));
    }
    void flush() {
        if (block_.empty()) return;
        const Rank rank = report_ ? no_rank : place_.rank;
        if (rank != no_rank || report_) story_.log(last_, rank, block_level_, block_);
        if (report_)
            story_.tell(last_, no_rank, [](Evidence&) -> Payload { return JobStop{1, TextId::none}; });
        else
            ++tracebacks_;
        block_.clear();
        report_ = false;
    }
    static int level_of(std::string_view line) {
        if (line.find("Error") != line.npos || line.find("ERROR") != line.npos) return 2;
        return line.find("arn") != line.npos ? 1 : 0;
    }

    bool nccl(std::string_view line);
    void nccl_words(std::string_view words, const std::string& host, std::int32_t pid);
    bool c10d(std::string_view line);
    bool agent(std::string_view line);
    void agent_words(std::string_view words);
    bool kernel(std::string_view line);

    const LogPlace& place_;
    Story& story_;
    std::int64_t last_ = no_time;  // of the last line that had one
    std::string block_;
    int block_level_ = 2;
    bool in_exception_ = false, report_ = false;
    std::map<std::string, std::string> environment_, versions_;
    int nccl_ = 0, c10d_ = 0, agent_ = 0, kernel_ = 0, tracebacks_ = 0, plain_ = 0;
};

// "[2026-01-01 00:00:00] node0:1000:1000 [0] init.cc:9 (f) NCCL WARN words"
bool LogReader::nccl(std::string_view line) {
    if (line.starts_with("NCCL version ")) {
        versions_["nccl"] = std::string(line.substr(13, line.find('+') - 13));
        return ++nccl_ > 0;
    }
    const bool warns = line.find(" NCCL WARN ") != line.npos;
    if (!warns && line.find(" NCCL INFO ") == line.npos) return false;
    std::string_view rest = line;
    if (rest.starts_with("[")) {
        if (const auto stamp = emitters::read_nccl_stamp(rest.substr(1))) last_ = *stamp;
        rest = rest.substr(std::min(rest.find("] ") + 2, rest.size()));
    }
    std::array<char, 256> host{};
    int pid = 0, device = 0;
    if (std::sscanf(std::string(rest.substr(0, 400)).c_str(), "%255[^:]:%d:%*d [%d]", host.data(), &pid,
                    &device) != 3)
        return false;
    ++nccl_;
    const std::string_view words = after(line, warns ? " NCCL WARN " : " NCCL INFO ");
    nccl_words(words, host.data(), pid);
    Rank rank = story_.rank_of(host.data(), pid);
    if (rank == no_rank) rank = place_.rank;
    if (rank == no_rank) return true;
    KnownProcess& process = story_.process(rank);
    process.host = host.data(), process.pid = pid, process.gpu = device;
    for (const auto& [name, value] : versions_) process.versions[name] = value;
    for (const auto& [name, value] : environment_) process.environment[name] = value;
    if (!warns) return true;
    story_.log(last_, rank, 1, std::string(line));
    const std::string message(words);
    story_.tell(last_, rank, [message](Evidence& evidence) -> Payload {
        return CommError{1, Code::system_error, evidence.text(message)};
    });
    return true;
}

void LogReader::nccl_words(std::string_view words, const std::string& host, std::int32_t pid) {
    const std::size_t set = words.find(" set by environment to ");
    if (set != words.npos) {
        std::string value(after(words, " set by environment to "));
        if (!value.empty() && value.back() == '.') value.pop_back();
        environment_[std::string(words.substr(0, set))] = value;
    }
    const std::string_view place = after(words, " rank "), size = after(words, " nranks ");
    const std::string_view hash = after(words, " commId ");
    if (place.empty() || size.empty() || hash.empty()) return;
    const std::string comm(hash.substr(0, hash.find(' ')));
    if (words.find("Init START") != words.npos) {
        // The first communicator of a process is the world: its rank there is the process's.
        if (story_.rank_of(host, pid) == no_rank) {
            story_.names(host, pid, static_cast<Rank>(number(place)));
            story_.world_size(static_cast<std::int32_t>(number(size)));
        }
        story_.nccl_begins(comm, story_.rank_of(host, pid), static_cast<Rank>(number(place)),
                           static_cast<std::int32_t>(number(size)), last_ == no_time ? 0 : last_);
    } else if (words.find("Init COMPLETE") != words.npos && story_.rank_of(host, pid) != no_rank) {
        story_.nccl_joined(comm, story_.rank_of(host, pid), last_ == no_time ? 0 : last_);
    }
}

// "[rank1]:[E810 03:04:11.061727749 ProcessGroupNCCL.cpp:683] words", or the older "[E
// ProcessGroupNCCL.cpp:821] words"
bool LogReader::c10d(std::string_view line) {
    Rank rank = place_.rank;
    std::string_view rest = line;
    if (rest.starts_with("[rank")) {
        rank = static_cast<Rank>(number(rest.substr(5)));
        rest = rest.substr(std::min(rest.find(":[") + 1, rest.size()));
    }
    if (rest.size() < 4 || rest[0] != '[' || std::string_view("IWE").find(rest[1]) == std::string_view::npos)
        return false;
    const std::size_t close = rest.find("] ");
    if (close == rest.npos || rest.substr(0, close).find(".cpp:") == rest.npos) return false;
    if (const auto stamp = emitters::read_c10_stamp(rest.substr(2))) last_ = *stamp;
    const int level = rest[1] == 'E' ? 2 : rest[1] == 'W' ? 1 : 0;
    const std::string words(rest.substr(close + 2));
    ++c10d_;
    if (rank == no_rank) return true;
    story_.log(last_, rank, level, words);
    if (words.find("we are taking the entire process down") != words.npos)
        story_.exits(last_, rank, -sigabrt, sigabrt);
    return true;
}

// "E0101 00:00:05.000000 1 torch/distributed/elastic/…/api.py:1002] words"
bool LogReader::agent(std::string_view line) {
    if (line.size() < 20 || std::string_view("IWE").find(line[0]) == std::string_view::npos) return false;
    const std::size_t close = line.find("] ");
    const std::string_view head = line.substr(0, std::min(close, line.size()));
    if (close == line.npos || head.find("torch/distributed/") == line.npos) return false;
    if (const auto stamp = emitters::read_c10_stamp(line.substr(1))) last_ = *stamp;
    const int level = line[0] == 'E' ? 2 : line[0] == 'W' ? 1 : 0;
    const std::string_view words = line.substr(close + 2);
    ++agent_;
    if (words.starts_with("====")) {
        block_ = std::string(words), block_level_ = level, report_ = true;
        return true;
    }
    story_.log(last_, no_rank, level, std::string(words));
    agent_words(words);
    return true;
}

void LogReader::agent_words(std::string_view words) {
    if (const auto failed = after(words, "failed (exitcode: "); !failed.empty()) {
        const int code = static_cast<int>(number(failed));
        const Rank rank = story_.rank_of("", static_cast<std::int32_t>(number(after(words, "(pid: "))));
        if (rank != no_rank) story_.exits(last_, rank, code, code < 0 ? -code : 0);
    }
    if (words.find("closing signal SIGTERM") != words.npos) {
        const Rank rank =
            story_.rank_of("", static_cast<std::int32_t>(number(after(words, "Sending process "))));
        if (rank != no_rank) story_.exits(last_, rank, -15, 15);
    }
}

// "[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 119, pid=…, name=…, words"
bool LogReader::kernel(std::string_view line) {
    if (!line.starts_with("[")) return false;
    const auto stamp = emitters::read_kernel_stamp(line.substr(1));
    const std::size_t close = line.find("] ");
    if (!stamp || close == line.npos) return false;
    last_ = *stamp;
    ++kernel_;
    const std::string words(line.substr(close + 2));
    const std::string said = fmt::format("{} kernel: {}", place_.host.empty() ? "node" : place_.host, words);
    const std::string_view code = after(words, "): ");
    if (words.find("NVRM: Xid") != words.npos && !code.empty()) {
        const auto xid = static_cast<std::int32_t>(number(code));
        story_.tell(last_, no_rank, [xid, said](Evidence& evidence) -> Payload {
            return DeviceError{xid, evidence.text(said)};
        });
    } else if (words.find("Out of memory") != words.npos || words.find("fallen off the bus") != words.npos) {
        story_.log(last_, no_rank, 2, said);
    }
    return true;
}

}  // namespace

std::string read_log(std::string_view text, const LogPlace& place, Story& story) {
    LogReader reader(place, story);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        reader.take(line);
        at = end + 1;
    }
    return reader.finish();
}

}  // namespace deadrank::results::importers

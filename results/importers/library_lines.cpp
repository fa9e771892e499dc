// results/importers/library_lines.cpp — What NCCL, c10d and the kernel print. NCCL 2.4 and 2.30 differ in
// their prefixes; c10d prints the rank before its bracket since torch 2.3, and inside the message in older
// releases.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>

#include "results/analysis/signatures.h"
#include "results/importers/log_lines.h"
#include "results/record/codes.h"
#include "results/record/event_names.h"

namespace deadrank::results::importers {

namespace {

// "E820 11:47:24.069865760 ProcessGroupNCCL.cpp:607" or "E ProcessGroupNCCL.cpp:607": the letter, the stamp.
bool c10_head(std::string_view head) {
    if (head.size() < 4 || std::string_view("IWEFC").find(head[0]) == std::string_view::npos) return false;
    return head.find(".cpp:") != head.npos || head.find(".hpp:") != head.npos ||
           head.find(".h:") != head.npos;
}

int level_of_letter(char letter) { return letter == 'I' ? 0 : letter == 'W' ? 1 : 2; }

// "[ 1843.308145] ", "[  +0.000316] ", "[Sun Feb 23 16:24:18 2025] ", "6,1234,5678,-;": its length, 0 = none.
std::size_t kernel_head(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t close = text.substr(0, 40).find(']');
        if (close == text.npos) return 0;
        const std::string_view inside = text.substr(1, close - 1);
        const bool seconds =
            inside.find('.') != inside.npos && inside.find_first_not_of(" +.0123456789") == inside.npos;
        const auto stamp = seconds ? std::nullopt : read_stamp(inside, 2000);
        if (!seconds && (!stamp || stamp->size != inside.size())) return 0;
        std::size_t end = close + 1;
        while (end < text.size() && text[end] == ' ') ++end;
        return end;
    }
    const std::size_t semicolon = text.substr(0, 60).find(",-;");
    if (semicolon == text.npos || text.substr(0, semicolon).find_first_not_of("0123456789,") != text.npos)
        return 0;
    return semicolon + 3;
}

bool kernel_words(std::string_view words) {
    for (const std::string_view head :
         {"NVRM: ", "pcieport ", "mlx5_core ", "nvidia-nvswitch", "Out of memory", "oom-kill:", "oom_reaper",
          "Memory cgroup out of memory", "EXT4-fs", "nvme ", "mce: ", "EDAC ", "amdgpu ", "amdgpu: ", "i915 ",
          "xe ", "habanalabs "}) {
        if (words.starts_with(head)) return true;
    }
    return words.find("invoked oom-killer") != words.npos;
}

}  // namespace

// "node0:1000:1000 [0] init.cc:9 (f) NCCL WARN words"
bool LogReader::nccl(const Unwrapped& line) {
    const std::string_view text = line.text;
    if (text.starts_with("NCCL version ")) {
        versions_["nccl"] = std::string(text.substr(13, text.find('+') - 13));
        return ++nccl_ > 0;
    }
    const bool warns = text.find(" NCCL WARN ") != text.npos;
    if (!warns && text.find(" NCCL INFO ") == text.npos) return false;
    std::array<char, 256> host{};
    int pid = 0, device = 0;
    if (std::sscanf(std::string(text.substr(0, 400)).c_str(), "%255[^:]:%d:%*d [%d]", host.data(), &pid,
                    &device) != 3)
        return false;
    ++nccl_;
    const std::string_view words = after(text, warns ? " NCCL WARN " : " NCCL INFO ");
    if (line.rank != no_rank && story_.rank_of(host.data(), pid) == no_rank)
        story_.names(host.data(), pid, line.rank);
    nccl_words(words, host.data(), pid);
    Rank rank = story_.rank_of(host.data(), pid);
    if (rank == no_rank) rank = place_.rank;
    if (rank == no_rank) {
        if (warns) add_log_line(no_rank, analysis::signature_in(words) ? 2 : 1, std::string(text));
        return true;
    }
    KnownProcess& process = story_.process(rank);
    process.host = host.data(), process.pid = pid, process.gpu = device;
    for (const auto& [name, value] : versions_) process.versions[name] = value;
    for (const auto& [name, value] : environment_) process.environment[name] = value;
    if (!warns) return true;
    if (add_log_line(rank, 1, std::string(text)) == Story::nothing) return true;
    const std::string message(words);
    story_.add_event(last_, rank, [message](Evidence& evidence) -> Payload {
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
    if (place.empty() || size.empty()) return;
    const bool begins = words.find("Init START") != words.npos,
               ends = words.find("Init COMPLETE") != words.npos;
    const auto ranks = static_cast<std::int32_t>(number_in(size));
    // The first communicator of a process is the world: its rank there is the process's.
    if ((begins || ends) && story_.rank_of(host, pid) == no_rank && ranks > 1) {
        story_.names(host, pid, static_cast<Rank>(number_in(place)));
        story_.world_size(ranks);
    }
    const std::string_view hash = after(words, " commId ");
    if (hash.empty() || story_.rank_of(host, pid) == no_rank) return;
    const std::string comm(hash.substr(0, hash.find(' ')));
    if (begins)
        story_.nccl_begins(comm, story_.rank_of(host, pid), static_cast<Rank>(number_in(place)), ranks,
                           last_ == no_time ? 0 : last_);
    else if (ends)
        story_.nccl_joined(comm, story_.rank_of(host, pid), last_ == no_time ? 0 : last_);
}

// "[E810 03:04:11.061727749 ProcessGroupNCCL.cpp:683] words", or the older "[E ProcessGroupNCCL.cpp:821]
// words"
bool LogReader::c10d(const Unwrapped& line) {
    const std::string_view text = line.text;
    if (!text.starts_with('[')) return false;
    const std::size_t close = text.find("] ");
    if (close == text.npos || !c10_head(text.substr(1, close - 1))) return false;
    if (const auto stamp = read_stamp(text.substr(2), story_.year_or(place_.year))) timed(stamp->at);
    std::string words(text.substr(close + 2));
    ++c10d_;
    // The bracket's rank is that in the group; the prefix has the job's.
    const bool prefixed = line.rank != no_rank && !line.task;
    prefixed_ |= prefixed;
    Rank rank = line.rank != no_rank ? line.rank : place_.rank;
    if (rank == no_rank) rank = parse_rank(words);
    if (rank == no_rank) rank = line.local;
    const bool down = words.find("taking the entire process down") != words.npos;
    const int level = level_of_letter(text[1]);
    if (level > 0 || rank != no_rank) {
        const std::size_t told = add_log_line(rank, level, std::move(words));
        if (level == 1 && text.substr(0, close).find("TCPStore.cpp") != text.npos) store_warned(told);
    }
    if (down && rank != no_rank) story_.exits(last_, rank, -sigabrt, sigabrt);
    return true;
}

// "[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 119, pid=…, name=…, words"
bool LogReader::kernel(const Unwrapped& line) {
    std::string_view words = line.text;
    const std::size_t head = kernel_head(words);
    if (head > 0) {
        if (const auto stamp = read_stamp(words.substr(1), story_.year_or(place_.year))) {
            if (stamp->dated) story_.year(year_of(stamp->at));
            timed(stamp->at);
        }
        words = words.substr(head);
    }
    if (words.starts_with("kernel: ")) words = words.substr(8);
    // NVRM continues over lines that are indented after their stamp.
    const std::size_t inside = words.find("NVRM: ");
    const bool continued = inside != words.npos && words.find_first_not_of(' ') == inside;
    if (continued) words = words.substr(inside);
    if (head == 0 && line.source != "kernel" && !continued && !kernel_words(words)) return false;
    if (head > 0 && line.source != "kernel" && place_.host.empty() && !kernel_words(words) &&
        !analysis::signature_in(words))
        return ++kernel_ > 0;
    ++kernel_;
    const std::string host = !line.host.empty() ? line.host : place_.host.empty() ? "node" : place_.host;
    const std::string said = fmt::format("{} kernel: {}", host, words);
    const std::string_view code = after(words, "): ");
    if (words.find("NVRM: Xid") != words.npos && !code.empty()) {
        const auto xid = static_cast<std::int32_t>(number_in(code));
        const std::size_t told = story_.add_event(last_, no_rank, [xid, said](Evidence& evidence) -> Payload {
            return DeviceError{xid, evidence.text(said)};
        });
        if (last_ == no_time) untimed_.push_back(told);
        // The driver also reports an Xid when a user's own kernel reads out of bounds.
        return true;
    }
    if (!analysis::signature_in(words)) return true;
    add_log_line(no_rank, 2, said);
    if (const auto victim = after(words, "illed process "); !victim.empty()) {
        const Rank rank =
            story_.rank_of(host == "node" ? "" : host, static_cast<std::int32_t>(number_in(victim)));
        if (rank != no_rank) {
            story_.add_event(last_, rank, [](Evidence& evidence) -> Payload {
                return MemoryOom{0, 0, evidence.text(scenarios::enum_name(MemoryPlace::host))};
            });
            story_.exits(last_, rank, -sigkill, sigkill);
        }
    }
    return true;
}

}  // namespace deadrank::results::importers

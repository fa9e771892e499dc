// results/importers/launcher_lines.cpp — torchrun of all releases, DeepSpeed's and Lightning's launchers,
// mpirun and hydra, srun and slurmstepd, Ray, JAX, Kubernetes: which ranks ended, how, and their number.
#include <algorithm>
#include <fmt/format.h>

#include "results/analysis/signatures.h"
#include "results/importers/log_lines.h"

namespace deadrank::results::importers {

namespace {

std::string_view between(std::string_view text, std::string_view before, std::string_view behind) {
    const std::string_view rest = after(text, before);
    return rest.substr(0, rest.find(behind));
}

struct Head {
    std::string_view words;
    int level = 0;
};

// "ERROR:torch.distributed.elastic.x:words" until 2.0, "torch.distributed.elastic.x: [ERROR] words"
// until 2.2, "E0101 00:00:05.000000 1 torch/distributed/elastic/…/api.py:1002] words" since.
bool agent_head(std::string_view text, Head& head) {
    const auto level = [](char c) { return c == 'E' || c == 'C' ? 2 : c == 'W' ? 1 : 0; };
    for (const std::string_view name : {"ERROR:", "WARNING:", "INFO:", "CRITICAL:"}) {
        if (!text.starts_with(name) || !text.substr(name.size()).starts_with("torch.distributed")) continue;
        const std::size_t end = text.find(':', name.size());
        if (end == text.npos) return false;
        return head = {text.substr(end + 1), level(name[0])}, true;
    }
    if (text.starts_with("torch.distributed.") && text.find(": [") < 90) {
        const std::size_t open = text.find(": ["), close = text.find("] ", open);
        if (close == text.npos) return false;
        return head = {text.substr(close + 2), level(text[open + 3])}, true;
    }
    if (text.size() < 20 || std::string_view("IWEC").find(text[0]) == std::string_view::npos) return false;
    const std::size_t close = text.substr(0, 200).find("] ");
    if (close == text.npos || text.substr(0, close).find("torch/distributed/") == text.npos) return false;
    return head = {text.substr(close + 2), level(text[0])}, true;
}

// "0-3,7" of srun
std::vector<Rank> tasks_in(std::string_view list) {
    std::vector<Rank> ranks;
    for (std::size_t at = 0; at < list.size() && ranks.size() < 4096;) {
        std::size_t end = list.find_first_not_of("0123456789", at);
        if (end == at) break;
        const auto first = static_cast<Rank>(number_in(list.substr(at)));
        Rank last = first;
        if (end != list.npos && list[end] == '-') {
            last = static_cast<Rank>(number_in(list.substr(end + 1)));
            end = list.find_first_not_of("0123456789", end + 1);
        }
        for (Rank rank = first; rank <= last && ranks.size() < 4096; ++rank) ranks.push_back(rank);
        if (end == list.npos || list[end] != ',') break;
        at = end + 1;
    }
    return ranks;
}

int parse_signal(std::string_view words) {
    struct Named {
        std::string_view words;
        int signal;
    };
    for (const Named& one : {Named{"Segmentation fault", 11},
                             {"Killed", 9},
                             {"Aborted", 6},
                             {"Terminated", 15},
                             {"Bus error", 7},
                             {"Out Of Memory", 9}}) {
        if (words.find(one.words) != words.npos) return one.signal;
    }
    return 0;
}

}  // namespace

bool LogReader::agent(const Unwrapped& line) {
    Head head;
    if (!agent_head(line.text, head)) return false;
    if (const auto stamp = read_stamp(line.text.substr(1), story_.year_or(place_.year))) timed(stamp->at);
    ++agent_;
    story_.ignore_task_numbers();
    if (head.words.starts_with("====")) {
        Block& block = blocks_[line.source];
        block.kind = Block::report, block.text = head.words, block.at = last_;
        return true;
    }
    agent_words(head.words);
    const bool proof = head.words.find("successfully finished") != head.words.npos;
    const std::size_t told = add_log_line(no_rank, head.level, std::string(head.words));
    const bool shuts_down = head.words.find("failed to shutdown the rendezvous") != head.words.npos;
    if (shuts_down || head.words.find("failed to send a keep-alive heartbeat") != head.words.npos)
        store_warned(told);
    if (shuts_down) clear_store_warnings();
    if (proof) add_log_line(no_rank, 0, std::string(head.words));
    return true;
}

void LogReader::store_warned(std::size_t told) {
    if (told != Story::nothing) store_warnings_.push_back(told);
}

// An agent that has ended its work tells the store so. If the host of the store ended first, c10d and the
// agent warn; no process fails by that.
void LogReader::clear_store_warnings() {
    for (const std::size_t told : store_warnings_) story_.mark_survived(told);
    store_warnings_.clear();
}

void LogReader::agent_words(std::string_view words) {
    const auto pid_after = [&](std::string_view before) {
        return static_cast<std::int32_t>(number_in(after(words, before)));
    };
    if (const auto failed = after(words, "failed (exitcode: "); !failed.empty()) {
        Story::Failure failure;
        failure.at = last_, failure.code = static_cast<int>(number_in(failed)),
        failure.pid = pid_after("(pid: ");
        failure.rank = story_.rank_of("", failure.pid);
        if (failure.pid > 0) story_.worker(failure.pid);
        if (const auto local = after(words, "local_rank: "); failure.rank == no_rank && !local.empty())
            failure.local = static_cast<Rank>(number_in(local));
        story_.failed(failure);
    }
    if (words.find("closing signal SIGTERM") != words.npos) {
        story_.worker(pid_after("Sending process "));
        const Rank rank = story_.rank_of("", pid_after("Sending process "));
        if (rank != no_rank) story_.exits(last_, rank, -15, 15);
    }
}

// The entries of torchrun's report; those under "Root Cause" failed first.
void LogReader::report(const std::string& text) {
    story_.ignore_task_numbers();
    add_log_line(no_rank, 2, text);
    story_.add_event(last_, no_rank, [](Evidence&) -> Payload { return JobStop{1, TextId::none}; });
    Story::Failure failure;
    bool root = false;
    const auto close = [&] {
        if (failure.rank != no_rank) {
            failure.root = root;
            if (failure.at == no_time) failure.at = last_;
            story_.failed(failure);
        }
        failure = {};
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        const std::size_t begins = line.find_first_not_of(' ');
        if (begins == line.npos) continue;
        line = line.substr(begins);
        if (line.starts_with("Root Cause")) close(), root = true;
        if (line.starts_with('[') && line.ends_with("]:")) close();
        const auto value = after(line, ": ");
        if (line.starts_with("time ")) {
            if (const auto stamp = read_stamp(value, story_.year_or(place_.year))) {
                failure.at = stamp->at;
                story_.year(year_of(stamp->at));
            }
        } else if (line.starts_with("host ")) {
            failure.host = value;
        } else if (line.starts_with("rank ")) {
            failure.rank = static_cast<Rank>(number_in(value));
        } else if (line.starts_with("exitcode ")) {
            failure.code = static_cast<int>(number_in(value));
            failure.pid = static_cast<std::int32_t>(number_in(after(line, "(pid: ")));
        }
    }
    close();
}

// A table of sacct: its head names the columns, a line of dashes shows their widths, and with --parsable bars
// part them. "4711.0  torchrun  FAILED  1:0" becomes "sacct: step 4711.0 ended FAILED (ExitCode 1:0)".
bool LogReader::accounting(const Unwrapped& line) {
    const std::string text(line.text);
    const bool bars = text.find('|') != text.npos;
    const auto cells_of = [&](const std::string& row) {
        std::vector<std::string> cells;
        std::string cell;
        for (std::size_t at = 0; at <= row.size(); ++at) {
            const bool part = at == row.size() || (bars ? row[at] == '|' : row[at] == ' ');
            if (!part) cell += row[at];
            if (part && (bars || !cell.empty())) cells.push_back(std::exchange(cell, {}));
        }
        return cells;
    };
    const auto column = [](const std::vector<std::string>& cells, std::string_view name) {
        return static_cast<std::size_t>(std::find(cells.begin(), cells.end(), name) - cells.begin());
    };
    const std::vector<std::string> cells = cells_of(text);
    if (column(cells, "JobID") < cells.size() && column(cells, "State") < cells.size()) {
        accounts_ = cells;
        account_ends_.clear();
        return ++launcher_ > 0;
    }
    if (accounts_.empty()) return false;
    if (text.find_first_not_of("- ") == text.npos && text.find("--") != text.npos) {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(' ', at), text.size());
            account_ends_.push_back(end);
            at = std::max(end + 1, text.find('-', end));
        }
        return true;
    }
    std::vector<std::string> row = cells;
    // Cells may be empty, or hold blanks: "CANCELLED by 1000".
    if (row.size() != accounts_.size() && !account_ends_.empty()) {
        row.clear();
        std::size_t from = 0;
        for (const std::size_t end : account_ends_) {
            std::string cell = from < text.size() ? text.substr(from, end - from) : "";
            cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
            cell.erase(cell.find_last_not_of(' ') + 1);
            row.push_back(std::move(cell));
            from = end + 1;
        }
    }
    const std::size_t id = column(accounts_, "JobID"), state = column(accounts_, "State"),
                      code = column(accounts_, "ExitCode");
    const bool fits = row.size() > std::max(id, state) && !row[id].empty() && row[id][0] >= '0' &&
                      row[id][0] <= '9' && row[state].size() > 3 &&
                      row[state].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_+ by0123456789") == text.npos;
    if (!fits) {
        accounts_.clear();
        return false;
    }
    ++launcher_;
    // How a step ended proves nothing about the job's end.
    const bool step = row[id].find('.') != text.npos;
    const std::string ended = row[state].substr(0, row[state].find_first_of(" +"));
    if (step && ended == "COMPLETED") return true;
    add_log_line(
        no_rank, ended == "COMPLETED" ? 0 : 2,
        fmt::format("sacct: {} {} ended {}{}", step ? "step" : "job", row[id], ended,
                    code < row.size() && !row[code].empty() ? fmt::format(" (ExitCode {})", row[code]) : ""));
    return true;
}

// srun, slurmstepd and Kubernetes.
bool LogReader::scheduler(const Unwrapped& line) {
    const std::string_view text = line.text;
    if (text.starts_with("srun: ")) {
        ++launcher_;
        if (text.starts_with("srun: error: ") && text.find(": task") != text.npos) {
            std::string_view list = after(text, ": task");
            if (list.starts_with('s')) list.remove_prefix(1);
            if (list.starts_with(' ')) list.remove_prefix(1);
            const int signal = parse_signal(text);
            const auto code = after(text, "exit code ");
            const std::string host(between(text, "srun: error: ", ": task"));
            for (const Rank rank : tasks_in(list))
                story_.task_ended(last_, rank, signal > 0 ? -signal : static_cast<int>(number_in(code)),
                                  signal, host);
        }
        if (text.starts_with("srun: error")) add_log_line(no_rank, 2, std::string(text));
        return true;
    }
    // The line itself often has no stamp before it.
    if (const auto at = after(text, "CANCELLED AT "); !at.empty() && line.at == no_time) {
        if (const auto stamp = read_stamp(at, story_.year_or(place_.year))) timed(stamp->at);
    }
    if (accounting(line)) return true;
    if (text.starts_with("slurmstepd")) {
        ++launcher_;
        add_log_line(no_rank, 2, std::string(text));
        return true;
    }
    return false;
}

// Launchers' messages on how a rank ended.
bool LogReader::launcher(const Unwrapped& line) {
    const std::string_view text = line.text;
    const auto ended = [&](Rank rank, int code, int signal) {
        ++launcher_;
        if (rank != no_rank) story_.exits(last_, rank, code, signal);
        add_log_line(no_rank, 2, std::string(text));
        return true;
    };
    if (text.find("sigkill_handler] Killing subprocess") != text.npos ||
        text.starts_with("Killing subprocess "))
        return ++killed_subprocesses_ > 0;
    if (const auto code = after(text, "exits with return code = "); !code.empty()) {
        // DeepSpeed prints the command of the last process that it started, whichever failed: it is the one
        // that failed where it is the only one.
        const auto local = after(text, "--local_rank=");
        const int value = static_cast<int>(number_in(code));
        const bool only = killed_subprocesses_ == 1 && local.starts_with('0') && line.host.empty();
        killed_subprocesses_ = 0;
        story_.ignore_task_numbers();
        return ended(only ? 0 : no_rank, value, value < 0 ? -value : 0);
    }
    if (text == "Killed") {
        ++launcher_;
        return add_log_line(no_rank, 2, "shell: Killed"), true;
    }
    if (text.find("noticed that process rank ") != text.npos) {
        const int signal = static_cast<int>(number_in(after(text, "exited on signal ")));
        return ended(static_cast<Rank>(number_in(after(text, "process rank "))), -signal, signal);
    }
    if (const auto job = after(text, "Process name: [["); !job.empty())
        return ended(static_cast<Rank>(number_in(after(job, "],"))), 1, 0);
    if (text.find("RANK ") != text.npos && text.find(" RUNNING AT ") != text.npos)
        return ended(static_cast<Rank>(number_in(after(text, "RANK "))), 1, 0);
    // PALS of Cray: "x3200c0s13b0n0: rank 1 died from signal 6", "… exited with code 1"
    const std::size_t died = text.starts_with("rank ") ? 0 : text.find(": rank ");
    if (died != text.npos) {
        const std::string_view words = text.substr(died + (died == 0 ? 5 : 7));
        const std::size_t digits = words.find_first_not_of("0123456789");
        const std::string_view how = digits == words.npos ? std::string_view() : words.substr(digits);
        if (digits > 0 && (how.starts_with(" died from signal ") || how.starts_with(" exited with code "))) {
            const int number = static_cast<int>(number_in(how.substr(18)));
            const bool by_signal = how.starts_with(" died");
            if (number == 0) return true;
            return ended(static_cast<Rank>(number_in(words)), by_signal ? -number : number,
                         by_signal ? number : 0);
        }
    }
    if (const auto by = after(text, "MPI_ABORT was invoked on rank "); !by.empty())
        return ended(static_cast<Rank>(number_in(by)), 1, 0);
    if (const auto local = after(text, "Child process ");
        !local.empty() && text.find("(local_rank ") != text.npos)
        return ended(static_cast<Rank>(number_in(after(text, "(local_rank "))),
                     static_cast<int>(number_in(after(text, "FAILED (exitcode "))), 0);
    // Lightning: "[rank: 1] Child process with PID 7 terminated with code 1."
    if (text.find("Child process with PID ") != text.npos && line.rank != no_rank) {
        const int code = static_cast<int>(number_in(after(text, "terminated with code ")));
        return ended(line.rank, code, code < 0 ? -code : 0);
    }
    // JAX: "Task /job:jax_worker/replica:0/task:3 heartbeat timeout"
    if (text.find("heartbeat timeout") != text.npos && text.find("/task:") != text.npos) {
        ++launcher_;
        add_log_line(static_cast<Rank>(number_in(after(text, "/task:"))), 2, std::string(text));
        return true;
    }
    return false;
}

// "GLOBAL_RANK: 3, MEMBER: 4/16", "world_size=16", "with 16 processes": how many ranks there are.
bool LogReader::cluster_size(const Unwrapped& line) {
    const std::string_view text = line.text;
    if (const auto member = after(text, "MEMBER: ");
        !member.empty() && text.find("GLOBAL_RANK") != text.npos) {
        story_.world_size(static_cast<std::int32_t>(number_in(after(member, "/"))));
        return true;
    }
    for (const std::string_view words :
         {"world_size=", "world_size: ", "WORLD_SIZE=", "dist_world_size=", "world size: "}) {
        const auto value = after(text, words);
        if (value.empty() || value[0] < '1' || value[0] > '9') continue;
        const std::int64_t size = number_in(value);
        if (size <= 1 || size > 1'000'000 || text.find("rror") != text.npos) return false;
        story_.world_size(static_cast<std::int32_t>(size));
        return true;
    }
    return false;
}

}  // namespace deadrank::results::importers

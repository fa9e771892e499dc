// results/diagnosis/timeout_blame.cpp — When seven of eight ranks time out in the same call, the silent
// eighth is to blame. When one of four times out in another call, or behind the others, it took another path.
// A rank that left before the others timed out was waited for in vain. A time-out in a call after the first
// of its group proves that set-up was over.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/findings.h"
#include "results/analysis/signatures.h"
#include "results/diagnosis/incident_reading.h"
#include "results/record/codes.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Cause;
using scenarios::Symptom;

namespace {

using analysis::Nearness;

struct TimedOut {
    Time rang{0};
    std::int64_t seq = -1, ran_ms = -1, enqueued = -2, completed = -2;
    std::string call;  // "ALLREDUCE of 4821568"
};

std::string_view text_after(std::string_view text, std::string_view words) {
    const std::size_t at = text.find(words);
    return at == text.npos ? std::string_view() : text.substr(at + words.size());
}
std::int64_t whole(std::string_view text, std::int64_t otherwise) {
    const std::string digits(text.substr(0, 20));
    char* end = nullptr;
    const std::int64_t value = std::strtoll(digits.c_str(), &end, 10);
    return end == digits.c_str() ? otherwise : value;
}

void read_time_out(std::string_view text, TimedOut& one) {
    if (const auto seq = text_after(text, "SeqNum="); !seq.empty() && one.seq < 0) one.seq = whole(seq, -1);
    if (const auto op = text_after(text, "OpType="); !op.empty() && one.call.empty()) {
        one.call = op.substr(0, op.find_first_of(",)"));
        if (const auto size = text_after(text, "NumelIn="); !size.empty())
            one.call += fmt::format(" of {}", whole(size, 0));
    }
    if (const auto ran = text_after(text, "ran for "); !ran.empty()) one.ran_ms = whole(ran, -1);
    for (const std::string_view words : {"last enqueued NCCL work: ", "last enqueued work: "}) {
        if (const auto last = text_after(text, words); !last.empty()) one.enqueued = whole(last, -2);
    }
    for (const std::string_view words : {"last completed NCCL work: ", "last completed work: "}) {
        if (const auto last = text_after(text, words); !last.empty()) one.completed = whole(last, -2);
    }
}

// "Ranks 4, 5, 6, 7 failed to pass monitoredBarrier", "errors while waiting for send/recv from rank 0".
std::vector<Rank> named_by_barrier(std::string_view text) {
    std::vector<Rank> ranks;
    // JAX: "Timed out task names:" and a line "/job:jax_worker/replica:0/task:3" for each
    for (auto rest = text_after(text, "imed out task names"); !rest.empty();) {
        rest = text_after(rest, "/task:");
        const Rank rank = static_cast<Rank>(whole(rest, no_rank));
        if (rank != no_rank && std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
            ranks.push_back(rank);
    }
    if (!ranks.empty()) {
        std::sort(ranks.begin(), ranks.end());
        return ranks;
    }
    // c10d's desync report: "- [2, 5] finished collective #3, but didn't join collective #4"
    const std::size_t lags = text.find("but didn't join collective");
    if (lags != text.npos) {
        const std::size_t close = text.rfind(']', lags), open = text.rfind('[', close);
        if (close != text.npos && open != text.npos)
            return numbers_in(text.substr(open + 1, close - open - 1));
    }
    if (text.find("onitored") == text.npos) return ranks;
    const auto from = text_after(text, "send/recv from rank ");
    if (!from.empty()) return {static_cast<Rank>(whole(from, no_rank))};
    const std::size_t failed = text.find(" failed to pass");
    if (failed == text.npos) return ranks;
    const std::size_t word = text.rfind("ank", failed);
    if (word == text.npos) return ranks;
    for (std::size_t at = text.find_first_of("0123456789", word); at < failed;) {
        ranks.push_back(static_cast<Rank>(whole(text.substr(at), no_rank)));
        at = text.find_first_not_of("0123456789", at);
        at = at < failed ? text.find_first_of("0123456789", at) : text.npos;
    }
    return ranks;
}

// JAX: "Task /job:jax_worker/replica:0/task:3 heartbeat timeout"; no_rank otherwise.
Rank rank_without_heartbeat(std::string_view text) {
    const std::size_t words = text.find("heartbeat timeout");
    if (words == text.npos) return no_rank;
    const std::size_t task = text.rfind("/task:", words);
    return task == text.npos ? no_rank : static_cast<Rank>(whole(text.substr(task + 6), no_rank));
}

// HCCL: "has not received the Notify record from remote rank [4]", "remote rank:4"; no_rank otherwise.
Rank remote_rank(std::string_view text) {
    for (const std::string_view words : {"emote rank", "emote Rank", "emoteRank", "emoteUserRank"}) {
        std::string_view rest = text_after(text, words);
        rest.remove_prefix(std::min(rest.find_first_not_of(" :=[("), rest.size()));
        if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return static_cast<Rank>(whole(rest, no_rank));
    }
    return no_rank;
}

// The ranks whose value differs from that of the majority; empty when there is no majority.
template <class Value>
std::vector<Rank> find_minority_ranks(const std::map<Rank, Value>& values) {
    std::map<Value, std::vector<Rank>> by_value;
    for (const auto& [rank, value] : values) by_value[value].push_back(rank);
    if (by_value.size() < 2 || values.size() < 3) return {};
    const auto most = std::max_element(by_value.begin(), by_value.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
    });
    if (most->second.size() * 2 <= values.size()) return {};
    std::vector<Rank> few;
    for (const auto& [value, ranks] : by_value) {
        if (value != most->first) few.insert(few.end(), ranks.begin(), ranks.end());
    }
    std::sort(few.begin(), few.end());
    return few;
}

class Waiting {
public:
    Waiting(const Evidence& evidence, const analysis::LogRead& reading)
        : evidence_(evidence), reading_(reading) {
        for (const Event* event : evidence.each<RankLog>()) {
            const std::string_view text = evidence.text(event->as<RankLog>()->line);
            const auto* meant = analysis::signature_in(text);
            if (!meant || meant->nearness != Nearness::waiting) continue;
            read_missing(text);
            if (named_.empty() && !(named_ = named_by_barrier(text)).empty())
                connects_ = meant->symptom == Symptom::communication_setup_failure;
            if (const Rank lost = rank_without_heartbeat(text); lost != no_rank) lost_.insert(lost);
            if (const Rank remote = remote_rank(text); remote != no_rank)
                waits_for_[event->rank].insert(remote);
            if (first_ == Time{-1}) first_ = event->at;
            if (event->rank == no_rank) continue;
            TimedOut& one = by_rank_[event->rank];
            if (one.rang == Time{0}) one.rang = event->at;
            read_time_out(text, one);
        }
    }

    // Horovod: "[missing ranks: 1, 3]" of each tensor, or a line "Missing ranks: 3" for each rank of a
    // report. A tensor that waits for ranks 0, 1, 3 and one that waits for 0 and 1: rank 3 came, later than
    // others.
    void read_missing(std::string_view text) {
        const auto list = text_after(text, "[missing ranks: ");
        if (list.empty()) {
            const Rank rank = static_cast<Rank>(whole(text_after(text, "Missing ranks: "), no_rank));
            if (rank != no_rank) missing_.insert(rank);
            return;
        }
        const std::vector<Rank> ranks = numbers_in(list.substr(0, list.find(']')));
        std::set<Rank> now(ranks.begin(), ranks.end()), both;
        for (const Rank rank : now)
            if (missing_.contains(rank)) both.insert(rank);
        missing_ = both.empty() ? now : both;
    }

    Waited answer() const {
        for (const auto& rule : {&Waiting::missing, &Waiting::barrier, &Waiting::heartbeat, &Waiting::remote,
                                 &Waiting::find_early_exit, &Waiting::other_call, &Waiting::two_calls,
                                 &Waiting::find_ranks_behind, &Waiting::silent}) {
            Waited one = (this->*rule)();
            if (!one.blamed.empty()) return one;
        }
        Waited none;
        none.says = by_rank_.empty()
                        ? "a collective timed out"
                        : fmt::format("{} waited in vain{}", analysis::ranks_text(waiting()), where());
        return none;
    }

private:
    std::vector<Rank> waiting() const {
        std::vector<Rank> ranks;
        for (const auto& [rank, one] : by_rank_) ranks.push_back(rank);
        return ranks;
    }
    std::string where() const {
        for (const auto& [rank, one] : by_rank_) {
            if (one.call.empty()) continue;
            std::string text = fmt::format(" in {}", one.call);
            if (one.seq >= 0) text += fmt::format(", call {} of its group", one.seq);
            if (one.seq > 1 || one.completed >= 0) text += "; set-up was over";
            return text;
        }
        return "";
    }

    Waited missing() const {
        if (missing_.empty()) return {};
        const std::vector<Rank> ranks(missing_.begin(), missing_.end());
        return {ranks, fmt::format("{} never submitted a tensor that the others wait for",
                                   analysis::ranks_text(ranks))};
    }
    Waited barrier() const {
        if (named_.empty()) return {};
        const std::string says = fmt::format("{} did not come to a barrier", analysis::ranks_text(named_));
        // Of four processes one came to where all connect: the others were not started, or were told of
        // another place or number.
        const bool alone = connects_ && std::ssize(named_) == named_.back();
        if (!alone) return {named_, says};
        return {named_, says + ", and only one rank did",
                Cause::misconfigured_resource_or_distributed_settings};
    }
    Waited heartbeat() const {
        if (lost_.empty()) return {};
        const std::vector<Rank> ranks(lost_.begin(), lost_.end());
        return {ranks, fmt::format("{} stopped sending heartbeats", analysis::ranks_text(ranks))};
    }
    // Rank 0 waits for rank 4, and rank 7 for rank 0, which waits itself: rank 4 began it.
    Waited remote() const {
        std::set<Rank> named, waiting;
        for (const auto& [rank, others] : waits_for_) {
            named.insert(others.begin(), others.end());
            waiting.insert(rank);
        }
        std::vector<Rank> first;
        for (const Rank rank : named)
            if (!waiting.contains(rank)) first.push_back(rank);
        waiting.erase(no_rank);
        if (first.empty()) return {};
        const std::vector<Rank> those(waiting.begin(), waiting.end());
        return {first,
                fmt::format("{} did not answer{}", analysis::ranks_text(first),
                            those.empty() ? std::string()
                                          : fmt::format("; {} waited for it", analysis::ranks_text(those)))};
    }
    // A rank left before the others timed out, and not because of a time-out of its own.
    Waited find_early_exit() const {
        for (const Event* event : evidence_.each<RankExit>()) {
            const auto* exit = event->as<RankExit>();
            const bool ended = exit->code != 0 && exit->signal != sigterm && exit->signal != sigabrt;
            if (!ended || by_rank_.contains(event->rank) || by_rank_.empty()) continue;
            if (event->at + std::chrono::seconds(2) > first_) continue;
            return {{event->rank},
                    fmt::format("rank {} had left with code {}; {} waited for it{}", event->rank, exit->code,
                                analysis::ranks_text(waiting()), where()),
                    Cause::unpropagated_rank_failure};
        }
        return {};
    }
    Waited other_call() const {
        std::map<Rank, std::string> calls;
        for (const auto& [rank, one] : by_rank_) {
            if (!one.call.empty()) calls[rank] = one.call;
        }
        const auto few = find_minority_ranks(calls);
        if (few.empty()) return {};
        return {few,
                fmt::format("{} timed out in {}, the others elsewhere", analysis::ranks_text(few),
                            calls[few.front()]),
                Cause::communication_order_divergence};
    }
    // Two ranks time out in the same call of their group, which is not the same to both.
    Waited two_calls() const {
        if (by_rank_.size() != 2) return {};
        const auto& [one, first] = *by_rank_.begin();
        const auto& [other, second] = *by_rank_.rbegin();
        if (first.call.empty() || second.call.empty() || first.call == second.call || first.seq != second.seq)
            return {};
        return {{one, other},
                fmt::format("call {}: rank {} is in {}, rank {} in {}", first.seq, one, first.call, other,
                            second.call),
                Cause::communication_order_divergence};
    }
    // Ranks that have enqueued fewer calls than the others are behind.
    Waited find_ranks_behind() const {
        std::map<Rank, std::int64_t> asked, at;
        for (const auto& [rank, one] : by_rank_) {
            if (one.enqueued >= -1) asked[rank] = one.enqueued;
            if (one.seq >= 0) at[rank] = one.seq;
        }
        for (const auto* values : {&asked, &at}) {
            const auto few = find_minority_ranks(*values);
            if (few.empty()) continue;
            const auto other = std::find_if(values->begin(), values->end(), [&](const auto& one) {
                return std::count(few.begin(), few.end(), one.first) == 0;
            });
            if (other == values->end() || values->at(few.front()) > other->second) continue;
            return {few, fmt::format("{} stopped at another call than the others: {}",
                                     analysis::ranks_text(few), values->at(few.front()))};
        }
        return {};
    }
    // The world size is known and most ranks timed out: the few that did not are to blame.
    Waited silent() const {
        const auto world = static_cast<std::size_t>(reading_.ranks_stated);
        if (by_rank_.size() < 2 || world <= by_rank_.size() ||
            (world - by_rank_.size()) * 2 > by_rank_.size() ||
            by_rank_.rbegin()->first >= static_cast<Rank>(reading_.ranks_stated))
            return {};
        std::vector<Rank> silent;
        for (Rank rank = 0; rank < reading_.ranks_stated; ++rank) {
            if (!by_rank_.contains(rank)) silent.push_back(rank);
        }
        return {silent, fmt::format("{} of {} ranks timed out{}; {} did not", by_rank_.size(), world, where(),
                                    analysis::ranks_text(silent))};
    }

    const Evidence& evidence_;
    const analysis::LogRead& reading_;
    std::map<Rank, TimedOut> by_rank_;
    std::vector<Rank> named_;
    bool connects_ = false;  // the barrier is where all processes connect
    std::set<Rank> missing_, lost_;
    std::map<Rank, std::set<Rank>> waits_for_;  // who names whom as the other side
    Time first_{-1};
};

}  // namespace

Waited find_awaited_rank(const Evidence& evidence, const analysis::LogRead& reading) {
    return Waiting(evidence, reading).answer();
}

}  // namespace deadrank::results::diagnosis

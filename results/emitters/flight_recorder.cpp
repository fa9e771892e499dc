// results/emitters/flight_recorder.cpp — Flight Recorder dumps as torch writes them: JSON, and Python's
// pickle.
#include "results/emitters/flight_recorder.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "results/analysis/calls.h"
#include "results/analysis/lives.h"
#include "results/emitters/c10d_names.h"
#include "results/record/codes.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::results::emitters {

// ── Entries as ProcessGroupNCCL records them. A call is "scheduled" while an earlier one of the same group
// is still pending on its stream.

namespace {

using Json = nlohmann::ordered_json;
using analysis::Calls;
using analysis::Communicator;
using analysis::Lives;

constexpr std::int64_t timeout_ms = 600'000;

struct Entry {
    CommId comm = 0;
    std::int64_t seq = 0, count = 0;
    Op op = Op::none;
    Dtype dtype = Dtype::none;
    Rank peer = no_rank;  // place in the group; no_rank for a collective
    Time entered{0}, left = never;
};

// What one process recorded in this attempt, up to `at`.
class Recorder {
public:
    Recorder(const Evidence& evidence, Rank process, Time at) {
        const Lives& lives = evidence.facts<Lives>();
        const Time since = lives.begins(lives.attempt_at(at));
        for (const Event& event : evidence.events()) {
            if (event.rank != process || event.at < since || event.at > at) continue;
            take(event);
        }
    }

    const std::vector<Entry>& entries() const { return entries_; }
    const std::vector<const CommInitEnter*>& groups() const { return groups_; }

private:
    using Key = std::tuple<CommId, std::int64_t, Op, Rank>;

    void take(const Event& event) {
        if (const auto* comm = event.as<CommInitEnter>()) groups_.push_back(comm);
        if (const auto* call = event.as<CollectiveEnter>())
            open({call->comm, call->seq, call->count, call->op, call->dtype, no_rank, event.at, never});
        if (const auto* call = event.as<P2pEnter>())
            open({call->comm, call->seq, call->count, call->op, call->dtype, call->peer, event.at, never});
        if (const auto* left = event.as<CollectiveLeave>())
            close({left->comm, left->seq, left->op, no_rank}, event.at, left->result);
        if (const auto* left = event.as<P2pLeave>())
            close({left->comm, left->seq, left->op, left->peer}, event.at, left->result);
    }
    void open(const Entry& entry) {
        open_[{entry.comm, entry.seq, entry.op, entry.peer}] = entries_.size();
        entries_.push_back(entry);
    }
    void close(const Key& key, Time at, Code result) {
        const auto found = open_.find(key);
        if (found == open_.end() || result != Code::ok) return;
        entries_[found->second].left = at;
        open_.erase(found);
    }

    std::vector<Entry> entries_;
    std::vector<const CommInitEnter*> groups_;
    std::map<Key, std::size_t> open_;
};

// Of a call, as torch writes it.
enum class State { scheduled, started, completed };
constexpr auto enum_words(State) {
    return std::to_array<std::string_view>({"scheduled", "started", "completed"});
}

std::string list_text(const std::vector<Rank>& ranks) {
    std::string text;
    for (const Rank rank : ranks) text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
    return "[" + text + "]";
}

class DumpWriter {
public:
    DumpWriter(const Evidence& evidence, const Recorder& recorder, const FlightRecorderProfile& profile,
               DumpForm form)
        : evidence_(evidence), recorder_(recorder), profile_(profile), form_(form) {
        for (const CommInitEnter* group : recorder.groups()) groups_[group->comm] = group;
    }

    Json dump(const std::string& library) {
        Json top = {{"version", profile_.version}, {"pg_config", config()}};
        if (!profile_.library_key.empty()) top[profile_.library_key] = library;
        Json entries = all_entries();  // fills status_
        top["pg_status"] = status();
        if (form_ == DumpForm::pickle || !entries.empty()) top["entries"] = std::move(entries);
        return top;
    }

private:
    struct Status {
        std::int64_t enqueued = -1, started = -1, completed = -1;
    };

    Json config() const {
        Json groups = Json::object();
        for (const auto& [comm, group] : groups_) {
            const auto ranks = analysis::parse_members(evidence_.text(group->members));
            groups[group_name(comm)] = {{"name", group_name(comm)},
                                        {"desc", group_description(evidence_.text(group->name))},
                                        {"ranks", list_text(ranks)}};
        }
        return groups;
    }

    Json all_entries() {
        Json list = Json::array();
        std::map<CommId, std::int64_t> collectives, p2ps;  // as c10d counts them
        std::map<CommId, bool> blocked;
        const auto& entries = recorder_.entries();
        const std::size_t first = entries.size() - std::min(entries.size(), profile_.buffer);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const Entry& entry = entries[i];
            const bool p2p = entry.peer != no_rank;
            auto& seq = p2p ? p2ps[entry.comm] : collectives[entry.comm];
            seq = p2p ? seq + 1 : entry.seq;
            const State state = entry.left != never   ? State::completed
                                : blocked[entry.comm] ? State::scheduled
                                                      : State::started;
            blocked[entry.comm] = blocked[entry.comm] || entry.left == never;
            if (!p2p) note(entry, seq, state);
            if (i < first) continue;
            list.push_back(written(entry, i, collectives[entry.comm], p2p ? p2ps[entry.comm] : 0, state));
        }
        return list;
    }

    void note(const Entry& entry, std::int64_t seq, State state) {
        Status& status = status_[entry.comm];
        status.enqueued = seq;
        if (state != State::scheduled) status.started = seq;
        if (state == State::completed) status.completed = seq;
    }

    Json status() const {
        Json groups = Json::object();
        const auto number = [&](std::int64_t seq) {
            return form_ == DumpForm::json ? Json(std::to_string(seq)) : Json(seq);
        };
        for (const auto& [comm, group] : groups_) {
            const auto found = status_.find(comm);
            const Status status = found == status_.end() ? Status{} : found->second;
            groups[std::to_string(comm - 1)] = {{"last_enqueued_collective", number(status.enqueued)},
                                                {"last_started_collective", number(status.started)},
                                                {"last_completed_collective", number(status.completed)}};
        }
        return groups;
    }

    Json written(const Entry& entry, std::size_t record, std::int64_t collective_seq, std::int64_t p2p_seq,
                 State state) const {
        const auto found = groups_.find(entry.comm);
        const CommInitEnter* group = found == groups_.end() ? nullptr : found->second;
        const auto [in, out] = element_counts(entry.op, entry.count, group ? group->size : 1);
        const bool p2p = entry.peer != no_rank, json = form_ == DumpForm::json,
                   done = state == State::completed;
        const Json dtype = Json::array({scalar_type(entry.dtype)});
        Json one = Json::object();
        if (!json) one["frames"] = Json::array();
        one["record_id"] = record;
        one["pg_id"] = entry.comm - 1;
        one["process_group"] = {group_name(entry.comm), group ? group_description(evidence_.text(group->name))
                                                              : std::string("undefined")};
        if (profile_.threads) one["thread_name"] = "pt_main_thread", one["thread_id"] = "0";
        one["collective_seq_id"] = collective_seq;
        one["p2p_seq_id"] = p2p_seq;
        one["op_id"] = record + 1;
        one["profiling_name"] = profiling_name(entry.op, group ? group->rank_in_comm : 0, entry.peer);
        one["time_created_ns"] = wall_clock(entry.entered);
        if (done) one["duration_ms"] = static_cast<double>((entry.left - entry.entered).count()) / 1e6;
        one["input_sizes"] = Json::array({Json::array({in})});
        one["input_dtypes"] = dtype;
        one["output_sizes"] = Json::array({Json::array({out})});
        one["output_dtypes"] = dtype;
        one["state"] = scenarios::enum_name(state);
        const Json no_time = json ? Json(0) : Json(nullptr);
        one["time_discovered_started_ns"] =
            state == State::scheduled ? no_time : Json(wall_clock(entry.entered));
        one["time_discovered_completed_ns"] = done ? Json(wall_clock(entry.left)) : no_time;
        one["retired"] = done;
        one["timeout_ms"] = timeout_ms;
        one["is_p2p"] = p2p;
        return one;
    }

    const Evidence& evidence_;
    const Recorder& recorder_;
    const FlightRecorderProfile& profile_;
    DumpForm form_;
    std::map<CommId, const CommInitEnter*> groups_;
    std::map<CommId, Status> status_;
};

}  // namespace

std::vector<RankDump> dumping_ranks(const Evidence& evidence, const Snapshot& snapshot) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempt_at(snapshot.at);
    std::vector<RankDump> dumps;
    for (const analysis::Life& life : lives.of(attempt)) {
        const bool by_itself = life.signal == sigabrt && life.ended <= snapshot.at;
        if (!life.start || (!life.alive_at(snapshot.at) && !by_itself)) continue;
        const std::string torch(value_in(evidence.text(life.start->versions), "torch"));
        dumps.push_back({life.process, life.process, torch});
    }
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        for (RankDump& dump : dumps) {
            if (dump.process == event->rank && event->at >= lives.begins(attempt) && event->at <= snapshot.at)
                dump.rank = event->as<RendezvousEnter>()->claimed_rank;
        }
    }
    return dumps;
}

Json flight_recorder_dump(const Evidence& evidence, Rank process, Time at,
                          const FlightRecorderProfile& profile, DumpForm form) {
    const Recorder recorder(evidence, process, at);
    std::string library;
    for (const Event* start : evidence.each<RankStart>()) {
        if (start->rank == process)
            library = value_in(evidence.text(start->as<RankStart>()->versions), "nccl");
    }
    return DumpWriter(evidence, recorder, profile, form).dump(library);
}

std::vector<EmittedFile> flight_recorder_files(const Evidence& evidence, const Snapshot& snapshot,
                                               DumpForm form, std::string_view prefix) {
    std::vector<RankDump> dumps = dumping_ranks(evidence, snapshot);
    std::sort(dumps.begin(), dumps.end(),
              [](const RankDump& a, const RankDump& b) { return a.rank > b.rank; });
    std::vector<EmittedFile> files;
    for (const RankDump& dump : dumps) {
        const FlightRecorderProfile& profile = flight_recorder_profile(dump.torch);
        const Json tree = flight_recorder_dump(evidence, dump.process, snapshot.at, profile, form);
        const std::string name = fmt::format("{}{}", prefix.empty() ? profile.prefix : prefix, dump.rank);
        if (form == DumpForm::pickle)
            files.push_back({name, to_pickle(tree)});
        else
            files.push_back({name + ".json", tree.dump(-1, ' ', false, Json::error_handler_t::replace)});
    }
    return files;
}

namespace {

using Json = nlohmann::ordered_json;

// Integers are little-endian; only a float is big-endian. No memo table: it would only save space.
class Writer {
public:
    std::string out{"\x80\x02", 2};

    void value(const Json& json, bool tuple = false) {
        switch (json.type()) {
            case Json::value_t::object:
                return dict(json);
            case Json::value_t::array:
                return tuple && json.size() == 2 ? pair(json) : list(json);
            case Json::value_t::string:
                return text(json.get_ref<const std::string&>());
            case Json::value_t::boolean:
                return op(json.get<bool>() ? '\x88' : '\x89');
            case Json::value_t::number_float:
                return real(json.get<double>());
            case Json::value_t::number_integer:
            case Json::value_t::number_unsigned:
                return number(json.get<std::int64_t>());
            default:
                return op('N');
        }
    }
    void op(char c) { out.push_back(c); }

private:
    void dict(const Json& json) {
        op('}');
        op('(');
        for (const auto& [key, one] : json.items()) {
            text(key);
            value(one, key == "process_group");
        }
        op('u');
    }
    void list(const Json& json) {
        op(']');
        op('(');
        for (const Json& one : json) value(one);
        op('e');
    }
    void pair(const Json& json) {
        value(json[0]);
        value(json[1]);
        op('\x86');
    }
    void text(const std::string& words) {
        op('X');
        little(words.size(), 4);
        out += words;
    }
    void number(std::int64_t value) {
        if (value == static_cast<std::int32_t>(value)) {
            op('J');
            little(static_cast<std::uint64_t>(value), 4);
        } else {
            op('\x8a');
            op(8);
            little(static_cast<std::uint64_t>(value), 8);
        }
    }
    void real(double value) {
        op('G');
        const auto bits = std::bit_cast<std::uint64_t>(value);
        for (int shift = 56; shift >= 0; shift -= 8) op(static_cast<char>(bits >> shift));
    }
    void little(std::uint64_t value, int bytes) {
        for (; bytes > 0; --bytes, value >>= 8) op(static_cast<char>(value));
    }
};

}  // namespace

std::string to_pickle(const Json& tree) {
    Writer writer;
    writer.value(tree);
    writer.op('.');
    return std::move(writer.out);
}

}  // namespace deadrank::results::emitters

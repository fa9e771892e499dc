// sim/workloads/recording.cpp — Recordings as JSON, and what more ranks than were recorded do.
#include "sim/workloads/recording.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

namespace deadrank::sim {

namespace {

using nlohmann::json;
using results::Op;
using scenarios::ErrorCode;
using Kind = RecordedAction::Kind;

constexpr std::size_t text_most = std::size_t{256} << 20;
constexpr std::int64_t count_most = std::int64_t{1} << 40;
constexpr std::int64_t time_most = std::int64_t{30} * 86400 * 1'000'000'000;  // 30 days in nanoseconds
constexpr std::size_t ranks_most = 1 << 16;

bool is_message(Op op) { return op == Op::send || op == Op::recv; }

// ── Writing

json json_of(const RecordedAction& action) {
    switch (action.kind) {
        case Kind::call:
            return {
                results::name_of(action.op),     action.group, action.count, results::name_of(action.dtype),
                results::name_of(action.reduce), action.member};
        case Kind::message:
            return {results::name_of(action.op),    action.group,  action.count,
                    results::name_of(action.dtype), action.member, action.tag};
        case Kind::wait:
            return {"wait", action.back};
        case Kind::phase:
            break;
    }
    return {"phase", results::name_of(action.phase)};
}

// Lists of actions without their times: most steps of most ranks have the same.
class Lists {
public:
    std::size_t keep(const std::vector<RecordedAction>& actions) {
        json list = json::array();
        for (const RecordedAction& action : actions) list.push_back(json_of(action));
        const auto [found, fresh] = known_.try_emplace(list.dump(), all_.size());
        if (fresh) all_.push_back(std::move(list));
        return found->second;
    }
    json take() { return std::move(all_); }

private:
    std::map<std::string, std::size_t> known_;
    json all_ = json::array();
};

json json_of(const RecordedStretch& stretch, Lists& lists) {
    json times = json::array({stretch.before.count()});
    for (const RecordedAction& action : stretch.actions) times.push_back(action.before.count());
    times.push_back(stretch.after.count());
    json row = json::array({lists.keep(stretch.actions), std::move(times)});
    if (std::isfinite(stretch.loss)) row.push_back(stretch.loss);
    if (std::isfinite(stretch.loss) && std::isfinite(stretch.gradient_norm))
        row.push_back(stretch.gradient_norm);
    return row;
}

// ── Reading

struct Mistake {
    std::string what;
};

std::int64_t number_in(const json& row, std::size_t at, std::int64_t least, std::int64_t most,
                       const char* what) {
    if (at >= row.size() || !row[at].is_number_integer())
        throw Mistake{fmt::format("{} is no whole number", what)};
    const auto number = row[at].get<std::int64_t>();
    if (number < least || number > most)
        throw Mistake{fmt::format("{} is {}, not {} to {}", what, number, least, most)};
    return number;
}

std::string word_in(const json& row, std::size_t at) {
    if (at >= row.size() || !row[at].is_string()) throw Mistake{"a word of an action is missing"};
    return row[at].get<std::string>();
}

const json& list_in(const json& body, const char* name) {
    if (!body.is_object() || !body.contains(name) || !body[name].is_array())
        throw Mistake{fmt::format("there is no list '{}'", name)};
    return body[name];
}

RecordedGroup group_of(const json& row, std::size_t ranks) {
    if (!row.is_array() || row.size() != 2 || !row[0].is_string() || !row[1].is_array() || row[1].empty())
        throw Mistake{"a group is no pair of a name and its members"};
    RecordedGroup group{row[0].get<std::string>(), {}};
    for (std::size_t i = 0; i < row[1].size(); ++i) {
        const auto member =
            number_in(row[1], i, 0, static_cast<std::int64_t>(ranks) - 1, "a member of a group");
        group.members.push_back(static_cast<Rank>(member));
    }
    std::vector<Rank> sorted = group.members;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        throw Mistake{fmt::format("group '{}' has a member twice", group.name)};
    return group;
}

RecordedAction action_of(const json& row, const std::vector<RecordedGroup>& groups) {
    if (!row.is_array()) throw Mistake{"an action is no list"};
    const std::string word = word_in(row, 0);
    RecordedAction action;
    if (word == "wait") {
        action.kind = Kind::wait;
        action.back = number_in(row, 1, 0, count_most, "the call that is waited for");
        return action;
    }
    if (word == "phase") {
        action.phase = results::phase_named(word_in(row, 1));
        return action;
    }
    action.op = results::op_named(word);
    if (action.op == Op::none) throw Mistake{fmt::format("there is no call '{}'", word)};
    action.kind = is_message(action.op) ? Kind::message : Kind::call;
    action.group = static_cast<std::int32_t>(
        number_in(row, 1, 0, static_cast<std::int64_t>(groups.size()) - 1, "the group of a call"));
    action.count = number_in(row, 2, 0, count_most, "the size of a call");
    action.dtype = results::dtype_named(word_in(row, 3));
    const auto members =
        static_cast<std::int64_t>(groups[static_cast<std::size_t>(action.group)].members.size());
    if (action.kind == Kind::message) {
        action.member = static_cast<std::int32_t>(number_in(row, 4, 0, members - 1, "the peer of a message"));
        action.tag =
            static_cast<std::int32_t>(number_in(row, 5, INT32_MIN, INT32_MAX, "the tag of a message"));
    } else {
        action.reduce = results::reduce_op_named(word_in(row, 4));
        action.member = static_cast<std::int32_t>(number_in(row, 5, -1, members - 1, "the root of a call"));
    }
    return action;
}

class Reader {
public:
    explicit Reader(const json& body) : body_(body) {}

    Recording read() {
        if (!body_.is_object() || !body_.contains("recording") || body_["recording"] != 1)
            throw Mistake{"it is no recording of format 1"};
        const json& ranks = list_in(body_, "ranks");
        if (ranks.empty() || ranks.size() > ranks_most)
            throw Mistake{fmt::format("it has {} ranks, not 1 to {}", ranks.size(), ranks_most)};
        Recording recording;
        for (const json& row : list_in(body_, "groups"))
            recording.groups.push_back(group_of(row, ranks.size()));
        for (const json& list : list_in(body_, "lists")) {
            if (!list.is_array()) throw Mistake{"a list of actions is no list"};
            std::vector<RecordedAction>& actions = lists_.emplace_back();
            for (const json& row : list) actions.push_back(action_of(row, recording.groups));
        }
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            recording.ranks.push_back(rank_of(ranks[rank], static_cast<Rank>(rank), recording.groups));
            if (recording.ranks.back().steps.size() != recording.steps())
                throw Mistake{fmt::format("rank {} has {} steps, and rank 0 has {}", rank,
                                          recording.ranks.back().steps.size(), recording.steps())};
        }
        return recording;
    }

private:
    RecordedRank rank_of(const json& rows, Rank rank, const std::vector<RecordedGroup>& groups) const {
        if (!rows.is_array() || rows.size() < 2)
            throw Mistake{fmt::format("rank {} lacks what it does before or after its steps", rank)};
        RecordedRank read;
        std::int64_t calls = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RecordedStretch stretch = stretch_of(rows[i]);
            for (const RecordedAction& action : stretch.actions) check(action, rank, groups, calls);
            if (i == 0)
                read.start = std::move(stretch);
            else if (i + 1 == rows.size())
                read.end = std::move(stretch);
            else
                read.steps.push_back(std::move(stretch));
        }
        return read;
    }

    static void check(const RecordedAction& action, Rank rank, const std::vector<RecordedGroup>& groups,
                      std::int64_t& calls) {
        if (action.kind == Kind::wait && action.back >= calls)
            throw Mistake{fmt::format("rank {} waits for a call that it has not made", rank)};
        if (action.kind != Kind::call && action.kind != Kind::message) return;
        ++calls;
        const RecordedGroup& group = groups[static_cast<std::size_t>(action.group)];
        if (std::find(group.members.begin(), group.members.end(), rank) == group.members.end())
            throw Mistake{
                fmt::format("rank {} calls group '{}', of which it is no member", rank, group.name)};
    }

    RecordedStretch stretch_of(const json& row) const {
        if (!row.is_array() || row.size() < 2 || !row[1].is_array())
            throw Mistake{"a step is no list and its times"};
        RecordedStretch stretch;
        const auto list =
            number_in(row, 0, 0, static_cast<std::int64_t>(lists_.size()) - 1, "the list of a step");
        stretch.actions = lists_[static_cast<std::size_t>(list)];
        const json& times = row[1];
        if (times.size() != stretch.actions.size() + 2)
            throw Mistake{fmt::format("a step of {} actions has {} times, not {}", stretch.actions.size(),
                                      times.size(), stretch.actions.size() + 2)};
        const auto time = [&](std::size_t i) { return Time(number_in(times, i, 0, time_most, "a time")); };
        stretch.before = time(0);
        for (std::size_t i = 0; i < stretch.actions.size(); ++i) stretch.actions[i].before = time(i + 1);
        stretch.after = time(times.size() - 1);
        if (row.size() > 2 && row[2].is_number()) stretch.loss = row[2].get<double>();
        if (row.size() > 3 && row[3].is_number()) stretch.gradient_norm = row[3].get<double>();
        return stretch;
    }

    const json& body_;
    std::vector<std::vector<RecordedAction>> lists_;
};

// ── Lifting

std::optional<GroupShape> shape_of(const RecordedGroup& group, Rank ranks, Rank block) {
    const std::vector<Rank>& members = group.members;
    std::vector<Rank> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), Rank{0});
    if (members == all) return GroupShape::world;
    const bool within = std::all_of(members.begin(), members.end(),
                                    [&](Rank member) { return member / block == members.front() / block; });
    if (within) return GroupShape::within;
    std::vector<Rank> across;
    for (Rank rank = members.front(); rank < ranks; rank += block) across.push_back(rank);
    return members == across && members.front() < block ? std::optional(GroupShape::across) : std::nullopt;
}

// Messages between blocks have no counterpart where there are more blocks.
bool stays_in_its_block(const RecordedAction& action, Rank rank, Rank block,
                        const std::vector<GroupShape>& shapes) {
    if (action.kind != Kind::message) return true;
    const GroupShape shape = shapes[static_cast<std::size_t>(action.group)];
    return shape == GroupShape::within ||
           (shape == GroupShape::world && action.member / block == rank / block);
}

std::optional<std::vector<GroupShape>> shapes_with(const Recording& recording, Rank block) {
    std::vector<GroupShape> shapes;
    for (const RecordedGroup& group : recording.groups) {
        const auto shape = shape_of(group, recording.size(), block);
        if (!shape) return std::nullopt;
        shapes.push_back(*shape);
    }
    for (Rank rank = 0; rank < recording.size(); ++rank) {
        const RecordedRank& done = recording.ranks[static_cast<std::size_t>(rank)];
        const auto stays = [&](const RecordedStretch& stretch) {
            return std::all_of(stretch.actions.begin(), stretch.actions.end(),
                               [&](const RecordedAction& action) {
                                   return stays_in_its_block(action, rank, block, shapes);
                               });
        };
        if (!stays(done.start) || !stays(done.end) ||
            !std::all_of(done.steps.begin(), done.steps.end(), stays))
            return std::nullopt;
    }
    return shapes;
}

}  // namespace

scenarios::Result<Recording> read_recording(std::string_view text) {
    const auto refuse = [](const std::string& what) {
        return scenarios::refuse(ErrorCode::bad_input, what,
                                 "make it with `deadrank new stage/name --recording evidence.jsonl`");
    };
    if (text.size() > text_most)
        return refuse(fmt::format("the recording is larger than {} MiB", text_most >> 20));
    try {
        const json body = json::parse(text);
        return Reader(body).read();
    } catch (const json::exception& trouble) {
        return refuse(fmt::format("the recording is no JSON: {}", trouble.what()));
    } catch (const Mistake& mistake) {
        return refuse("the recording cannot be read: " + mistake.what);
    }
}

std::string recording_text(const Recording& recording) {
    Lists lists;
    json ranks = json::array();
    for (const RecordedRank& rank : recording.ranks) {
        json rows = json::array();
        rows.push_back(json_of(rank.start, lists));
        for (const RecordedStretch& step : rank.steps) rows.push_back(json_of(step, lists));
        rows.push_back(json_of(rank.end, lists));
        ranks.push_back(std::move(rows));
    }
    json groups = json::array();
    for (const RecordedGroup& group : recording.groups) groups.push_back({group.name, group.members});
    // A line for each rank and for each list.
    std::string text = fmt::format("{{\"recording\": 1,\n\"groups\": {},\n\"lists\": [",
                                   groups.dump(-1, ' ', false, json::error_handler_t::replace));
    const auto add = [&](const json& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) text += (i == 0 ? "\n" : ",\n") + rows[i].dump();
    };
    add(lists.take());
    text += "],\n\"ranks\": [";
    add(ranks);
    return text + "]}\n";
}

scenarios::Result<Lift> Lift::make(const Recording& recording, Rank ranks) {
    const Rank recorded = recording.size();
    for (Rank block = 1; block <= recorded; ++block) {
        if (recorded % block != 0) continue;
        auto shapes = shapes_with(recording, block);
        if (!shapes) continue;
        if (ranks == recorded || (ranks > 0 && ranks % block == 0 && block < recorded))
            return Lift(recording, ranks, block, std::move(*shapes));
        if (block == recorded) break;
        return scenarios::refuse(
            ErrorCode::unsupported,
            fmt::format(
                "the recording is of {} replicas of {} ranks, and {} ranks are no whole number of them",
                recorded / block, block, ranks),
            fmt::format("play it with a multiple of {} ranks", block));
    }
    return scenarios::refuse(
        ErrorCode::unsupported,
        fmt::format("the recording of {} ranks has no replicas, so {} ranks cannot play it", recorded, ranks),
        fmt::format("play it with {} ranks, or record two replicas or more", recorded));
}

Rank Lift::source(Rank rank) const {
    const Rank blocks = recording_->size() / block_;
    return rank / block_ % blocks * block_ + rank % block_;
}

std::vector<Rank> Lift::members(std::size_t group, Rank rank) const {
    const std::vector<Rank>& recorded = recording_->groups[group].members;
    const Rank mine = source(rank);
    if (std::find(recorded.begin(), recorded.end(), mine) == recorded.end()) return {};
    std::vector<Rank> members;
    if (shapes_[group] == GroupShape::within) {
        for (const Rank member : recorded) members.push_back(member + rank - mine);
        return members;
    }
    const bool world = shapes_[group] == GroupShape::world;
    for (Rank member = world ? 0 : rank % block_; member < ranks_; member += world ? 1 : block_)
        members.push_back(member);
    return members;
}

Rank Lift::place(std::size_t group, Rank recorded, bool is_message, Rank rank) const {
    if (recorded < 0 || shapes_[group] == GroupShape::within) return recorded;
    if (shapes_[group] == GroupShape::across) return recorded % (ranks_ / block_);
    if (is_message) return recorded + rank - source(rank);
    return recorded / block_ % (ranks_ / block_) * block_ + recorded % block_;
}

std::int64_t Lift::count(const RecordedAction& action) const {
    const auto group = static_cast<std::size_t>(action.group);
    const bool of_a_part = action.op == Op::all_gather || action.op == Op::reduce_scatter;
    if (!of_a_part || shapes_[group] == GroupShape::within) return action.count;
    const auto before = static_cast<std::int64_t>(recording_->groups[group].members.size());
    const std::int64_t now = shapes_[group] == GroupShape::world ? ranks_ : ranks_ / block_;
    return now == before ? action.count : (action.count * before + now - 1) / now;
}

}  // namespace deadrank::sim

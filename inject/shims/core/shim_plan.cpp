// inject/shims/core/shim_plan.cpp — The plan as a shim reads it, and the faults that are due.
#include "inject/shims/core/shim_plan.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "inject/core/trigger.h"
#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

// ── Values of the wrong type are refused with their place in the file, not guessed.

using nlohmann::json;
using scenarios::ErrorCode;

namespace {

Alteration alteration_of(const json& pull) {
    Alteration read;
    read.skip = pull.value("skip", false);
    read.hold = pull.value("hold", false);
    read.delay = Time(pull.value("delay", std::int64_t{0}));
    read.count_change = pull.value("count_change", std::int64_t{0});
    read.count_set = pull.value("count_set", std::int64_t{-1});
    read.dtype = results::dtype_named(pull.value("dtype", "none"));
    read.op = results::op_named(pull.value("op", "none"));
    read.reduce = results::reduce_op_named(pull.value("reduce", "none"));
    read.root = pull.value("root", -1);
    read.answer = results::code_named(pull.value("answer", "ok"));
    read.flip_bit = pull.value("flip_bit", std::int64_t{-1});
    read.flip_received = pull.value("flip_received", false);
    read.never_completes = pull.value("never_completes", false);
    return read;
}

ShimLever lever_named(std::string_view name) {
    static constexpr std::pair<Lever, ShimLever> levers[] = {
        {Kill::lever, ShimLever::kill},
        {Exit::lever, ShimLever::exit},
        {Stop::lever, ShimLever::stop},
        {SetVersion::lever, ShimLever::set_version},
        {AlterCall::lever, ShimLever::alter_call},
        {ChangeStorage::lever, ShimLever::change_storage}};
    for (const auto& [lever, value] : levers) {
        if (lever.name == name) return value;
    }
    return ShimLever::other;
}

Pull pull_of(const json& said) {
    Pull pull;
    pull.name = said.at("lever").get<std::string>();
    pull.lever = lever_named(pull.name);
    if (pull.lever == ShimLever::alter_call) pull.alteration = alteration_of(said);
    pull.bytes_per_second = said.value("bytes_per_second", std::int64_t{0});
    pull.signal = said.value("signal", 9);
    pull.code = said.value("code", 1);
    pull.says = said.value("says", "");
    pull.package = said.value("package", "");
    pull.version = said.value("version", "");
    pull.what = said.value("what", "");
    pull.path = said.value("path", "");
    pull.amount = said.value("amount", std::int64_t{0});
    return pull;
}

scenarios::Trigger trigger_of(const json& said) {
    scenarios::Trigger when;
    when.at_start = said.value("at_start", false);
    when.at = said.value("at", std::int64_t{-1});
    when.step = said.value("step", std::int64_t{-1});
    when.phase = said.value("phase", "");
    when.before = said.value("before", "");
    when.comm = said.value("comm", "");
    when.nth = std::max(std::int64_t{1}, said.value("nth", std::int64_t{1}));
    when.always = said.value("always", false);
    when.until_step = said.value("until_step", std::int64_t{-1});
    when.lasts = said.value("lasts", std::int64_t{-1});
    return when;
}

Entry entry_of(const json& said) {
    Entry entry;
    entry.fault = said.value("fault", std::int64_t{0});
    for (const json& rank : said.at("ranks")) entry.ranks.insert(rank.get<Rank>());
    entry.when = trigger_of(said.value("when", json::object()));
    for (const json& pull : said.at("pulls")) entry.pulls.push_back(pull_of(pull));
    entry.says = said.value("says", "");
    return entry;
}

ShimPlan plan_of(const json& said) {
    ShimPlan plan;
    for (const json& entry : said.value("faults", json::array())) plan.faults.push_back(entry_of(entry));
    const json environment = said.value("environment", json::object());
    for (const auto& [rank, seen] : environment.items()) {
        Surroundings& mine = plan.environment[std::stoi(rank)];
        const json set = seen.value("set", json::object());
        for (const auto& [name, value] : set.items()) mine.set[name] = value.get<std::string>();
        for (const json& name : seen.value("unset", json::array()))
            mine.unset.insert(name.get<std::string>());
    }
    return plan;
}

}  // namespace

Result<ShimPlan> parse_plan(std::string_view text, const std::string& file) {
    constexpr const char* form =
        R"(write {"faults": [{"ranks": [1], "when": {"before": "send"}, "pulls": [{"lever": "kill"}]}]})";
    try {
        return plan_of(json::parse(text));
    } catch (const std::exception& trouble) {
        return scenarios::refuse(ErrorCode::bad_input, std::string("no plan for a shim: ") + trouble.what(),
                                 form, {file});
    }
}

Result<ShimPlan> read_plan(const std::string& file) {
    if (file.empty()) return ShimPlan{};
    std::ifstream in(file);
    if (!in) {
        return scenarios::refuse(ErrorCode::io, "the plan cannot be read",
                                 "let $DEADRANK_PLAN name a file that is there", {file});
    }
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    return parse_plan(text, file);
}

// ── The rules of a moment are inject/core/trigger.h's; the truth is written before a fault acts, since a
// rank that its own fault kills writes nothing afterwards.

namespace {

// Faults of files belong to another library.
bool all_of_storage(const Entry& entry) {
    return std::all_of(entry.pulls.begin(), entry.pulls.end(),
                       [](const Pull& pull) { return pull.lever == ShimLever::change_storage; });
}

}  // namespace

Faults::Faults(const ShimPlan& plan, Rank rank, LineFile& truth, std::int64_t started)
    : rank_(rank), started_(started), truth_(truth) {
    for (const Entry& entry : plan.faults) {
        if (entry.ranks.contains(rank) && !all_of_storage(entry)) armed_.push_back({entry});
    }
}

void Faults::begin() {
    for (Armed& armed : armed_) {
        if (from_start(armed.entry.when)) {
            pull(armed, "", nullptr);
        } else if (by_clock(armed.entry.when)) {
            std::thread([this, &armed] {
                sleep_for(armed.entry.when.at - (now() - started_));
                pull(armed, "", nullptr);
            }).detach();
        }
    }
}

bool Faults::matches(Armed& armed, const Moment& moment) {
    const scenarios::Trigger& when = armed.entry.when;
    if (from_start(when) || by_clock(when) || (armed.fired && !when.always)) return false;
    if (armed.fired && when.lasts >= 0 && now() - armed.since > when.lasts) return false;
    return fits(when, moment) && ++armed.seen >= when.nth;
}

Decision Faults::at(std::string_view call, std::string_view comm) {
    Decision decision;
    if (armed_.empty()) return decision;
    const Moment moment{.rank = rank_, .now = Time(now() - started_), .call = call, .comm = comm};
    const std::lock_guard lock(guard_);
    for (Armed& armed : armed_) {
        if (matches(armed, moment)) pull(armed, call, &decision);
    }
    return decision;
}

void Faults::pull(Armed& armed, std::string_view call, Decision* decision) {
    const Entry& entry = armed.entry;
    if (armed.fired++ == 0) {
        armed.since = now();
        Line mark("fault.applied", rank_);
        mark.add("fault", entry.fault).add("step", -1).add("call", call).add("says", entry.says);
        truth_.write(mark);
    }
    for (const Pull& pull : entry.pulls) {
        switch (pull.lever) {
            case ShimLever::kill:
                kill_process(pull.signal);
                break;
            case ShimLever::exit:
                leave_process(pull.code, pull.says);
                break;
            case ShimLever::stop:
                stop_process(entry.when.lasts);
                break;
            case ShimLever::set_version:
                set_version(entry.fault, pull);
                break;
            case ShimLever::alter_call:
                if (decision)
                    *decision = {true, entry.fault, pull.alteration, pull.bytes_per_second};
                else
                    refuse(entry.fault, "this moment is no call that could be altered");
                break;
            case ShimLever::change_storage:
            case ShimLever::other:
                refuse_lever(entry.fault, pull);
                break;
        }
    }
}

void Faults::set_version(std::int64_t fault, const Pull& pull) {
    if (pull.package != "nccl" && !pull.package.empty()) return refuse_lever(fault, pull);
    const int version = version_number(pull.version);
    if (version == 0) refuse(fault, "'" + pull.version + "' is not a version of NCCL");
    version_.store(version, std::memory_order_relaxed);
}

void Faults::refuse_lever(std::int64_t fault, const Pull& pull) {
    refuse(fault, "a library in a real program has no lever " + pull.name);
}

void Faults::refuse(std::int64_t fault, std::string_view sentence) {
    Line line("fault.refused", rank_);
    truth_.write(line.add("fault", fault).add("says", sentence));
}

int version_number(std::string_view text) {
    int parts[3] = {0, 0, 0};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (int i = 0; i < 3 && at != end; ++i) {
        const auto [next, trouble] = std::from_chars(at, end, parts[i]);
        if (trouble != std::errc() || parts[i] < 0 || parts[i] > 99) return 0;
        at = next;
        if (at != end && *at++ != '.') return 0;
    }
    return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

}  // namespace deadrank::inject::shims

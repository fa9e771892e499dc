// inject/shims/core/plan.cpp — Values of the wrong type are refused with their place in the file, not
// guessed.
#include "inject/shims/core/plan.h"
#include "scenarios/format/plan_file.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace deadrank::inject::shims {

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

Pull pull_of(const json& said) {
    Pull pull;
    pull.lever = said.at("lever").get<std::string>();
    if (pull.lever == "alter_call") pull.alteration = alteration_of(said);
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

}  // namespace deadrank::inject::shims

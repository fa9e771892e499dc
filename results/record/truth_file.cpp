// results/record/truth_file.cpp — Truth as one JSON document beside the evidence: marks, how each rank ended,
// who waited for whom.
#include <array>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "results/record/blame_json.h"
#include "results/record/truth.h"

namespace deadrank::results {

namespace {

using OrderedJson = nlohmann::ordered_json;
using scenarios::ErrorCode;

constexpr int truth_version = 1;
constexpr std::array<std::string_view, 6> end_names = {"running", "finished", "failed",
                                                       "killed",  "stopped",  "stuck"};

RankEnd end_named(const std::string& name) {
    for (std::size_t i = 0; i < end_names.size(); ++i) {
        if (end_names[i] == name) return static_cast<RankEnd>(i);
    }
    throw std::invalid_argument(fmt::format("'{}' is not an end of a rank", name));
}

MarkKind kind_named(const std::string& name) {
    if (const auto kind = mark_kind_named(name)) return *kind;
    throw std::invalid_argument(fmt::format("'{}' is not a kind of mark", name));
}

Truth truth_from(const OrderedJson& json) {
    if (json.at("deadrank") != "truth" || json.at("version") != truth_version) {
        throw std::invalid_argument("this is not a truth file of version 1");
    }
    Truth truth;
    for (const OrderedJson& mark : json.at("marks")) {
        truth.marks.push_back({.at = Time{mark.at("t").get<std::int64_t>()},
                               .kind = kind_named(mark.at("kind").get<std::string>()),
                               .fault = mark.value("fault", -1),
                               .blame = blame_from(mark.value("blame", OrderedJson::object())),
                               .says = mark.value("says", "")});
    }
    for (const OrderedJson& end : json.at("ends")) truth.ends.push_back(end_named(end.get<std::string>()));
    truth.waits_for = json.value("waits_for", std::vector<std::string>{});
    truth.interrupted = json.value("interrupted", false);
    for (const OrderedJson& look : json.value("waiting", OrderedJson::array()))
        truth.waiting[Time{look.at(0).get<std::int64_t>()}] = Time{look.at(1).get<std::int64_t>()};
    return truth;
}

}  // namespace

scenarios::Result<void> write_truth(const Truth& truth, const std::filesystem::path& file) {
    OrderedJson json = {{"deadrank", "truth"}, {"version", truth_version}, {"marks", OrderedJson::array()}};
    for (const Mark& mark : truth.marks) {
        json["marks"].push_back({{"t", mark.at.count()},
                                 {"kind", name_of(mark.kind)},
                                 {"fault", mark.fault},
                                 {"blame", blame_json(mark.blame)},
                                 {"says", mark.says}});
    }
    json["ends"] = OrderedJson::array();
    for (const RankEnd end : truth.ends) json["ends"].push_back(end_names[static_cast<std::size_t>(end)]);
    json["waits_for"] = truth.waits_for;
    if (truth.interrupted) json["interrupted"] = true;
    for (const auto& [at, sum] : truth.waiting) json["waiting"].push_back({at.count(), sum.count()});
    std::ofstream out(file, std::ios::binary);
    out << json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
    out.flush();
    if (out) return {};
    return scenarios::refuse(ErrorCode::io, "the truth could not be written",
                             "make the directory writable and leave room on the disk", {file.string()});
}

scenarios::Result<Truth> read_truth(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (std::filesystem::is_directory(file) || !in) {
        return scenarios::refuse(ErrorCode::io, "there is no truth to read here",
                                 "name the truth.json of a run", {file.string()});
    }
    try {
        return truth_from(OrderedJson::parse(in));
    } catch (const std::exception& problem) {
        return scenarios::refuse(ErrorCode::bad_input,
                                 fmt::format("the truth cannot be read: {}", problem.what()),
                                 "use the truth.json that a run wrote, unedited", {file.string()});
    }
}

}  // namespace deadrank::results

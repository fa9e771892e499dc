// results/reports/json_parts.cpp — Times are integer nanoseconds; `never` is null.
#include "results/reports/json_parts.h"

#include <nlohmann/json.hpp>

namespace deadrank::results::reports {

namespace {

Json time_json(Time time) { return time == never ? Json(nullptr) : Json(time.count()); }

}  // namespace

Json finding_json(const Finding& finding) {
    Json json = {{"symptom", finding.symptom},
                 {"detector", finding.detector},
                 {"blame", blame_json(finding.blame)},
                 {"at", finding.at.count()},
                 {"says", finding.says}};
    if (!finding.causes.empty()) json["causes"] = finding.causes;
    return json;
}

Json findings_json(const std::vector<Finding>& findings) {
    Json json = Json::array();
    for (const Finding& finding : findings) json.push_back(finding_json(finding));
    return json;
}

Json judgement_json(const Judgement& judgement) {
    return {{"verdict", name_of(judgement.verdict)},
            {"outcome", name_of(judgement.outcome)},
            {"reason", judgement.reason},
            {"reaction", name_of(judgement.job.reaction)},
            {"culprit", blame_json(judgement.culprit)},
            {"fault_at", time_json(judgement.fault_at)},
            {"noticed_at", time_json(judgement.noticed_at)},
            {"answer", judgement.answer < 0 ? Json(nullptr) : Json(judgement.answer)},
            {"findings", findings_json(judgement.findings)}};
}

Finding finding_from(const Json& json) {
    Finding finding;
    finding.symptom = json.at("symptom").get<std::string>();
    finding.detector = json.at("detector").get<std::string>();
    finding.blame = blame_from(json.value("blame", Json::object()));
    finding.at = Time{json.at("at").get<std::int64_t>()};
    finding.says = json.value("says", "");
    finding.causes = json.value("causes", finding.causes);
    return finding;
}

std::string dumped(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace deadrank::results::reports

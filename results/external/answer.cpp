// results/external/answer.cpp — Strict on purpose: a half-understood detector is not judged.
#include "results/external/answer.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "results/record/finding.h"

namespace deadrank::results::external {

namespace {

using OrderedJson = nlohmann::ordered_json;
using scenarios::ErrorCode;
using scenarios::Result;

constexpr std::size_t findings_most = 100'000;

class AnswerReader {
public:
    explicit AnswerReader(const Limits& limits) : limits_(limits) {}

    Result<void> take(const std::string& line) {
        ++number_;
        if (line.find_first_not_of(" \t\r") == std::string::npos) return {};
        const OrderedJson json = OrderedJson::parse(line, nullptr, false);
        if (!json.is_object())
            return refuse_answer(fmt::format("'{}' is no JSON object", line.substr(0, 80)));
        try {
            return json.contains("symptom") ? finding(json) : introduction(json);
        } catch (const OrderedJson::exception& wrong) {
            return refuse_answer(fmt::format("a field has the wrong type: {}", wrong.what()));
        }
    }

    Answer done() { return std::move(answer_); }

private:
    tl::unexpected<scenarios::Error> refuse_answer(std::string what) const {
        return scenarios::refuse(ErrorCode::bad_input, fmt::format("line {}: {}", number_, what),
                                 R"(a finding is {"symptom": "…", "blame": {"ranks": [3]}, "says": "…"})");
    }

    Result<void> keys_known(const OrderedJson& json, const std::set<std::string>& known) const {
        for (const auto& [key, value] : json.items()) {
            if (known.count(key) == 0) return refuse_answer(fmt::format("unknown key '{}'", key));
        }
        return {};
    }

    Result<void> introduction(const OrderedJson& json) {
        if (auto known = keys_known(json, {"detector", "version", "symptoms"}); !known) return known;
        if (!json.contains("detector")) return refuse_answer("neither 'symptom' nor 'detector'");
        if (!answer_.findings.empty() || !answer_.name.empty())
            return refuse_answer("who the detector is comes once, and first");
        answer_.name = json.at("detector").get<std::string>();
        answer_.version = json.value("version", "");
        answer_.symptoms = json.value("symptoms", std::vector<std::string>());
        for (const std::string& symptom : answer_.symptoms) {
            if (!may_report(symptom))
                return refuse_answer(fmt::format("'{}' is not a symptom of the taxonomy", symptom));
        }
        return {};
    }

    bool may_report(const std::string& symptom) const {
        return limits_.symptoms.empty() ||
               std::count(limits_.symptoms.begin(), limits_.symptoms.end(), symptom) > 0;
    }

    Result<void> finding(const OrderedJson& json) {
        if (auto known = keys_known(json, {"symptom", "detector", "blame", "at", "says", "causes"}); !known)
            return known;
        Finding finding;
        finding.symptom = json.at("symptom").get<std::string>();
        if (!may_report(finding.symptom))
            return refuse_answer(fmt::format("'{}' is not a symptom of the taxonomy", finding.symptom));
        finding.detector = json.value("detector", "");
        finding.says = json.value("says", "");
        finding.causes = json.value("causes", finding.causes);
        finding.at = limits_.observed_until;
        if (json.contains("at")) finding.at = Time{json.at("at").get<std::int64_t>()};
        if (finding.at < Time{0} || finding.at > limits_.observed_until) {
            return refuse_answer(fmt::format("at {} ns nothing was observed; the evidence ends at {} ns",
                                             finding.at.count(), limits_.observed_until.count()));
        }
        if (auto blamed = blame(json.value("blame", OrderedJson::object()), finding.blame); !blamed)
            return blamed;
        if (answer_.findings.size() >= findings_most)
            return refuse_answer(fmt::format("more than {} findings", findings_most));
        answer_.findings.push_back(std::move(finding));
        return {};
    }

    Result<void> blame(const OrderedJson& json, Blame& blame) {
        if (auto known =
                keys_known(json, {"ranks", "nodes", "step", "variable", "component", "collective", "shard"});
            !known)
            return known;
        blame = blame_from(json);
        for (auto* list : {&blame.ranks, &blame.nodes}) {
            std::sort(list->begin(), list->end());
            list->erase(std::unique(list->begin(), list->end()), list->end());
        }
        for (const Rank rank : blame.ranks) {
            if (rank < 0 || (limits_.world_size > 0 && rank >= limits_.world_size))
                return refuse_answer(fmt::format("there is no rank {}", rank));
        }
        return {};
    }

    const Limits& limits_;
    Answer answer_;
    int number_ = 0;
};

}  // namespace

Result<Answer> read_answer(std::string_view output, const Limits& limits) {
    AnswerReader reader(limits);
    for (std::size_t at = 0; at < output.size();) {
        const std::size_t end = std::min(output.find('\n', at), output.size());
        if (auto taken = reader.take(std::string(output.substr(at, end - at))); !taken)
            return tl::unexpected(taken.error());
        at = end + 1;
    }
    return reader.done();
}

}  // namespace deadrank::results::external

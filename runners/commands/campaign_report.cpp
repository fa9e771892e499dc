// runners/commands/campaign_report.cpp — The digest is the campaign's answer in sixteen letters: equal on one
// process and on many.
#include "runners/commands/campaign_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deadrank::runners::commands {

using results::reports::Ink;
using results::reports::Style;

std::string campaign_text(const CampaignEnd& end, const Style& style) {
    std::string text;
    for (const scale::Answer& one : end.totals.notable) {
        const bool failed = one.verdict == "fail";
        text += fmt::format("  {} {} · seed {}\n",
                            style.paint(failed ? Ink::red : Ink::yellow, failed ? "✘" : "?"), one.scenario,
                            one.seed);
        text += fmt::format("      {}\n", style.cut(one.reason, style.width == 0 ? 0 : style.width - 7));
    }
    const std::uint64_t played = end.totals.trials - end.before;
    text +=
        fmt::format("  {} of {} trials: {} pass · {} fail · {} unknown · answer {}\n", end.totals.trials,
                    end.asked, end.totals.passed, end.totals.failed, end.totals.unknown, end.totals.digest);
    const std::string before = end.before == 0 ? "" : fmt::format("{} were there, ", end.before);
    text += style.paint(Ink::dim, fmt::format("  {}{} played on {} in {:.1f} s · {}", before, played,
                                              end.where, end.seconds, end.file));
    return text + "\n";
}

std::string campaign_json(const CampaignEnd& end) {
    auto notable = nlohmann::ordered_json::array();
    for (const scale::Answer& one : end.totals.notable) {
        notable.push_back({{"scenario", one.scenario},
                           {"seed", one.seed},
                           {"verdict", one.verdict},
                           {"reason", one.reason},
                           {"token", one.token}});
    }
    return nlohmann::ordered_json{
               {"trials", end.asked},         {"done", end.totals.trials}, {"before", end.before},
               {"pass", end.totals.passed},   {"fail", end.totals.failed}, {"unknown", end.totals.unknown},
               {"answer", end.totals.digest}, {"file", end.file},          {"where", end.where},
               {"seconds", end.seconds},      {"not_passed", notable}}
               .dump(2) +
           "\n";
}

}  // namespace deadrank::runners::commands

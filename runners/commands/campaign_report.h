// runners/commands/campaign_report.h — What `deadrank campaign` prints at the end.
#pragma once

#include <cstdint>
#include <string>

#include "results/text/style.h"
#include "runners/campaign/ledger.h"

namespace deadrank::runners::commands {

struct CampaignEnd {
    scale::Totals totals;
    std::uint64_t asked = 0;   // trials of the campaign
    std::uint64_t before = 0;  // that were in the file already
    std::string file;
    std::string where;  // "4 processes", "2 at once"
    double seconds = 0;
};

std::string campaign_text(const CampaignEnd& end, const results::reports::Style& style);
std::string campaign_json(const CampaignEnd& end);

}  // namespace deadrank::runners::commands

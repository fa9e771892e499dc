// results/alerts/suggestion.h — For a failure that no alert caught: an expression over metrics that are
// there, tried out on the failure and on the healthy run by the same judge before it is proposed.
#pragma once

#include "results/alerts/study.h"

namespace deadrank::results::alerts {

void suggest(Study& study, Player& player, const exporters::SignatureCatalog& signatures);

// The expression with the names and jobs that this site uses.
std::string in_site_words(std::string expr, const exporters::World& world);

}  // namespace deadrank::results::alerts

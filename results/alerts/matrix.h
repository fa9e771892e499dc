// results/alerts/matrix.h — The table fault × alert. Alerts that never did anything take no column.
#pragma once

#include <string>

#include "results/alerts/study.h"
#include "results/text/style.h"

namespace deadrank::results::alerts {

std::string matrix(const Study& study, const reports::Style& style);

}  // namespace deadrank::results::alerts

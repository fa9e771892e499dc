// results/alerts/report_text.h — A study for people: the lines and the matrix of rules and failures.
#pragma once

#include <string>

#include "results/alerts/study.h"
#include "results/reports/style.h"

namespace deadrank::results::alerts {

std::string matrix(const Study& study, const reports::Style& style);

}  // namespace deadrank::results::alerts

// results/alerts/file_groups.h — Which rule files can be judged as one, and the answers of several judgements
// as one study. A file is judged among others as it would be alone.
#pragma once

#include <vector>

#include "results/alerts/study.h"

namespace deadrank::results::alerts {

// Numbers of files that are judged together: files of which one reads what the other records, and files that
// do not disagree on what jobs and namespaces are called or on where the targets run. `choose`: a file may
// choose the profile kubernetes.
std::vector<std::vector<std::size_t>> groups_of_files(const std::vector<RuleFile>& files,
                                                      const exporters::World& world, bool choose);

// Adds rules and answers of another judgement of the same failures.
void append(Study& study, Study other);

}  // namespace deadrank::results::alerts

// runners/runner/extension.cpp — Joins the two tables of detectors.
#include "runners/runner/extension.h"

#include <iterator>

namespace deadrank::runners {

results::Detectors Extension::all_detectors() const {
    results::Detectors all = results::all_detectors();
    if (!detectors) return all;
    results::Detectors hers = detectors();
    all.insert(all.end(), std::make_move_iterator(hers.begin()), std::make_move_iterator(hers.end()));
    return all;
}

}  // namespace deadrank::runners

// tests/inject/recording_levers.h — Levers that do nothing and write every pull down as a line: four nodes of
// two ranks. A lever named in `refused` answers as a backend that lacks it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"

namespace deadrank::inject::testing {

class RecordingLevers final : public Levers {
public:
    std::vector<std::string> pulls;
    std::set<std::string> refused;   // lever names that this backend lacks
    std::optional<bool> asked = {};  // what was_requested() answers

    Rank ranks() const override { return 8; }
    int node_of(Rank rank) const override { return rank / 2; }
    std::vector<Rank> ranks_of(int node) const override { return {node * 2, node * 2 + 1}; }

    Result<Done> pull(const Pull& pull) override;
    std::optional<bool> was_requested(const Subject&) const override { return asked; }
};

}  // namespace deadrank::inject::testing

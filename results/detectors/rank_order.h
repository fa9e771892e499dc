// results/detectors/rank_order.h — Setup returned, but ranks are claimed twice, groups have other members
// than they should, or the order is not the hosts'.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class RankOrder final : public Detector {
public:
    std::string_view name() const override { return "rank_order"; }
    std::vector<std::string_view> symptoms() const override { return {"wrong_rank_or_group_membership"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors

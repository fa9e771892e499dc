// tests/suites/cmake_project/lost_token.h — The rank at which the token first differs from what its position
// says.
#pragma once

#include <deadrank/results/detectors/detect.h>

class LostToken final : public deadrank::results::Detector {
public:
    std::string_view name() const override { return "lost_token"; }
    std::vector<std::string_view> symptoms() const override { return {"wrong_intermediate_value"}; }
    std::vector<deadrank::results::Finding> examine(
        const deadrank::results::Evidence& evidence) const override;
};

deadrank::results::Detectors lost_token_detectors();

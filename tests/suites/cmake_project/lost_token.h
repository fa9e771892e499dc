// tests/suites/cmake_project/lost_token.h — The rank at which the token first differs from what its position
// says.
#pragma once

#include <deadrank/results/detectors/detector.h>

deadrank::results::Detectors lost_token_detectors();

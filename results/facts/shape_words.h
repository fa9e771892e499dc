// results/facts/shape_words.h — The words in which frameworks refuse tensors whose shape, index or type does
// not fit.
#pragma once

#include <span>
#include <string_view>

namespace deadrank::results::detectors {

bool tells_of_shapes(std::string_view text);
std::span<const std::string_view> words_of_shapes();

}  // namespace deadrank::results::detectors

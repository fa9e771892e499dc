// results/analysis/shape_words.h — The words in which frameworks refuse tensors whose shape, index or type does
// not fit, and in which a driver answers.
#pragma once

#include <span>
#include <string_view>

namespace deadrank::results::analysis {

bool tells_of_shapes(std::string_view text);
std::span<const std::string_view> words_of_shapes();

// "CUDA error: …", "Cuda failure '…'". Most of it is about what software asked for, some about the hardware.
bool answered_by_the_driver(std::string_view text);
bool tells_of_hardware(std::string_view text);

}  // namespace deadrank::results::analysis

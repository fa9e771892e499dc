// results/analysis/shape_words.h — The words in which frameworks refuse tensors whose shape, index or type
// does not fit, and in which a driver answers.
#pragma once

#include <span>
#include <string_view>

namespace deadrank::results::analysis {

bool mentions_shape(std::string_view text);
std::span<const std::string_view> list_shape_phrases();

// "CUDA error: …", "Cuda failure '…'". Most of it is about what software asked for, some about the hardware.
bool is_driver_error(std::string_view text);
bool mentions_hardware(std::string_view text);

}  // namespace deadrank::results::analysis

// results/analysis/loss_words.h — The loss that a line of progress prints, however the program words it.
#pragma once

#include <optional>
#include <string_view>

namespace deadrank::results::analysis {

// "loss: 2.31", "train_loss=nan", "{'loss': NaN, …}", "lm loss: 1.0E+01", "step 9 loss nan"; NaN and
// infinities are values. Empty if the line has no loss with a number behind it.
std::optional<double> loss_in(std::string_view line);

}  // namespace deadrank::results::analysis

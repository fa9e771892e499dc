// sim/framework_parts/flat_buffer.cpp — Filling a flat buffer is a walk: a place, a length, a step to the
// next tensor. Each of the three passes through a seam, as frameworks have got each of them wrong.
#include "sim/framework_parts/flat_buffer.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace deadrank::sim {

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

FlatLayout::FlatLayout(std::vector<std::int64_t> lengths, const FlatPlan& plan)
    : lengths_(std::move(lengths)) {
    for (const std::int64_t length : lengths_) {
        offsets_.push_back(size_);
        size_ += rounded_up(length, plan.align);
    }
    size_ = rounded_up(std::max<std::int64_t>(size_, 1), plan.parts * plan.align);
}

FlatBuffer::FlatBuffer(World& world, FlatLayout layout, const FlatPlan& plan)
    : world_(world),
      layout_(std::move(layout)),
      one_stream_(plan.one_stream),
      numbers_(static_cast<std::size_t>(layout_.size()), plan.unwritten) {}

void FlatBuffer::fill(std::span<const Number> tensors, const std::vector<bool>& used) {
    if (world_.block("buffer.clear")) std::fill(numbers_.begin(), numbers_.end(), 0);
    std::int64_t from = 0;
    for (std::size_t i = 0; i < layout_.tensors(); ++i) {
        const std::int64_t length = layout_.length(i);
        if (from < 0 || from + length > std::ssize(tensors)) {
            throw RankFailure(fmt::format(
                "IndexError: index {} is out of bounds for dimension 0 with size {}", from, tensors.size()));
        }
        const std::int64_t to = layout_.offset(i);
        // A copy that is not waited for is not there yet when the buffer is reduced.
        const bool last = i + 1 == layout_.tensors();
        const bool arrives = !last || world_.block("pack.wait") || one_stream_;
        if (used[i] && arrives) std::copy_n(tensors.begin() + from, length, numbers_.begin() + to);
        from += world_.seam("pack.stride", length);
    }
}

void FlatBuffer::read(std::span<Number> tensors) const {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < layout_.tensors(); ++i) {
        std::copy_n(numbers_.begin() + layout_.offset(i), layout_.length(i), tensors.begin() + to);
        to += layout_.length(i);
    }
}

std::span<Number> FlatBuffer::filled() {
    const std::int64_t count = world_.seam("pack.filled", layout_.size());
    return std::span(numbers_).first(
        static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, layout_.size())));
}

}  // namespace deadrank::sim

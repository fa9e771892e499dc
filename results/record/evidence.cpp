// results/record/evidence.cpp — Keeps events and texts. The table of texts is looked up by content and never
// iterated.
#include "results/record/evidence.h"

#include <algorithm>

namespace deadrank::results {

std::string_view kind_name(const Event& event) {
    return std::visit([](const auto& payload) { return std::decay_t<decltype(payload)>::kind; }, event.what);
}

Texts::Texts() { keep(""); }

TextId Texts::keep(std::string_view words) {
    if (const auto found = known_.find(words); found != known_.end()) return found->second;
    const auto id = static_cast<TextId>(texts_.size());
    known_.emplace(texts_.emplace_back(words), id);
    return id;
}

std::string_view Texts::operator[](TextId id) const { return texts_[static_cast<std::size_t>(id)]; }

void Evidence::record(const Event& event) {
    if (!keep_) return;
    facts_.clear();
    events_.push_back(event);
}

void Evidence::finish(Time observed_until) {
    const auto earlier = [](const Event& a, const Event& b) { return a.at < b.at; };
    if (!std::is_sorted(events_.begin(), events_.end(), earlier)) {
        std::stable_sort(events_.begin(), events_.end(), earlier);
    }
    filed_ = 0;
    facts_.clear();
    observed_until_ = events_.empty() ? observed_until : std::max(observed_until, events_.back().at);
}

const Evidence::Kinds& Evidence::kinds() const {
    if (filed_ == events_.size()) return kinds_;
    for (auto& kind : kinds_) kind.clear();
    for (const Event& event : events_) kinds_[event.what.index()].push_back(&event);
    filed_ = events_.size();
    return kinds_;
}

std::int32_t Evidence::world_size() const {
    if (const auto starts = each<JobStart>(); !starts.empty())
        return starts.front()->as<JobStart>()->world_size;
    Rank highest = no_rank;
    for (const Event& event : events_) {
        highest = std::max(highest, event.rank);
    }
    return highest + 1;
}

}  // namespace deadrank::results

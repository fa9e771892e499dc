// results/record/evidence.h — The events of one run, in memory and as a file.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/event.h"
#include "scenarios/model/error.h"

namespace deadrank::results {

// Stores each text once, numbered in order of first use.
class Texts {
public:
    Texts();
    TextId keep(std::string_view words);
    std::string_view operator[](TextId id) const;
    std::size_t size() const { return kept_->texts.size(); }

private:
    // Thousands of short texts a run: their memory comes in large pieces and is given back at once, and the
    // table that finds them is one array, probed from the place that the hash names.
    struct Slot {
        std::size_t hash = 0;
        TextId id = vacant;
    };
    struct Kept {
        std::pmr::monotonic_buffer_resource memory{1 << 14};
        std::vector<std::string_view> texts;
        std::vector<Slot> slots = std::vector<Slot>(512);  // a power of two, at most half of it in use
    };
    static constexpr TextId vacant = static_cast<TextId>(-1);

    std::size_t place_of(std::string_view words, std::size_t hash) const;
    void grow();

    std::unique_ptr<Kept> kept_;
};

class Evidence final : public EventSink {
public:
    // Moved, never copied: its index points at its own events, and copying millions would be a mistake.
    Evidence() = default;
    Evidence(Evidence&&) = default;
    Evidence& operator=(Evidence&&) = default;

    void record(const Event& event) override;
    TextId text(std::string_view words) override { return texts_.keep(words); }

    // Sorts real processes' events by time (stable) and fixes the end of observation. The simulator records
    // in order already.
    void finish(Time observed_until);

    std::span<const Event> events() const { return events_; }
    std::string_view text(TextId id) const { return texts_[id]; }

    // The last moment at which the job was observed. Silence is a hang only if it was watched long enough.
    Time observed_until() const { return observed_until_; }
    std::int32_t world_size() const;  // of job.start; else the highest rank seen + 1

    // All events of one payload, in order: for (const Event* e : evidence.each<StepEnd>()) … e->as<StepEnd>()
    // The first call after finish() sorts all events by kind, once, so only one thread at a time may read a
    // finished Evidence.
    template <class P>
    std::span<const Event* const> each() const;

    // Computed from this evidence once and kept beside it, since several readers need it: facts<Calls>() is a
    // Calls made from *this. Facts may point at events and texts, which stay where they are when the evidence
    // is moved.
    template <class Facts>
    const Facts& facts() const;

    // What the reader of its file had to leave out, in words.
    const std::vector<std::string>& notes() const { return notes_; }
    void note(std::string words) { notes_.push_back(std::move(words)); }

    // Bound on memory for huge runs: with keep(false) nothing is stored (the trace hash still sees every
    // event).
    void keep(bool on) { keep_ = on; }

private:
    using Kinds = std::array<std::vector<const Event*>, std::variant_size_v<Payload>>;

    const Kinds& kinds() const;

    std::vector<Event> events_;
    mutable Kinds kinds_;            // filled on first use
    mutable std::size_t filed_ = 0;  // how many events are in it
    mutable std::vector<std::pair<const void*, std::shared_ptr<const void>>> facts_;
    Texts texts_;
    Time observed_until_{0};
    std::vector<std::string> notes_;
    bool keep_ = true;
};

template <class P>
std::span<const Event* const> Evidence::each() const {
    return kinds()[Payload(P{}).index()];
}

template <class Facts>
const Facts& Evidence::facts() const {
    static const char key = 0;  // its address identifies the kind of facts
    for (const auto& [known, facts] : facts_) {
        if (known == &key) return *static_cast<const Facts*>(facts.get());
    }
    const auto fresh = std::make_shared<const Facts>(*this);
    facts_.emplace_back(&key, fresh);
    return *fresh;
}

scenarios::Result<void> write_evidence(const Evidence& evidence, const std::filesystem::path& file);
scenarios::Result<Evidence> read_evidence(const std::filesystem::path& file);
std::string to_json_line(const Evidence& evidence, const Event& event);

// Event for event: kinds, times, ranks and every field, texts by content.
bool same_events(const Evidence& one, const Evidence& other);

}  // namespace deadrank::results

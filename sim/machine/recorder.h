// sim/machine/recorder.h — Where everything that a rank, launcher or machine shows goes through: hashed into
// the trace, then to the sink.
#pragma once

#include <string_view>

#include "results/record/event.h"
#include "sim/engine/engine.h"

namespace deadrank::sim {

using results::no_rank;
using results::Rank;
using results::TextId;

class Recorder {
public:
    Recorder(Engine& engine, results::EventSink& sink) : engine_(engine), sink_(sink) {}

    void record(Rank rank, const results::Payload& what);
    void log(Rank rank, int level, std::string_view line);
    TextId text(std::string_view words) { return words.empty() ? TextId::none : sink_.text(words); }

    Time last() const { return last_; }
    void close() { closed_ = true; }  // what unwinds after the end shows nothing

private:
    Engine& engine_;
    results::EventSink& sink_;
    Time last_{0};
    bool closed_ = false;
};

}  // namespace deadrank::sim

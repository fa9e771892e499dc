// sim/machine/recorder.h — Everything that a rank, launcher or machine shows passes here: it is hashed into
// the trace, then goes to the sink; and the samples that exporters would scrape.
#pragma once

#include <string_view>

#include "results/record/event.h"
#include "sim/engine/engine.h"

namespace deadrank::sim {

// Everything that a rank, launcher or machine shows passes here: it is hashed into the trace, then goes to
// the sink.

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

// What exporters would scrape: memory and device of each rank at each step, ports and host of each node now
// and then.

struct Machine;
struct Process;

class Samples {
public:
    explicit Samples(Machine& machine) : machine_(machine) {}
    void step(Process& process);

private:
    void node(int node);

    Machine& machine_;
};

}  // namespace deadrank::sim

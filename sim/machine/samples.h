// sim/machine/samples.h — What exporters would scrape: memory and device of each rank at each step, ports and
// host of each node now and then.
#pragma once

namespace deadrank::sim {

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

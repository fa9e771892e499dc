// sim/machine/machine.cpp — Putting the parts together, and starting over after a restart.
#include "sim/machine/machine.h"

namespace deadrank::sim {

Machine::Machine(Engine& engine_of_stage, const ClusterSettings& cluster, Seed drawn,
                 results::EventSink& sink)
    : engine(engine_of_stage),
      settings(cluster),
      seed(drawn),
      recorder(engine, sink),
      topology(settings),
      environment(settings),
      network(*this),
      hosts(*this),
      devices(*this),
      files(*this),
      processes(*this),
      gate(*this),
      stores(*this),
      samples(*this),
      launcher(*this) {}

void Machine::begin_attempt() {
    attempt_started = engine.now();
    forget_communicators();
    stores.clear();
}

}  // namespace deadrank::sim

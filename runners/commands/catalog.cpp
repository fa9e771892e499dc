// runners/commands/catalog.cpp — The commands, one a line, in the order of `deadrank --help`.
#include "runners/commands/alerts.h"
#include "runners/commands/campaign.h"
#include "runners/commands/command.h"
#include "runners/commands/completion.h"
#include "runners/commands/conformance.h"
#include "runners/commands/coverage.h"
#include "runners/commands/determinism.h"
#include "runners/commands/diagnose.h"
#include "runners/commands/doctor.h"
#include "runners/commands/emit.h"
#include "runners/commands/explain.h"
#include "runners/commands/import.h"
#include "runners/commands/judge.h"
#include "runners/commands/learn.h"
#include "runners/commands/list.h"
#include "runners/commands/manual.h"
#include "runners/commands/new_scenario.h"
#include "runners/commands/parity.h"
#include "runners/commands/plan.h"
#include "runners/commands/probe.h"
#include "runners/commands/ras.h"
#include "runners/commands/replay.h"
#include "runners/commands/resilience.h"
#include "runners/commands/run.h"
#include "runners/commands/schema.h"
#include "runners/commands/score.h"
#include "runners/commands/serve.h"
#include "runners/commands/shrink.h"
#include "runners/commands/storm.h"
#include "runners/commands/swarm.h"
#include "runners/commands/sweep.h"
#include "runners/commands/taxonomy.h"
#include "runners/commands/trace.h"
#include "runners/commands/undo.h"
#include "runners/commands/version.h"

namespace deadrank::runners::commands {

const std::vector<Command>& all_commands() {
    // clang-format off
    static const std::vector<Command> commands = {
        {"run", add_run},
        {"list", add_list},
        {"explain", add_explain},
        {"learn", add_learn},
        {"plan", add_plan},
        {"replay", add_replay},
        {"determinism", add_determinism},
        {"judge", add_judge},
        {"diagnose", add_diagnose},
        {"parity", add_parity},
        {"resilience", add_resilience},
        {"campaign", add_campaign},
        {"sweep", add_sweep},
        {"storm", add_storm},
        {"swarm", add_swarm},
        {"shrink", add_shrink},
        {"trace", add_trace},
        {"probe", add_probe},
        {"alerts", add_alerts},
        {"serve", add_serve},
        {"score", add_score},
        {"emit", add_emit},
        {"import", add_import},
        {"ras", add_ras},
        {"conformance", add_conformance},
        {"doctor", add_doctor},
        {"undo", add_undo},
        {"coverage", add_coverage},
        {"taxonomy", add_taxonomy},
        {"new", add_new},
        {"schema", add_schema},
        {"manual", add_manual},
        {"version", add_version},
        {"completion", add_completion},
    };
    // clang-format on
    return commands;
}

}  // namespace deadrank::runners::commands

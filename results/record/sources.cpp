// results/record/sources.cpp — One line per kind.
#include "results/record/sources.h"

#include <algorithm>
#include <cmath>

#include "scenarios/model/error.h"

namespace deadrank::results {

std::string_view name_of(Source source) {
    switch (source) {
        case Source::plain:
            return "plain";
        case Source::observed:
            return "observed";
        case Source::asserted:
            return "asserted";
    }
    CHECK(false);
}

const std::vector<KindSource>& kind_sources() {
    using enum Source;
    static const std::vector<KindSource> all = {
        {"checkpoint.load", observed, "a hook around the framework's load: step, shard, size, digest"},
        {"checkpoint.save", observed, "a hook around the framework's save: step, shard, size, digest"},
        {"collective.enter", plain, "Flight Recorder: sequence number, operation, sizes"},
        {"collective.leave", plain, "Flight Recorder: state and time of completion"},
        {"comm.abort", plain, "lines of the watchdog and of NCCL"},
        {"comm.error", plain, "lines of NCCL (NCCL_DEBUG=WARN) and of the watchdog"},
        {"comm.init.enter", plain, "lines of NCCL (NCCL_DEBUG=INFO): Init START"},
        {"comm.init.leave", plain, "lines of NCCL (NCCL_DEBUG=INFO): Init COMPLETE"},
        {"data.batch", observed, "a hook around the sampler: the samples that a rank took"},
        {"device.bind", observed, "a hook around the choice of a device, or the process list of each device"},
        {"device.error", plain, "kernel log: the number of the XID"},
        {"device.sample", plain, "metrics of the DCGM exporter"},
        {"evidence.lost", observed, "a hook that can write no more says so"},
        {"host.sample", plain, "metrics of the node exporter"},
        {"job.start", plain, "the launcher's log"},
        {"job.stop", plain, "the launcher's log and exit code"},
        {"link.sample", plain, "metrics of the node exporter, counters of the ports"},
        {"memory.oom", plain, "the traceback of the allocator"},
        {"memory.sample", plain, "metrics of the DCGM exporter"},
        {"p2p.enter", plain, "Flight Recorder: peer, tag, sizes"},
        {"p2p.leave", plain, "Flight Recorder: state and time of completion"},
        {"package.load", plain, "the traceback of the import or of the build"},
        {"parameters.digest", observed, "a hook after the optimizer that sums up what a rank holds"},
        {"phase.begin", observed, "a hook around forward, backward, optimizer, save"},
        {"phase.end", observed, "a hook around forward, backward, optimizer, save"},
        {"rank.config", plain, "what the program prints of its settings"},
        {"rank.exit", plain, "the exit code or signal that the launcher reports"},
        {"rank.log", plain, "the process's log"},
        {"rank.start", plain, "process table, /proc/PID/environ, list of packages"},
        {"rendezvous.enter", observed, "a hook around init_process_group"},
        {"rendezvous.leave", observed, "a hook around init_process_group"},
        {"restart", plain, "the launcher's log"},
        {"serve.output", observed, "a hook around the engine's answers: a digest of the tokens"},
        {"shard.layout", observed, "a hook that asks a rank which part of a tensor it holds"},
        {"step.begin", observed, "a hook around the training step"},
        {"step.end", plain, "the training log: step, loss, norm of the gradient"},
        {"test.result", plain, "the report of the test program"},
        {"value.sample", plain,
         "the training log; asserted where the program computes a definition beside the value"},
    };
    return all;
}

Source source_of(const Event& event) {
    if (const auto* sample = event.as<ValueSample>(); sample && !std::isnan(sample->expected))
        return Source::asserted;
    const std::string_view kind = kind_name(event);
    const auto& all = kind_sources();
    const auto found =
        std::lower_bound(all.begin(), all.end(), kind,
                         [](const KindSource& row, std::string_view name) { return row.kind < name; });
    CHECK(found != all.end() && found->kind == kind);
    return found->source;
}

// Texts are numbered in order of first use: keeping all of them in that order preserves the numbers that
// events refer to.
Evidence limited_to(Evidence& evidence, Source most) {
    Evidence rest;
    const auto behind = static_cast<std::uint32_t>(evidence.text("behind the last text"));
    for (std::uint32_t id = 0; id < behind; ++id) rest.text(evidence.text(static_cast<TextId>(id)));
    for (const Event& event : evidence.events()) {
        if (source_of(event) <= most) rest.record(event);
    }
    rest.finish(evidence.observed_until());
    return rest;
}

}  // namespace deadrank::results

// runners/commands/otlp_output.h — --otlp: runs as OpenTelemetry traces, into a file or to a collector on this machine.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "results/reports/otlp.h"
#include "runners/pipeline/play_trial.h"
#include "runners/serve/http.h"

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

void add_otlp(CLI::App& app, std::string& where);

// A file gets one line for each trial, as the protocol's file exporter writes it; a collector one request.
class OtlpOutput {
public:
    // `where`: a file, or http://127.0.0.1:4318, to which /v1/traces is added if it has no path. Empty: null. Errors:
    // usage, for an address of another machine; io, for a file that cannot be written.
    static scenarios::Result<std::unique_ptr<OtlpOutput>> open(const std::string& where);

    // One trial; `place` counts from 0, and trials are written in this order. Thread-safe.
    void take(std::size_t place, const Trialled& trial);
    void take(std::size_t place, std::string resources);
    // As an element of the trial's resources. The epoch and the version are filled in.
    std::string spans_of(results::reports::TracedRun run, const Played& played) const;

    // Errors: io, the first that occurred.
    scenarios::Result<void> finish();

private:
    void write(const std::string& resources);

    std::string where_;
    std::optional<serve::Address> collector_;
    std::ofstream file_;
    results::Time epoch_{0};
    std::mutex mutex_;
    std::map<std::size_t, std::string> waiting_;  // trials that ended before an earlier one
    std::size_t next_ = 0;
    std::optional<scenarios::Error> trouble_;
};

}  // namespace deadrank::runners::commands

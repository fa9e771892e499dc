// runners/commands/otlp_output.cpp — --otlp: runs as OpenTelemetry traces, into a file or to a collector on this machine.
#include "runners/commands/otlp_output.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "runners/pipeline/build.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr int collector_seconds = 10;

// Collectors drop spans of 1970, so the job starts now. SOURCE_DATE_EPOCH makes two exports equal.
results::Time start_of_job() {
    if (const char* stated = std::getenv("SOURCE_DATE_EPOCH"); stated && *stated)
        return std::chrono::seconds(std::strtoll(stated, nullptr, 10));
    return std::chrono::duration_cast<results::Time>(std::chrono::system_clock::now().time_since_epoch());
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "127.0.0.1" || host == "::1"; }

}  // namespace

void add_otlp(CLI::App& app, std::string& where) {
    app.add_option("--otlp", where,
                   "Write the runs as OpenTelemetry traces (OTLP/JSON): a file, or a collector on this machine such as "
                   "http://127.0.0.1:4318. The job starts now, or at SOURCE_DATE_EPOCH")
        ->type_name("FILE|URL");
}

Result<std::unique_ptr<OtlpOutput>> OtlpOutput::open(const std::string& where) {
    if (where.empty()) return nullptr;
    auto output = std::make_unique<OtlpOutput>();
    output->where_ = where;
    output->epoch_ = start_of_job();
    if (where.find("://") != std::string::npos) {
        auto address = serve::address_of(where);
        if (!address) return tl::unexpected(address.error());
        if (!is_loopback(address->host))
            return refuse(ErrorCode::usage, fmt::format("'{}' is another machine", where),
                          "traces are sent to 127.0.0.1 alone: run a collector here that forwards them, or forward a port");
        if (address->prefix.empty()) address->prefix = "/v1/traces";
        output->collector_ = std::move(*address);
        return output;
    }
    const std::filesystem::path file = where;
    std::error_code ignored;  // opening it says what is wrong
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), ignored);
    output->file_.open(file, std::ios::trunc);
    if (!output->file_)
        return refuse(ErrorCode::io, fmt::format("{}: the traces cannot be written", where),
                      "name a file in a directory that you may write");
    return output;
}

std::string OtlpOutput::spans_of(results::reports::TracedRun run, const Played& played) const {
    run.epoch = epoch_;
    run.version = this_build().version;
    run.seed = played.plan.seed.number;
    run.trace_hash = played.record.trace_hash;
    return results::reports::resource_spans(run, played.record.evidence, played.findings, &played.record.truth);
}

void OtlpOutput::take(std::size_t place, const Trialled& trial) {
    std::string resources;
    for (const auto* played : {&trial.fault, &trial.control, &trial.healed}) {
        if (!*played) continue;
        const auto& judgement = played == &trial.fault     ? trial.outcome.fault
                                : played == &trial.control ? trial.outcome.control
                                                           : trial.outcome.healed;
        results::reports::TracedRun run;
        run.name = trial.outcome.scenario;
        run.variant = scenarios::variant_name((*played)->plan.variant);
        run.runner = trial.outcome.runner;
        if (judgement) run.verdict = name_of(judgement->verdict), run.reason = judgement->reason;
        resources += (resources.empty() ? "" : ",") + spans_of(std::move(run), **played);
    }
    take(place, std::move(resources));
}

void OtlpOutput::take(std::size_t place, std::string resources) {
    const std::lock_guard lock(mutex_);
    waiting_[place] = std::move(resources);
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; ++next_) {
        write(first->second);
        first = waiting_.erase(first);
    }
}

void OtlpOutput::write(const std::string& resources) {
    if (resources.empty() || trouble_) return;  // one that could not be played has no spans
    const std::string line = fmt::format("{{\"resourceSpans\":[{}]}}\n", resources);
    if (!collector_) {
        if (!file_.write(line.data(), static_cast<std::streamsize>(line.size())).flush())
            trouble_ = {ErrorCode::io, fmt::format("{}: the traces cannot be written", where_),
                        "look whether the disk is full"};
        return;
    }
    const auto answer = serve::fetch(*collector_, {.method = "POST", .target = "", .body = line},
                                     {{"Content-Type", "application/json"}}, collector_seconds);
    if (!answer)
        trouble_ = {ErrorCode::io, answer.error().what, "start the collector first; its receiver for OTLP over HTTP"};
    else if (answer->status / 100 != 2)
        trouble_ = {ErrorCode::io, fmt::format("{}: the collector answers {}", where_, answer->status),
                    "look whether it has an OTLP receiver for HTTP at this address"};
}

Result<void> OtlpOutput::finish() {
    const std::lock_guard lock(mutex_);
    for (const auto& [place, resources] : waiting_) write(resources);  // after trials that a stop left out
    waiting_.clear();
    if (trouble_) return tl::unexpected(*trouble_);
    return {};
}

}  // namespace deadrank::runners::commands

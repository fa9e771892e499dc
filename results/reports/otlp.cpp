// results/reports/otlp.cpp — OTLP/JSON written as text: a tree in memory would take many times the space. Numbers of
// 64 bits are strings, enumerations numbers, and ids hexadecimal, as the protocol's JSON mapping has it.
#include "results/reports/otlp.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/timeline.h"

namespace deadrank::results::reports {

namespace {

constexpr int kind_internal = 1, status_error = 2;

std::string attribute(std::string_view key, std::string_view value) {
    return fmt::format(R"({{"key":"{}","value":{{"stringValue":{}}}}})", key, dumped(Json(value)));
}
std::string attribute(std::string_view key, std::int64_t value) {
    return fmt::format(R"({{"key":"{}","value":{{"intValue":"{}"}}}})", key, value);
}

struct OtlpSpan {
    std::uint64_t id = 0, parent = 0;  // parent 0: the root
    std::string name;
    Time begin{0}, end{0};
    std::vector<std::string> attributes, events;
    std::string error;  // empty: no error
};

class SpanWriter {
public:
    SpanWriter(const TracedRun& run, const Evidence& evidence, std::size_t most)
        : run_(run), most_(most), until_(evidence.observed_until()) {
        const std::string named = fmt::format("{} {} {} {} {}", run.name, run.variant, run.runner, run.seed,
                                              run.epoch.count());
        trace_ = fmt::format("{:016x}{:016x}", run.trace_hash, XXH3_64bits(named.data(), named.size()) | 1);
    }

    std::string write(const Timeline& timeline, const std::vector<Finding>& findings, const Truth* truth) {
        OtlpSpan job{.id = next_id(), .parent = 0, .name = run_.name, .begin = {}, .end = until_};
        if (truth) {
            for (const Mark& mark : truth->marks)
                if (is_about_a_fault(mark.kind))
                    job.events.push_back(event(mark.at, "fault", {attribute("deadrank.says", mark.says)}));
        }
        for (const Finding& finding : findings) {
            job.events.push_back(event(finding.at, "alarm",
                                       {attribute("deadrank.symptom", finding.symptom),
                                        attribute("deadrank.blames", finding.blame.text()),
                                        attribute("deadrank.says", finding.says)}));
            if (job.error.empty()) job.error = finding.says;
        }
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank)
            add_rank(timeline, timeline.ranks[rank], static_cast<Rank>(rank), job.id);
        if (left_out_ > 0) job.attributes.push_back(attribute("deadrank.spans_left_out", left_out_));
        put(job);
        return resource();
    }

private:
    std::uint64_t next_id() { return ++ids_; }
    std::string at(Time time) const { return fmt::format("\"{}\"", (run_.epoch + time).count()); }
    Time end_of(const Slice& slice) const { return slice.end == never ? until_ : slice.end; }

    std::string event(Time time, std::string_view name, const std::vector<std::string>& attributes) const {
        return fmt::format(R"({{"timeUnixNano":{},"name":{},"attributes":[{}]}})", at(time), dumped(Json(name)),
                           fmt::join(attributes, ","));
    }

    // Steps are below the rank. What begins within a step is below the step.
    void add_rank(const Timeline& timeline, const std::vector<Slice>& slices, Rank rank, std::uint64_t job) {
        OtlpSpan whole{.id = next_id(), .parent = job, .name = fmt::format("rank {}", rank), .begin = {}, .end = until_,
                   .attributes = {attribute("deadrank.rank", rank)}};
        std::uint64_t step = 0;
        Time step_end{0};
        for (const Slice& slice : slices) {
            const SliceKind& kind = timeline.kinds[slice.kind];
            const bool is_end = kind.group == SliceGroup::gone || kind.group == SliceGroup::finished;
            if (kind.lane == Lane::instant || is_end) {
                whole.events.push_back(event(slice.begin, kind.label, {attribute("deadrank.detail", kind.detail)}));
                if (kind.group == SliceGroup::gone || kind.group == SliceGroup::error)
                    if (whole.error.empty()) whole.error = kind.label;
                if (is_end) whole.end = slice.end == never ? slice.begin : until_;
                continue;
            }
            OtlpSpan span{.id = next_id(), .parent = slice.begin < step_end ? step : whole.id, .name = kind.label,
                      .begin = slice.begin, .end = end_of(slice),
                      .attributes = {attribute("deadrank.rank", rank)}};
            if (kind.lane == Lane::call) {
                span.attributes.push_back(attribute("deadrank.sequence", slice.number));
            } else {
                span.attributes.push_back(attribute("deadrank.step", slice.number));
            }
            if (!kind.detail.empty()) span.attributes.push_back(attribute("deadrank.detail", kind.detail));
            if (kind.group == SliceGroup::error) span.error = kind.detail;
            if (slice.end == never) span.error = "never ended";
            if (kind.lane == Lane::step) {
                span.parent = whole.id;
                step = span.id;
                step_end = span.end;
            }
            put(span);
        }
        put(whole);
    }

    void put(const OtlpSpan& span) {
        if (spans_ >= most_ && span.parent != 0) {  // the job's own is written in any case
            ++left_out_;
            return;
        }
        text_ += spans_++ == 0 ? "" : ",";
        text_ += fmt::format(
            R"({{"traceId":"{}","spanId":"{:016x}",{}"name":{},"kind":{},"startTimeUnixNano":{},"endTimeUnixNano":{},)"
            R"("attributes":[{}],"events":[{}],"status":{{{}}}}})",
            trace_, span.id, span.parent == 0 ? "" : fmt::format(R"("parentSpanId":"{:016x}",)", span.parent),
            dumped(Json(span.name)), kind_internal, at(span.begin), at(std::max(span.begin, span.end)),
            fmt::join(span.attributes, ","), fmt::join(span.events, ","),
            span.error.empty() ? ""
                               : fmt::format(R"("code":{},"message":{})", status_error, dumped(Json(span.error))));
    }

    std::string resource() const {
        const std::vector<std::string> attributes = {
            attribute("service.name", "deadrank"),
            attribute("service.version", run_.version),
            attribute("deadrank.scenario", run_.name),
            attribute("deadrank.variant", run_.variant),
            attribute("deadrank.runner", run_.runner),
            attribute("deadrank.seed", static_cast<std::int64_t>(run_.seed)),
            attribute("deadrank.trace_hash", fmt::format("{:016x}", run_.trace_hash)),
            attribute("deadrank.verdict", run_.verdict),
            attribute("deadrank.reason", run_.reason)};
        return fmt::format(
            R"({{"resource":{{"attributes":[{}]}},"scopeSpans":[{{"scope":{{"name":"deadrank","version":{}}},"spans":[{}]}}]}})",
            fmt::join(attributes, ","), dumped(Json(run_.version)), text_);
    }

    const TracedRun& run_;
    const std::size_t most_;
    const Time until_;
    std::string trace_, text_;
    std::size_t spans_ = 0;
    std::int64_t left_out_ = 0;
    std::uint64_t ids_ = 0;
};

}  // namespace

std::string resource_spans(const TracedRun& run, const Evidence& evidence, const std::vector<Finding>& findings,
                           const Truth* truth, std::size_t most) {
    return SpanWriter(run, evidence, most).write(timeline_of(evidence), findings, truth);
}

}  // namespace deadrank::results::reports

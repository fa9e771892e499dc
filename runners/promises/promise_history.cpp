// runners/promises/promise_history.cpp — For each worker and step, only the last execution counts: a restart
// from a checkpoint discards what came after it.
#include "runners/promises/promise_history.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "results/record/words.h"

namespace deadrank::runners::promises {

namespace {

using UnitStep = std::pair<int, int>;

struct Lineage {
    std::map<UnitStep, const WorkerEvent*> last;
    std::map<int, std::map<std::string, std::string>> finals;
    std::map<UnitStep, int> done;
};

Lineage lineage_of(const PlayedRun& run) {
    Lineage lineage;
    for (const WorkerEvent& event : run.events) {
        if (event.kind == EventKind::step) {
            const UnitStep at{event.unit, event.step};
            lineage.last[at] = &event;
            ++lineage.done[at];
        } else if (event.kind == EventKind::final) {
            lineage.finals[event.unit] = event.digests;
        }
    }
    return lineage;
}

// How often each sample counts.
std::map<int, int> samples_of(const Lineage& lineage) {
    std::map<int, int> samples;
    for (const auto& [at, event] : lineage.last) {
        for (const int sample : event->samples) ++samples[sample];
    }
    return samples;
}

bool same_digests(const Lineage& one, const Lineage& other, const std::string& what) {
    if (one.finals.empty()) return false;
    for (const auto& [unit, digests] : one.finals) {
        const auto found = other.finals.find(unit);
        const auto mine = digests.find(what);
        if (found == other.finals.end() || mine == digests.end()) return false;
        const auto theirs = found->second.find(what);
        if (theirs == found->second.end() || theirs->second != mine->second) return false;
    }
    return true;
}

bool all_alike(const Lineage& lineage) {
    std::set<std::string> digests;
    for (const auto& [unit, final] : lineage.finals) {
        const auto found = final.find("parameters");
        digests.insert(found == final.end() ? "" : found->second);
    }
    return digests.size() == 1;
}

// Compares the losses of the last step, worker by worker.
bool same_losses(const Lineage& one, const Lineage& other) {
    int last = -1;
    for (const auto& [at, event] : other.last) last = std::max(last, at.second);
    bool any = false;
    for (const auto& [at, event] : other.last) {
        if (at.second != last) continue;
        const auto found = one.last.find(at);
        if (found == one.last.end() || found->second->loss != event->loss) return false;
        any = true;
    }
    return any;
}

// Seconds from the last fault until a step is done that is later than any before it, and later than the step
// it hit, which a surviving worker may still finish.
std::optional<double> seconds_until_progress(const PlayedRun& run) {
    if (!run.last_fault) return std::nullopt;
    int before = run.fault_step;
    for (const WorkerEvent& event : run.events) {
        if (event.kind == EventKind::step && event.at <= *run.last_fault)
            before = std::max(before, event.step);
    }
    for (const WorkerEvent& event : run.events) {
        if (event.kind == EventKind::step && event.at > *run.last_fault && event.step > before)
            return static_cast<double>(event.at - *run.last_fault) / 1e9;
    }
    return std::nullopt;
}

void count_lives(const PlayedRun& run, Measured& measured) {
    for (const WorkerEvent& event : run.events) {
        if (event.kind != EventKind::begin || event.life < 2) continue;
        ++measured.lives;
        if (std::count(run.hit.begin(), run.hit.end(), event.unit) == 0) ++measured.lives_of_others;
    }
}

void count_samples(const Lineage& mine, const Lineage& theirs, Measured& measured) {
    const auto seen = samples_of(mine);
    for (const auto& [sample, times] : samples_of(theirs)) {
        if (!seen.contains(sample)) ++measured.lost;
    }
    for (const auto& [sample, times] : seen) {
        if (times > 1) ++measured.twice;
    }
    std::map<int, int> redone;
    for (const auto& [at, times] : mine.done) redone[at.first] += times - 1;
    for (const auto& [unit, times] : redone) measured.redone = std::max(measured.redone, times);
}

}  // namespace

std::optional<WorkerEvent> worker_event(std::string_view line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("event")) return std::nullopt;
    WorkerEvent event;
    try {
        event.at = json.value("at", Moment{0});
        event.unit = json.value("unit", 0);
        event.pid = json.value("pid", 0);
        event.kind = scenarios::read_word<EventKind>(json.value("event", "")).value_or(EventKind::other);
        event.phase = json.value("phase", "");
        event.does = scenarios::read_word<ActionKind>(json.value("do", ""));
        event.loss = json.value("loss", "");
        event.step = json.value("step", -1);
        event.life = json.value("life", 0);
        event.seconds = json.value("seconds", 0.0);
        event.samples = json.value("samples", std::vector<int>{});
        for (const char* what : {"parameters", "optimizer", "random"}) {
            if (json.contains(what)) event.digests[what] = json.value(what, "");
        }
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;  // wrong types: not a line of our programs
    }
    return event;
}

namespace {

// Counts the workers that a fault ended and that never came back.
int count_lost_workers(const PlayedRun& run) {
    int gone = 0;
    for (const int unit : run.hit) {
        const bool back = std::any_of(run.events.begin(), run.events.end(), [&](const WorkerEvent& event) {
            return event.unit == unit && event.kind == EventKind::begin && event.life > 1;
        });
        gone += back ? 0 : 1;
    }
    return gone;
}

}  // namespace

Measured measure(const PlayedRun& run, const PlayedRun& control) {
    const Lineage mine = lineage_of(run), theirs = lineage_of(control);
    Measured measured;
    const int finals = static_cast<int>(mine.finals.size()),
              expected = static_cast<int>(theirs.finals.size());
    measured.finished = run.over && !run.failed && finals > 0 && finals >= expected - count_lost_workers(run);
    measured.same_parameters = measured.finished && same_digests(mine, theirs, "parameters");
    measured.same_optimizer = measured.finished && same_digests(mine, theirs, "optimizer");
    measured.same_random = measured.finished && same_digests(mine, theirs, "random");
    measured.same_loss = same_losses(mine, theirs);
    measured.replicas_agree = measured.finished && all_alike(mine);
    count_samples(mine, theirs, measured);
    count_lives(run, measured);
    measured.goes_on = seconds_until_progress(run);
    if (run.failure && run.last_fault)
        measured.ended_after = static_cast<double>(*run.failure - *run.last_fault) / 1e9;
    measured.processes_left = run.processes_left;
    measured.files_left = run.files_left;
    return measured;
}

bool returned_too_late(const PlayedRun& run) {
    std::set<int> back, finished;
    for (const WorkerEvent& event : run.events) {
        if (event.kind == EventKind::final) finished.insert(event.unit);
        if (event.kind == EventKind::begin && event.life > 1) back.insert(event.unit);
        if (event.kind != EventKind::step || !back.contains(event.unit)) continue;
        if (!finished.empty() && !finished.contains(event.unit)) return true;
        back.erase(event.unit);
    }
    return false;
}

std::string measured_text(const Measured& measured, bool faulted) {
    std::vector<std::string> parts;
    const auto add = [&](bool when, std::string text) {
        if (when) parts.push_back(std::move(text));
    };
    add(!measured.finished, "did not finish");
    add(measured.goes_on.has_value(), fmt::format("continues after {:.1f} s", measured.goes_on.value_or(0)));
    add(faulted && !measured.goes_on, "does not go on");
    add(measured.ended_after.has_value(),
        fmt::format("first error after {:.1f} s", measured.ended_after.value_or(0)));
    const auto count = [&](int n, std::string_view noun, std::string_view what) {
        add(n > 0, fmt::format("{} {}", results::counted(static_cast<std::size_t>(n), noun), what));
    };
    count(measured.redone, "step", "redone");
    count(measured.lost, "sample", "lost");
    count(measured.twice, "sample", "seen twice");
    count(measured.lives, "restart", "of workers");
    add(measured.finished && !measured.same_parameters, "parameters differ from the control");
    add(measured.finished && !measured.replicas_agree, "replicas differ");
    add(measured.processes_left > 0, fmt::format("left running: {}", measured.processes_left));
    count(measured.files_left, "file", "left in TMPDIR");
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
    return text.empty() ? "as the control" : text;
}

}  // namespace deadrank::runners::promises

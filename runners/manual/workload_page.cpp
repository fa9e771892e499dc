// runners/manual/workload_page.cpp — The calls, the values of seams and the settings with an effect are taken
// from runs played for the page.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>

#include "runners/backends/sim/played_calls.h"
#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"
#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"
#include "sim/world/members.h"

namespace deadrank::runners::manual {

namespace {

using scenarios::Parameter;
using scenarios::Values;
using scenarios::ValueType;
using sim::CallKind;

// If the workload saves checkpoints, the second of four steps does.
constexpr std::int64_t steps_played = 4, saves_every = 2, usual_step = 2, saving_step = 1;

const Parameter* setting_named(const std::vector<Parameter>& settings, std::string_view name) {
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [&](const Parameter& one) { return one.name == name; });
    return found == settings.end() ? nullptr : &*found;
}

Values usual_settings(const sim::WorkloadKind& kind) {
    Values said;
    const auto add_setting = [&](const char* name, std::int64_t number) {
        if (const Parameter* setting = setting_named(kind.words.parameters, name))
            said.emplace(name, scenarios::Value{.type = setting->type, .number = number});
    };
    add_setting("steps", steps_played);
    add_setting("checkpoint_every", saves_every);
    return said;
}

// ── Settings with an effect: another value gives another run.

std::vector<std::string> other_values(const Parameter& setting) {
    if (!setting.choices.empty()) {
        std::vector<std::string> others = setting.choices;
        std::erase(others, setting.fallback);
        return others;
    }
    switch (setting.type) {
        case ValueType::boolean:
            return {setting.fallback == "true" ? "false" : "true"};
        case ValueType::integer:
            return setting.fallback == "2" ? std::vector<std::string>{"1", "4"}
                                           : std::vector<std::string>{"2", "1", "4"};
        case ValueType::duration:
            return {"40ms", "150ms"};
        case ValueType::bytes:
            return {"3MiB"};
        case ValueType::ratio:
            return {"1/50"};
        default:
            return {};
    }
}

bool is_felt(const sim::WorkloadKind& kind, const Parameter& setting, const PlayedJob& usual) {
    for (const std::string& other : other_values(setting)) {
        Values changed = usual_settings(kind);
        auto value = scenarios::parse_value(setting.type, other);
        if (!value) continue;
        changed[setting.name] = std::move(*value);
        const auto job = played_calls(kind, {}, changed);
        if (job && job->hash != usual.hash) return true;
    }
    return false;
}

std::string settings_section(const sim::WorkloadKind& kind, const PlayedJob& usual) {
    const std::vector<Parameter> common = settings_of_every_job();
    const auto table = [&](bool own) {
        std::string text;
        for (const Parameter& setting : kind.words.parameters) {
            const Parameter* known = setting_named(common, setting.name);
            if (own != (!known || known->fallback != setting.fallback)) continue;
            if (text.empty()) text = heading_row({"key", "type", "default", "felt", "meaning"});
            text += row({fmt::format("`{}`", setting.name), type_text(setting), default_text(setting),
                         is_felt(kind, setting, usual) ? "yes" : "", cell(setting.what)});
        }
        return text;
    };
    std::string text = "## Settings\n\n";
    if (const std::string own = table(true); !own.empty()) text += "Its own:\n\n" + own + "\n";
    if (const std::string shared = table(false); !shared.empty())
        text += "Of every training job:\n\n" + shared + "\n";
    return text +
           "*felt*: another value gives another run, when all else is as in the run below. What is not felt "
           "there "
           "may need a fault, a restart or another setting beside it.\n\n";
}

// ── Seams and blocks: when they are read, and which value was read.

std::string when_read(const PlayedJob& job, CallKind kind, const std::string& name) {
    std::set<std::string> moments;
    for (const auto& calls : job.ranks) {
        for (const PlayedCall& call : calls) {
            if (call.kind != kind || call.name != name) continue;
            moments.insert(call.step < 0 ? "at start-up"
                           : call.phase == results::Phase::none
                               ? "between steps"
                               : fmt::format("in {}", results::name_of(call.phase)));
        }
    }
    return moments.empty() ? "not in the run below" : fmt::format("{}", fmt::join(moments, ", "));
}

std::string values_read(const PlayedJob& job, const std::string& name) {
    std::set<std::int64_t> values;
    bool own_number = true;
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
        for (const PlayedCall& call : job.ranks[rank]) {
            if (call.kind != CallKind::seam || call.name != name) continue;
            values.insert(call.count);
            own_number &= call.count == static_cast<std::int64_t>(rank);
        }
    }
    if (values.empty()) return "";
    if (values.size() > 1 && own_number) return "the rank's number";
    constexpr std::size_t shown_most = 4;
    if (values.size() <= shown_most) return fmt::format("{}", fmt::join(values, ", "));
    return fmt::format("{} to {}", *values.begin(), *values.rbegin());
}

// The workload's own names first, then those of every training job.
std::vector<std::string> own_first(std::vector<std::string> names, const std::vector<std::string>& common) {
    std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
        return std::find(common.begin(), common.end(), name) == common.end();
    });
    return names;
}

std::string phases_section(const sim::WorkloadKind& kind) {
    std::vector<std::string> names;
    for (const scenarios::PhaseWord& phase : kind.words.phases)
        names.push_back(phase.needs.empty() ? fmt::format("`{}`", phase.name)
                                            : fmt::format("`{}` (with {})", phase.name, phase.needs));
    return fmt::format(
        "## Phases\n\n`phase` of a fault's `when` may name {}; a fault that waits for another is "
        "refused.\n\n",
        fmt::join(names, ", "));
}

std::string places_section(const sim::WorkloadKind& kind, const PlayedJob& job) {
    const scenarios::Kind common = sim::job_words("", "");
    std::string text;
    if (!kind.words.seams.empty()) {
        text +=
            "## Seams\n\nValues that `bend_value` bends: whole numbers, in the unit that is named or "
            "counted.\n\n" +
            heading_row({"seam", "unit", "read", "as", "meaning"});
        for (const std::string& seam : own_first(kind.words.seams, common.seams)) {
            text += row({fmt::format("`{}`", seam), std::string(sim::unit_of_place(seam)),
                         when_read(job, CallKind::seam, seam), values_read(job, seam),
                         cell(sim::meaning_of_place(seam))});
        }
        text += "\n";
    }
    if (!kind.words.blocks.empty()) {
        text += "## Blocks\n\nParts of the program that `skip_block` leaves out.\n\n" +
                heading_row({"block", "reached", "meaning"});
        for (const std::string& block : own_first(kind.words.blocks, common.blocks)) {
            text += row({fmt::format("`{}`", block), when_read(job, CallKind::block, block),
                         cell(sim::meaning_of_place(block))});
        }
        text += "\n";
    }
    return text;
}

// ── The calls of a step, in order.

bool is_shown(const PlayedCall& call) { return call.kind != CallKind::phase && call.kind != CallKind::step; }

std::vector<PlayedCall> calls_at(const std::vector<PlayedCall>& calls, std::int64_t step, bool saving) {
    std::vector<PlayedCall> chosen;
    for (const PlayedCall& call : calls) {
        const bool checkpoint = call.phase == results::Phase::checkpoint;
        if (call.step == step && is_shown(call) && checkpoint == saving) chosen.push_back(call);
    }
    return chosen;
}

bool alike(const std::vector<PlayedCall>& a, const std::vector<PlayedCall>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const PlayedCall& one, const PlayedCall& other) { return one.is_like(other); });
}

std::string size_text(const PlayedCall& call) {
    switch (call.kind) {
        case CallKind::collective:
        case CallKind::send:
        case CallKind::recv:
            return fmt::format("{} {}, {}B", call.count, results::name_of(call.dtype),
                               call.count * results::size_of(call.dtype));
        case CallKind::compute:
            return scenarios::value_text({.type = ValueType::duration, .number = call.count / 1000 * 1000});
        case CallKind::allocate:
            return scenarios::value_text({.type = ValueType::bytes, .number = call.count});
        case CallKind::storage_write:
            return fmt::format("{} numbers", call.count);
        case CallKind::comm_init:
            return fmt::format("{} ranks", call.count);
        default:
            return "";
    }
}

std::string kind_text(CallKind kind) {
    switch (kind) {
        case CallKind::seam:
            return "seam";
        case CallKind::block:
            return "block";
        case CallKind::collective:
            return "collective";
        case CallKind::send:
        case CallKind::recv:
            return "message";
        case CallKind::store:
            return "store";
        case CallKind::storage_write:
        case CallKind::storage_read:
            return "file";
        case CallKind::comm_init:
            return "communicator";
        default:
            return "device";
    }
}

// `length` calls that follow each other `times` times. repetition_at finds the one at `at` that covers most
// calls.
struct Repetition {
    std::size_t length = 1, times = 1;
};

Repetition repetition_at(const std::vector<PlayedCall>& calls, std::size_t at) {
    Repetition best;
    for (std::size_t length = 1; at + 2 * length <= calls.size(); ++length) {
        std::size_t times = 1;
        for (std::size_t next = at + length; next + length <= calls.size(); next += length, ++times) {
            bool same = true;
            for (std::size_t i = 0; same && i < length; ++i) same = calls[at + i].is_like(calls[next + i]);
            if (!same) break;
        }
        if (times > 1 && length * times > best.length * best.times) best = {length, times};
    }
    return best;
}

std::string calls_table(const std::vector<PlayedCall>& calls) {
    std::string text = heading_row({"phase", "", "name", "communicator", "size", "times"});
    results::Phase before = results::Phase::setup;
    for (std::size_t at = 0; at < calls.size();) {
        const Repetition again = repetition_at(calls, at);
        for (std::size_t i = 0; i < again.length; ++i) {
            const PlayedCall& call = calls[at + i];
            const std::string phase =
                call.phase == results::Phase::none ? "" : std::string(results::name_of(call.phase));
            const std::string times =
                i > 0 || again.times == 1 ? ""
                : again.length == 1       ? fmt::format("{}", again.times)
                                    : fmt::format("{}, with the next {}", again.times, again.length - 1);
            text += row({call.phase == before ? "" : phase, kind_text(call.kind),
                         fmt::format("`{}`", call.name), call.comm, size_text(call), times});
            before = call.phase;
        }
        at += again.length * again.times;
    }
    return text + "\n";
}

// "the same, with `store_set`": how the calls differ from the first ranks', if only a little; else empty.
std::string difference(const std::vector<PlayedCall>& first, const std::vector<PlayedCall>& calls) {
    constexpr std::size_t little = 3;
    const auto lacking = [](const std::vector<PlayedCall>& from, const std::vector<PlayedCall>& what) {
        std::vector<std::string> names;
        std::vector<const PlayedCall*> left;
        for (const PlayedCall& call : from) left.push_back(&call);
        for (const PlayedCall& call : what) {
            const auto found =
                std::find_if(left.begin(), left.end(), [&](const auto* one) { return one->is_like(call); });
            if (found == left.end()) {
                names.push_back(call.name);
            } else {
                left.erase(found);
            }
        }
        return names;
    };
    const auto more = lacking(first, calls);
    const auto less = lacking(calls, first);
    if (more.size() + less.size() > little || more.size() + less.size() == 0) return "";
    return fmt::format("the same{}{}", more.empty() ? "" : ", with " + quoted(more),
                       less.empty() ? "" : ", without " + quoted(less));
}

// Ranks that make the same calls are described once.
std::string describe_by_ranks(const PlayedJob& job, std::int64_t step, bool saving, const std::string& title,
                              const std::string& says) {
    std::vector<std::pair<std::vector<PlayedCall>, std::vector<sim::Rank>>> kinds;
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
        auto calls = calls_at(job.ranks[rank], step, saving);
        const auto known = std::find_if(kinds.begin(), kinds.end(),
                                        [&](const auto& one) { return alike(one.first, calls); });
        if (known == kinds.end()) {
            kinds.emplace_back(std::move(calls), std::vector{static_cast<sim::Rank>(rank)});
        } else {
            known->second.push_back(static_cast<sim::Rank>(rank));
        }
    }
    std::erase_if(kinds, [](const auto& one) { return one.first.empty(); });
    if (kinds.empty()) return "";
    std::string text = fmt::format("## {}\n\n{}\n\n", title, says);
    for (const auto& [calls, ranks] : kinds) {
        const std::string who =
            ranks.size() == job.ranks.size()
                ? "Every rank"
                : fmt::format("Rank{} {}", ranks.size() == 1 ? "" : "s", sim::rank_list(ranks));
        const std::string differs =
            &calls == &kinds.front().first ? "" : difference(kinds.front().first, calls);
        text += differs.empty() ? who + ":\n\n" + calls_table(calls) : who + ": " + differs + ".\n\n";
    }
    return text;
}

// What a step's calls have in their midst that the usual ones lack. The phase does not count: what follows
// may be counted to that of the midst.
std::vector<PlayedCall> added(const std::vector<PlayedCall>& calls, const std::vector<PlayedCall>& usual) {
    const auto like = [](const PlayedCall& one, const PlayedCall& other) {
        return one.kind == other.kind && one.name == other.name && one.comm == other.comm;
    };
    const auto begin = std::mismatch(calls.begin(), calls.end(), usual.begin(), usual.end(), like);
    const auto end = std::mismatch(calls.rbegin(), std::make_reverse_iterator(begin.first), usual.rbegin(),
                                   std::make_reverse_iterator(begin.second), like);
    return {begin.first, end.first.base()};
}

std::string evaluation_section(const sim::WorkloadKind& kind, const PlayedJob& usual) {
    const Parameter* every = setting_named(kind.words.parameters, "evaluate_every");
    if (!every) return "";
    Values settings = usual_settings(kind);
    settings["evaluate_every"] = scenarios::Value{.type = every->type, .number = usual_step + 1};
    auto job = played_calls(kind, {}, settings);
    CHECK(job);
    for (std::size_t rank = 0; rank < job->ranks.size(); ++rank)
        job->ranks[rank] = added(calls_at(job->ranks[rank], usual_step, false),
                                 calls_at(usual.ranks[rank], usual_step, false));
    return describe_by_ranks(*job, usual_step, false, "An evaluation",
                             "With `evaluate_every`, besides the calls above in a step whose number is due.");
}

}  // namespace

std::vector<Parameter> settings_of_every_job() {
    std::vector<Parameter> rows;
    sim::JobSettings{sim::Settings::Source(rows)};
    return rows;
}

std::string workload_page(const sim::WorkloadKind& kind) {
    const auto job = played_calls(kind, {}, usual_settings(kind));
    CHECK(job);
    std::string what(unstopped(kind.words.what));
    if (what.front() >= 'a' && what.front() <= 'z')
        what.front() = static_cast<char>(what.front() - 'a' + 'A');
    std::string text = fmt::format("# Workload {}\n\n{}.\n\n", kind.words.name, what);
    if (!kind.words.launcher.empty())
        text += fmt::format("Played with `launcher = \"{}\"` in `[cluster]` alone.\n\n", kind.words.launcher);
    text += settings_section(kind, *job);
    if (!kind.words.phases.empty()) text += phases_section(kind);
    text += places_section(kind, *job);
    const std::string run = fmt::format(
        "`deadrank help manual` played it for this page: {} ranks on the default cluster", job->ranks.size());
    text += describe_by_ranks(*job, -1, false, "Start-up", run + ", what comes before the first step.");
    text += describe_by_ranks(*job, usual_step, false, "One step",
                              "In order. `before = \"NAME\"` of a fault's `when` waits for any of these.");
    text += evaluation_section(kind, *job);
    text += describe_by_ranks(*job, saving_step, true, "A checkpoint", "After a step whose number is due.");
    return text;
}

}  // namespace deadrank::runners::manual

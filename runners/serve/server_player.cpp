// runners/serve/server_player.cpp — Plays rules with a Prometheus server, over its own API.
#include "runners/serve/server_player.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "results/alerts/promtool_player.h"
#include "runners/serve/needed_series.h"

namespace deadrank::runners::serve {

namespace {

using results::alerts::PlayerAnswer;
using results::alerts::Rule;
using results::alerts::StaticAnalysis;
using scenarios::Result;

// What the healthy run showed of the rules whose answer is reused.
Conditions known_again(const Conditions& healthy, const std::vector<bool>& reused) {
    Conditions held(healthy.size());
    for (std::size_t i = 0; i < healthy.size(); ++i)
        if (reused[i]) held[i] = healthy[i];
    return held;
}

bool any(const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// How far a `for` is followed into the past: shortly at first, since most conditions did not hold all the
// time, and from the failure on not at all, since the healthy run is known.
std::vector<double> followed(const Known& known) {
    if (known.resumed()) return {0};
    return {3600, 6 * 3600, std::numeric_limits<double>::infinity()};
}

// Must the stretch begin at 0, since one of these rules tells the date, or is evaluated on the clock's own
// grid?
bool needs_fresh_clock(const Question& question) {
    for (std::size_t i = 0; i < question.rules.size(); ++i) {
        const bool played = question.asked[i] || !question.rules[i].is_alert;
        if (played &&
            (question.analysis.rules[i].reads.subquery || uses_current_date(question.rules[i].expr)))
            return true;
    }
    return false;
}

double look_back_of(const Question& question) {
    double longest = 0;
    for (std::size_t i = 0; i < question.rules.size(); ++i)
        if (question.asked[i]) longest = std::max(longest, question.analysis.rules[i].look_back);
    return longest;
}

}  // namespace

ServerPlayer::ServerPlayer(Options options, std::optional<results::external::Promtool> promtool)
    : options_(std::move(options)), pool_(options_.program) {
    if (promtool)
        exact_.emplace(*promtool, results::alerts::PromtoolPlayer::Options{options_.directory / "promtool",
                                                                           "", false, true});
}

std::string ServerPlayer::name() const { return "a Prometheus server (" + options_.program + ")"; }

void ServerPlayer::stop_when(std::function<bool()> stopped) {
    if (exact_) exact_->stop_when(stopped);
    stopped_ = std::move(stopped);
}

Result<PlayerAnswer> ServerPlayer::play(const results::exporters::World& world,
                                        const results::exporters::Incident& incident,
                                        const std::vector<results::alerts::RuleFile>& files,
                                        const std::vector<Rule>& rules, const StaticAnalysis& analysis) {
    PlayerAnswer played;
    played.activity.resize(rules.size());
    played.unjudged.resize(rules.size(), false);
    played.reused.resize(rules.size(), false);
    const auto reach = healthy_.reached(world, incident, rules);
    std::vector<bool> served(rules.size(), false), exact(rules.size(), false);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        played.reused[i] = !reach.rules[i];
        if (!rules[i].is_alert || analysis.rules[i].dead) continue;
        if (played.reused[i])
            played.activity[i] = healthy_.activity()[i];
        else
            (needs_promtool(i, rules, analysis, 0) ? exact : served)[i] = true;
    }
    Known known;
    if (!incident.healthy() && healthy_.knows(rules) && reads_only_the_past(rules))
        known = {&healthy_held_, results::exporters::begins(incident)};
    Conditions held = known.resumed() ? known_again(healthy_held_, played.reused) : Conditions(rules.size());
    const results::alerts::OnlyMetrics all;
    const Question question{rules, analysis, known.resumed() ? reach.only : all, known, served, 0};
    if (auto done = serve_all(world, incident, question, held, played); !done)
        return tl::unexpected(done.error());
    if (any(exact)) {
        if (auto done = play_exactly(world, incident, files, rules, analysis, exact, played); !done)
            return tl::unexpected(done.error());
    }
    healthy_.keep(incident, rules, analysis, played);
    if (incident.healthy() && healthy_.knows(rules) && healthy_held_.empty()) healthy_held_ = std::move(held);
    if (options_.keep) {
        auto written = results::alerts::write_kept(world, incident, files, rules, analysis, played, name(),
                                                   options_.directory);
        if (!written) return tl::unexpected(written.error());
    }
    return played;
}

Result<void> ServerPlayer::serve_all(const results::exporters::World& world,
                                     const results::exporters::Incident& incident, const Question& question,
                                     Conditions& held, PlayerAnswer& played) {
    const auto& rules = question.rules;
    std::vector<bool> open = question.asked, readers(rules.size(), false);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        readers[i] = open[i] && reads_alerts(i, question.analysis);
        open[i] = open[i] && !readers[i];
    }
    const auto play_part = [&](const std::vector<bool>& part, double longest) {
        return serve(world, incident,
                     {rules, question.analysis, question.only, question.known, part, longest}, held, played);
    };
    for (const double longest : followed(question.known)) {
        std::vector<bool> now = open;
        for (std::size_t i = 0; i < rules.size() && !question.known.resumed(); ++i)
            now[i] = open[i] && may_be_followed(rules[i], longest);
        for (const auto& part : by_reach(rules, question.analysis, now, longest)) {
            auto undecided = play_part(part, longest);
            if (!undecided) return tl::unexpected(undecided.error());
            for (std::size_t i = 0; i < rules.size(); ++i)
                if (part[i]) open[i] = (*undecided)[i];
        }
    }
    const double longest = followed(question.known).back();
    for (const auto& part : by_side(readers, rules, question.analysis)) {
        if (auto done = play_part(part, longest); !done) return tl::unexpected(done.error());
    }
    return {};
}

Result<std::vector<bool>> ServerPlayer::serve(results::exporters::World world,
                                              const results::exporters::Incident& incident,
                                              const Question& question, Conditions& held,
                                              PlayerAnswer& played) {
    const auto& [rules, analysis, only, known, asked, longest] = question;
    world.window.history = std::min(world.window.history,
                                    history_from(rules, analysis, world.window, asked, longest, known.until));
    const auto& window = world.window;
    auto stretch = pool_.begin(window.start() + window.duration, look_back_of(question),
                               needs_fresh_clock(question), stopped_);
    if (!stretch) return tl::unexpected(stretch.error());
    world.epoch = stretch->offset();
    const auto series = results::alerts::series_for(world, incident, rules, analysis, asked, only);
    const std::size_t from = first_needed(rules, analysis, window, asked, known.until);
    auto done = stretch->write(series, 0, window.scrape, known.resumed() ? from : 0);
    if (!done) return tl::unexpected(done.error());
    ServedRun run(*stretch, question, window, held, played);
    done = run.ask_all();
    played.cpu_seconds += stretch->cpu_seconds();
    if (!done) return tl::unexpected(done.error());
    pool_.give_back(std::move(*stretch));
    return run.undecided();
}

Result<void> ServerPlayer::play_exactly(const results::exporters::World& world,
                                        const results::exporters::Incident& incident,
                                        const std::vector<results::alerts::RuleFile>& files,
                                        const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                                        const std::vector<bool>& asked, PlayerAnswer& played) {
    const auto unjudge = [&](const std::string& why) {
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (asked[i]) played.unjudged[i] = true, played.why_unjudged[i] = why;
        }
    };
    if (!exact_) {
        unjudge("it reads the state of alerts or a later recording rule, and there is no promtool");
        return {};
    }
    // The asked rules and the alerts whose state they read: the recording rules between them are always
    // there.
    std::vector<bool> needed = asked;
    for (std::size_t i = 0; i < rules.size(); ++i) needed[i] = needed[i] || !rules[i].is_alert;
    needed = results::alerts::with_shown(std::move(needed), rules, analysis);
    for (std::size_t i = 0; i < rules.size(); ++i) needed[i] = needed[i] && (rules[i].is_alert || asked[i]);
    auto left = files_for(files, rules, analysis, needed,
                          options_.directory / "copies" / results::alerts::file_safe(incident.id));
    if (!left) return tl::unexpected(left.error());
    StaticAnalysis narrow = results::alerts::narrowed(analysis, needed);
    for (std::size_t i = 0; i < rules.size(); ++i)
        narrow.rules[i].dead |= rules[i].is_alert && !needed[i];  // not in these files
    results::exporters::World shorter = world;
    shorter.window.history = std::min(world.window.history,
                                      results::alerts::history_needed(rules, analysis, world.window, needed));
    auto answer = exact_->play(shorter, incident, *left, rules, narrow);
    if (!answer && stopped_ && stopped_()) return tl::unexpected(answer.error());
    if (!answer) return unjudge(answer.error().what), Result<void>{};
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!asked[i]) continue;
        played.activity[i] = std::move(answer->activity[i]);
        played.unjudged[i] = answer->unjudged[i];
    }
    played.why_unjudged.merge(answer->why_unjudged);
    played.cpu_seconds += answer->cpu_seconds;
    return {};
}

}  // namespace deadrank::runners::serve

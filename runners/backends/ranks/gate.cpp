// runners/backends/ranks/gate.cpp — Before each call of a rank, lets the faults act that are due, on the
// job's own clock.
#include "runners/backends/ranks/gate.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "inject/core/trigger.h"
#include "sim/world/failure.h"

namespace deadrank::runners {

using inject::Rank;
using results::Time;

namespace {

constexpr std::chrono::microseconds gate_look_every{150};

// Faults of the start apply in every rank; later ones only in the rank that they aim at. A fault that aims at
// no rank waits in all of them.
std::vector<std::pair<std::size_t, scenarios::FaultSpec>> faults_of(const scenarios::Plan& plan, Rank own) {
    std::vector<std::pair<std::size_t, scenarios::FaultSpec>> ours;
    for (std::size_t index = 0; index < plan.faults.size(); ++index) {
        scenarios::FaultSpec spec = plan.faults[index];
        const auto ranks = spec.ranks();
        const bool starts = inject::from_start(spec.when);
        if (!starts && !ranks.empty()) {
            if (std::find(ranks.begin(), ranks.end(), own) == ranks.end()) continue;
            spec.parameters.at("rank").list = {own};
        }
        ours.emplace_back(index, std::move(spec));
    }
    return ours;
}

}  // namespace

Gate::Gate(const scenarios::Plan& plan, const Reach& reach, Rank own, Trail& evidence, Trail& truth,
           Keeper keeper)
    : own_(own),
      levers_(reach, static_cast<Rank>(plan.world_size()),
              static_cast<Rank>(plan.number(plan.cluster, "gpus_per_node")), own),
      evidence_(evidence),
      truth_(truth),
      keeper_(std::move(keeper)) {}

scenarios::Result<std::unique_ptr<Gate>> Gate::make(const scenarios::Plan& plan, const Reach& reach, Rank own,
                                                    Trail& evidence, Trail& truth, Keeper keeper) {
    std::unique_ptr<Gate> gate(new Gate(plan, reach, own, evidence, truth, std::move(keeper)));
    std::vector<scenarios::FaultSpec> specs;
    for (auto& [index, spec] : faults_of(plan, own)) {
        gate->index_.push_back(index);
        specs.push_back(std::move(spec));
    }
    auto injector = inject::Injector::make(specs, gate->marks_);
    if (!injector) return tl::unexpected(injector.error());
    gate->injector_ = std::make_unique<inject::Injector>(std::move(*injector));
    gate->levers_.starting(true);
    const auto started = gate->injector_->at_start(gate->levers_);
    gate->levers_.starting(false);
    if (!started) return tl::unexpected(started.error());
    gate->written_ = gate->marks_.marks.size();  // the harness reports what was done before the start
    return gate;
}

void Gate::pass(sim::Call& call) {
    call.rank = own_;
    call.step = step;
    call.phase = phase;
    tick();
    call.now = evidence_.clock().now();
    if (injector_->armed(own_)) {
        const inject::Moment moment{.rank = own_,
                                    .now = call.now,
                                    .step = step,
                                    .phase = phase,
                                    .call = call_name(call),
                                    .comm = call.comm};
        levers_.under_way(&call);
        injector_->at(moment, levers_);
        levers_.under_way(nullptr);
        flush(moment);
        mark_passed();
    }
    levers_.shape(call);
    if (call.delay > Time{0}) sleep(call.delay);
}

bool Gate::plain(sim::Call& call) {
    pass(call);
    if (call.answer != results::Code::ok) {
        throw sim::LibraryError(call.answer, fmt::format("RuntimeError: {} failed: {}", call.name,
                                                         results::name_of(call.answer)));
    }
    if (call.never_completes) wait([] { return false; });
    return call.skip;
}

void Gate::tick() {
    const Time now = evidence_.clock().now();
    if (injector_->next_alarm() > now) return;
    injector_->tick(now, levers_);
    flush({.rank = own_, .now = now, .step = step});
    mark_passed();
}

void Gate::flush(const inject::Moment& moment) {
    for (; written_ < marks_.marks.size(); ++written_) {
        const results::Mark& mark = marks_.marks[written_];
        truth_.line(nlohmann::json{
            {"t", moment.now.count()},
            {"rank", own_},
            {"fault", index_[static_cast<std::size_t>(mark.fault)]},
            {"kind", name_of(mark.kind)},
            {"step", moment.step},
            {"call", moment.call},
            {"says",
             mark.says}}.dump());
    }
}

void Gate::mark_passed() {
    const RealEnd end = std::exchange(levers_.state().end, {});
    switch (end.how) {
        case RealEnd::How::none:
            return;
        case RealEnd::How::killed:
            std::signal(end.number, SIG_DFL);
            std::raise(end.number);
            return;
        case RealEnd::How::exits:
            throw sim::RankFailure(end.says, end.number);
        case RealEnd::How::preempted:
            std::signal(SIGTERM, SIG_DFL);  // as a scheduler does: to every process of the job
            std::raise(SIGTERM);
            return;
        case RealEnd::How::stops: {
            const Time alarm = injector_->next_alarm();
            keeper_.resume_after(alarm == results::never ? Time{-1} : alarm - evidence_.clock().now());
            return tick();
        }
    }
}

void Gate::sleep(Time job) {
    const Time until = evidence_.clock().now() + job;
    wait([&] { return evidence_.clock().now() >= until; });
}

void Gate::wait(const std::function<bool()>& done) {
    while (!done()) {
        std::this_thread::sleep_for(gate_look_every);
        tick();
    }
}

}  // namespace deadrank::runners

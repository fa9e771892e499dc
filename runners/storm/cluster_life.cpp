// runners/storm/cluster_life.cpp — Failures are a renewal process on a clock that runs faster while bad or
// new nodes are in the job; drains and preemptions are memoryless. Each of them interrupts the job's own
// clock.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runners/storm/cluster_model.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners {

namespace {

using scenarios::Draw;

constexpr double nowhen = std::numeric_limits<double>::infinity();
constexpr double hours_a_day = 24;

// A stream of numbers between 0 and 1, one stream per purpose.
class Stream {
public:
    Stream(std::uint64_t seed, std::string_view purpose) : draw_(seed, "cluster life", purpose) {}
    double next() { return (static_cast<double>(draw_.below(n_++, 1u << 30)) + 0.5) / (1u << 30); }
    double wait(double mean) { return -mean * std::log(next()); }
    int below(int count) { return std::min(static_cast<int>(next() * count), count - 1); }

private:
    Draw draw_;
    std::uint64_t n_ = 0;
};

// Draws gaps between failures, scaled to mean 1.
class Gaps {
public:
    Gaps(const ClusterModel& model, std::uint64_t seed) : model_(model), draw_(seed, "gap") {
        process_ = {model.gaps, model.gaps == GapModel::Kind::exponential ? 1 : model.shape, 1};
        if (process_.kind == GapModel::Kind::weibull)
            process_.scale = 1 / std::tgamma(1 + 1 / process_.shape);
        if (process_.kind == GapModel::Kind::gamma) process_.scale = 1 / process_.shape;
        for (const double gap : model.empirical) mean_ += gap / static_cast<double>(model.empirical.size());
    }
    double next() {
        if (model_.empirical.empty()) return process_.quantile(draw_.next());
        return model_.empirical[static_cast<std::size_t>(
                   draw_.below(static_cast<int>(model_.empirical.size())))] /
               mean_;
    }

private:
    const ClusterModel& model_;
    GapModel process_;
    Stream draw_;
    double mean_ = 0;
};

// The nodes of the job, the spares, and those under repair.
class Fleet {
public:
    Fleet(const ClusterModel& model, std::uint64_t seed)
        : model_(model), draw_(seed, "node"), nodes_(std::max(1, static_cast<int>(model.nodes()))) {
        for (int i = 0; i < nodes_; ++i)
            in_job_.push_back(fresh(model.all_new ? 0 : -model.burn_in_days * hours_a_day));
        for (int i = 0; i < static_cast<int>(model.spares); ++i)
            spare_.push_back(fresh(-model.burn_in_days * hours_a_day));
        recount(0);
    }

    // The job's current failure rate relative to the model's mean, given its bad and new nodes.
    double hazard(double now) {
        if (now - counted_at_ >= hours_a_day) recount(now);
        const double usual = 1 + model_.bad_share * (model_.bad_factor - 1);
        return weight_ / nodes_ / usual;
    }

    // Draws a node of the job, bad and new ones more often.
    int strike(double now) {
        const double most = std::max(1.0, model_.bad_factor) * std::max(1.0, model_.burn_in_factor);
        for (;;) {
            const int node = draw_.below(nodes_);
            if (draw_.next() * most < weight_of(in_job_[static_cast<std::size_t>(node)], now)) return node;
        }
    }
    int any() { return draw_.below(nodes_); }
    int id_at(int place) const { return in_job_[static_cast<std::size_t>(place)].id; }

    // Takes nodes out for `out_for` hours; returns when the job has all its nodes again.
    double replace(int first, int count, double now, double out_for, bool renewed) {
        double ready = now;
        for (int i = 0; i < count; ++i) {
            auto& place = in_job_[static_cast<std::size_t>((first + i) % nodes_)];
            const Node gone = place;
            weight_ -= weight_of(gone, now);
            for (std::size_t k = 0; k < back_.size();) {
                if (back_[k].at > now) {
                    ++k;
                    continue;
                }
                spare_.push_back(back_[k].node);
                back_.erase(back_.begin() + static_cast<std::ptrdiff_t>(k));
            }
            back_.push_back(
                {now + out_for, renewed && draw_.next() < model_.mended ? fresh(now + out_for) : gone});
            if (!spare_.empty()) {
                place = spare_.back();
                spare_.pop_back();
                weight_ += weight_of(place, now);
                continue;
            }
            const auto soonest = std::min_element(back_.begin(), back_.end(),
                                                  [](const auto& a, const auto& b) { return a.at < b.at; });
            ready = std::max(ready, soonest->at);
            place = soonest->node;
            weight_ += weight_of(place, now);
            back_.erase(soonest);
        }
        return ready;
    }

private:
    struct Node {
        int id = 0;
        bool bad = false;
        double born = 0;
    };
    struct Repair {
        double at = 0;
        Node node;
    };

    Node fresh(double born) { return {ids_++, draw_.next() < model_.bad_share, born}; }
    double weight_of(const Node& node, double now) const {
        return (node.bad ? model_.bad_factor : 1) *
               (now - node.born < model_.burn_in_days * hours_a_day ? model_.burn_in_factor : 1);
    }
    void recount(double now) {
        counted_at_ = now;
        weight_ = 0;
        for (const Node& node : in_job_) weight_ += weight_of(node, now);
    }

    const ClusterModel& model_;
    Stream draw_;
    int nodes_, ids_ = 0;
    std::vector<Node> in_job_, spare_;
    std::vector<Repair> back_;
    double weight_ = 0, counted_at_ = 0;
};

// The job's own clock. `phase` is the time since the last completed checkpoint.
class JobClock {
public:
    JobClock(const ClusterModel& model, Life& life) : model_(model), life_(life) {}

    // Lets time pass until `then`: first the outstanding waits, then work.
    void pass(double then) {
        while (!due_.empty() && now_ < then) {
            Due& first = due_.front();
            const double spent = std::min(first.hours, then - now_);
            life_.hours.*first.where += spent;
            if (!first.cause.empty()) life_.lost[first.cause] += spent;
            now_ += spent;
            first.hours -= spent;
            if (first.hours <= 0) due_.erase(due_.begin());
        }
        const double left = then - now_;
        now_ = then;
        if (left <= 0) return;
        const double cycle = model_.checkpoint_every + model_.checkpoint_cost;
        const double total = phase_ + left, whole = std::floor(total / cycle);
        life_.hours.useful += whole * model_.checkpoint_every;
        life_.hours.checkpoints += whole * model_.checkpoint_cost;
        phase_ = total - whole * cycle;
    }

    // Work since the last checkpoint is lost; `ready` is when all nodes are back.
    void fail(const std::string& cause, double noticing, double ready) {
        const double work = std::min(phase_, model_.checkpoint_every);
        life_.hours.again += work;
        life_.lost[cause] += work;
        life_.hours.checkpoints += phase_ - work;
        phase_ = 0;
        due_.clear();
        wait(&Hours::noticing, noticing, cause);
        wait(&Hours::waiting, ready - now_ - noticing, cause);
        wait(&Hours::restarting, model_.restart, cause);
    }

    // Announced in advance, so work is saved first.
    void preempt(double hours) {
        if (due_.empty()) end();
        wait(&Hours::preempted, hours, {});
        wait(&Hours::restarting, model_.restart, {});
    }

    void end() {
        const double work = std::min(phase_, model_.checkpoint_every);
        life_.hours.useful += work;
        life_.hours.checkpoints += phase_ - work;
        phase_ = 0;
    }

private:
    struct Due {
        double Hours::*where;
        double hours;
        std::string cause;
    };
    void wait(double Hours::*where, double hours, const std::string& cause) {
        if (hours > 0) due_.push_back({where, hours, cause});
    }

    const ClusterModel& model_;
    Life& life_;
    double now_ = 0, phase_ = 0;
    std::vector<Due> due_;
};

class Living {
public:
    Living(const ClusterModel& model, std::uint64_t seed)
        : model_(model),
          gaps_(model, seed),
          fleet_(model, seed),
          which_(seed, "cause"),
          drain_(seed, "drain"),
          preempt_(seed, "preemption"),
          job_(model, life_) {
        for (const Cause& cause : model.causes) weights_ += cause.weight;
    }

    Life all() {
        const double end = model_.days * hours_a_day;
        double failure = first(), drain = next_drain(0), preemption = next_preemption(0);
        for (double now = 0;;) {
            const double then = std::min({failure, drain, preemption});
            if (then >= end) break;
            now = then;
            job_.pass(now);
            if (now == failure) {
                fail(now);
                failure = after(now);
            } else if (now == drain) {
                take_out(now);
                drain = next_drain(now);
            } else {
                ++life_.preemptions;
                job_.preempt(model_.preempted_for);
                preemption = next_preemption(now);
            }
        }
        job_.pass(end);
        job_.end();
        return std::move(life_);
    }

private:
    // The next failure. The nodes set the speed of the process's clock, updated once a day.
    double after(double now) {
        if (model_.rate <= 0) return nowhen;
        double left = gaps_.next() * model_.between();
        for (;;) {
            const double hazard = fleet_.hazard(now);
            if (left <= hazard * hours_a_day) return now + left / hazard;
            left -= hazard * hours_a_day;
            now += hours_a_day;
            if (now > 2 * model_.days * hours_a_day) return nowhen;
        }
    }

    // The process has been running for long before, so a life may begin anywhere in a burst or a calm.
    double first() {
        if (model_.rate <= 0) return nowhen;
        double at = -20 * model_.between();
        while (at < 0) at += gaps_.next() * model_.between();
        return at;
    }

    double next_drain(double now) {
        if (model_.false_drains <= 0) return nowhen;
        return now + drain_.wait(hours_a_day / (model_.false_drains * model_.nodes()));
    }
    double next_preemption(double now) {
        return model_.preemptions <= 0 ? nowhen : now + preempt_.wait(hours_a_day / model_.preemptions);
    }

    const Cause& cause() {
        double at = which_.next() * weights_;
        for (const Cause& one : model_.causes) {
            if (at < one.weight) return one;
            at -= one.weight;
        }
        return model_.causes.back();
    }

    void fail(double now) {
        ++life_.failures;
        const Cause& why = cause();
        const double noticing = model_.noticed_after(why.noticed);
        double ready = now;
        int node = -1;
        if (why.takes_node) {
            const int place = fleet_.strike(now);
            node = fleet_.id_at(place);
            int count = 1;
            double chance = which_.next();
            for (const Together& one : model_.together) {
                if (chance < one.share) {
                    count = one.nodes;
                    break;
                }
                chance -= one.share;
            }
            ready = fleet_.replace(place, count, now, model_.repair, true);
        }
        life_.failed_at.push_back(now);
        life_.failed_node.push_back(node);
        job_.fail(why.name, noticing, ready);
    }

    void take_out(double now) {
        ++life_.false_drains;
        job_.fail("false drain", 0, fleet_.replace(fleet_.any(), 1, now, model_.false_drain_check, false));
    }

    const ClusterModel& model_;
    Life life_;
    Gaps gaps_;
    Fleet fleet_;
    Stream which_, drain_, preempt_;
    JobClock job_;
    double weights_ = 0;
};

}  // namespace

Life live(const ClusterModel& model, std::uint64_t seed) { return Living(model, seed).all(); }

}  // namespace deadrank::runners

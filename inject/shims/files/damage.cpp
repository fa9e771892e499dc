// inject/shims/files/damage.cpp — The rules. A slow storage takes as long as an ordinary disk would, times
// the factor: the page cache of this machine would hide the real one.
#include "inject/shims/files/damage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "inject/core/trigger.h"
#include "inject/shims/core/session.h"
#include "inject/shims/files/file_keeper.h"

namespace deadrank::inject::shims {

namespace {

using Kind = Rule::Kind;

struct Word {
    std::string_view word;
    Kind kind;
};
constexpr std::array words = {
    Word{"short", Kind::shortened},     Word{"full", Kind::full},    Word{"io_error", Kind::broken},
    Word{"read_only", Kind::read_only}, Word{"slow", Kind::slow},    Word{"tear", Kind::torn},
    Word{"lose", Kind::lost},           Word{"flip", Kind::flipped}, Word{"flip_read", Kind::flipped_read}};

// An ordinary disk: 100 µs a call and 500 MB/s.
constexpr std::int64_t call_time = 100'000, time_per_byte = 2;

bool concerns(Kind kind, std::string_view call) {
    switch (kind) {
        case Kind::slow:
            return true;
        case Kind::broken:
            return call != "open";
        case Kind::read_only:
            return call == "open" || call == "write" || call == "rename";
        case Kind::flipped_read:
            return call == "read";
        default:
            return call == "write";
    }
}

bool known(std::string_view what, Kind& kind) {
    const auto* found =
        std::find_if(words.begin(), words.end(), [&](const Word& w) { return w.word == what; });
    if (found == words.end()) return false;
    kind = found->kind;
    return true;
}

Rule rule_of(Kind kind, std::string_view what, std::string_view path, std::int64_t amount) {
    Rule rule{.kind = kind, .what = std::string(what), .path = std::string(path), .amount = amount};
    rule.left = kind == Kind::flipped || kind == Kind::flipped_read ? amount / 8
                : kind == Kind::lost                                ? 0
                                                                    : amount;
    return rule;
}

}  // namespace

std::atomic<bool>& Damage::armed() {
    static std::atomic<bool> flag{[] {
        const char* told = std::getenv("DEADRANK_FILES");
        return Session::wanted() && !(told && std::string_view(told) == "told");
    }()};
    return flag;
}

Damage& Damage::here() {
    static Damage* const one = [] {
        const Inside guard;
        return new Damage;
    }();
    return *one;
}

Damage::Damage() {
    started_ = now();
    if (const char* started = std::getenv("DEADRANK_STARTED")) started_ = std::strtoll(started, nullptr, 10);
    if (const char* evidence = std::getenv("DEADRANK_EVIDENCE")) evidence_ = evidence;
    if (!armed().load()) return;  // the rank's own hook sets the rules
    const Rank rank = session_.rank(0).rank;
    for (const Entry& entry : session_.plan().faults) {
        if (!entry.ranks.contains(rank)) continue;
        for (const Pull& pull : entry.pulls) {
            Kind kind{};
            if (pull.lever != ShimLever::change_storage) continue;
            if (!known(pull.what, kind)) {
                session_.rank(0).faults.refuse(entry.fault,
                                               "storage cannot be made '" + pull.what + "' here");
                continue;
            }
            Rule rule = rule_of(kind, pull.what, pull.path, pull.amount);
            rule.when = entry.when;
            rule.fault = entry.fault;
            rules_.push_back(std::move(rule));
        }
    }
    armed().store(!rules_.empty());
}

int Damage::set(std::string_view what, std::string_view path, std::int64_t amount, bool end,
                std::int64_t fault) {
    Kind kind{};
    if (!known(what, kind)) return 1;
    const std::lock_guard lock(guard_);
    if (end) {
        std::erase_if(rules_, [&](const Rule& rule) { return rule.what == what && rule.path == path; });
    } else {
        rules_.push_back(rule_of(kind, what, path, amount));
        rules_.back().fault = fault;
    }
    armed().store(!rules_.empty());
    return 0;
}

bool Damage::ours(const std::string& path) const {
    if (evidence_.empty()) return false;
    const std::string above = std::filesystem::path(evidence_).parent_path().string();
    return path.starts_with(evidence_) || path.starts_with(above + "/truth/") ||
           path.starts_with(above + "/logs/");
}

bool Damage::means(const Rule& rule, const std::string& path) const {
    if (rule.path.empty() && Keeper::on()) return Keeper::here().knows(path);
    return path.find(rule.path) != std::string::npos;
}

// Has its moment come, and is it not over?
bool Damage::due(Rule& rule, std::string_view call) {
    if (rule.over) return false;
    const scenarios::Trigger& when = rule.when;
    if (!when.phase.empty() || when.step >= 0 || !when.comm.empty()) return false;
    if (when.at >= 0 && now() - started_ < when.at) return false;
    if (!when.before.empty() && rule.since == 0) {
        if (when.before != call) return false;
        if (++rule.seen < when.nth) return false;
    }
    if (rule.since == 0) rule.since = now();
    return when.lasts < 0 || now() - rule.since <= when.lasts;
}

// The truth is written once, before the damage.
void Damage::record_damage(Rule& rule, std::string_view call) {
    if (rule.fault < 0 || !recorded_.insert(rule.fault).second) return;
    RankSession& rank = session_.rank(0);
    Line mark("fault.applied", rank.rank);
    mark.add("fault", rule.fault).add("step", -1).add("call", call).add("says", rule.what);
    rank.truth.write(mark);
}

// Less space, and still enough: told apart from a storage that was never written to.
void Damage::fit(Rule& rule, std::int64_t size, std::string_view call) {
    rule.left -= size;
    if (rule.fault < 0 || std::exchange(rule.fitted, true)) return;
    RankSession& rank = session_.rank(0);
    Line line("fault.fitted", rank.rank);
    line.add("fault", rule.fault).add("step", -1).add("call", call).add("says", rule.what);
    rank.truth.write(line);
}

void Damage::act(Rule& rule, std::string_view call, Effect& effect, std::size_t bytes) {
    const auto size = static_cast<std::int64_t>(bytes);
    switch (rule.kind) {
        case Kind::slow: {
            const auto usual = call_time + time_per_byte * size;
            effect.wait += usual * std::max<std::int64_t>(0, rule.amount - 1000) / 1000;
            break;
        }
        case Kind::broken:
            effect.error = EIO;
            break;
        case Kind::read_only:
            effect.error = EROFS;
            break;
        case Kind::shortened:
            effect.allowed = rule.amount > 0
                                 ? std::min<std::size_t>(bytes, static_cast<std::size_t>(rule.amount))
                                 : std::max<std::size_t>(1, bytes / 2);
            if (effect.allowed == bytes) return;  // nothing to cut off: the next one
            rule.over = true;
            break;
        case Kind::full:
            if (size <= rule.left) {
                fit(rule, size, call);
                return;
            }
            effect.allowed = static_cast<std::size_t>(rule.left);
            if (rule.left == 0) effect.error = ENOSPC;
            rule.left = 0;
            break;
        case Kind::torn:
        case Kind::lost:
            if (size <= rule.left) {
                rule.left -= size;
                return;
            }
            effect.allowed = static_cast<std::size_t>(rule.left);
            effect.pretends = true;
            rule.left = 0;
            break;
        case Kind::flipped:
        case Kind::flipped_read:
            if (size <= rule.left) {
                rule.left -= size;
                return;
            }
            effect.flip = rule.left * 8 + rule.amount % 8;
            rule.over = true;
            break;
    }
    record_damage(rule, call);
}

Effect Damage::on(std::string_view call, const std::string& path, std::size_t bytes, bool writes) {
    Effect effect{.allowed = bytes};
    if (path.empty() || ours(path)) return effect;
    const std::lock_guard lock(guard_);
    for (Rule& rule : rules_) {
        if (!means(rule, path) || !concerns(rule.kind, call)) continue;
        if (call == "open" && rule.kind == Kind::read_only && !writes) continue;
        if (!due(rule, call)) continue;
        // A rule for a single file applies to the first that fits.
        if (rule.kind == Kind::torn || rule.kind == Kind::lost) {
            if (rule.file.empty()) rule.file = path;
            if (rule.file != path) continue;
        }
        act(rule, call, effect, bytes);
    }
    return effect;
}

Damage::AtRest Damage::renamed(const std::string& path, std::int64_t bytes) {
    AtRest rest;
    if (path.empty() || ours(path)) return rest;
    const std::lock_guard lock(guard_);
    for (Rule& rule : rules_) {
        if (!means(rule, path) || !rule.file.empty()) continue;
        const bool untouched =
            (rule.kind == Kind::flipped && bytes == 0) || (rule.kind == Kind::torn && bytes <= rule.amount);
        if (untouched) continue;  // the next one
        const bool damages = rule.kind == Kind::torn || rule.kind == Kind::lost ||
                             rule.kind == Kind::flipped || rule.kind == Kind::full;
        if (!damages || !due(rule, "rename")) continue;
        if (rule.kind == Kind::full && rule.left > 0) continue;
        record_damage(rule, "rename");
        if (rule.kind == Kind::full) {
            rest.error = ENOSPC;
            continue;
        }
        rule.over = true;
        if (rule.kind == Kind::flipped) rest.flip = rule.amount;
        if (rule.kind == Kind::torn) rest.keeps = rule.amount;
        rest.lost |= rule.kind == Kind::lost;
    }
    return rest;
}

}  // namespace deadrank::inject::shims

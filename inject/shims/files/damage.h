// inject/shims/files/damage.h — What is wrong with the storage below one process: rules that each call is
// checked against, set by a plan or by the rank's own hook.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

// What one call meets. By default it goes through unchanged.
struct Effect {
    int error = 0;            // errno instead of an answer
    std::size_t allowed = 0;  // bytes that go through
    bool pretends = false;    // and says that all did
    std::int64_t flip = -1;   // bit of this call's bytes
    std::int64_t wait = 0;    // nanoseconds
};

struct Rule {
    enum class Kind { shortened, full, broken, read_only, slow, torn, lost, flipped, flipped_read };

    Kind kind = Kind::broken;
    std::string what, path;  // without a path, in a job that is kept: every file that it writes itself
    std::int64_t amount = 0;
    scenarios::Trigger when;  // by default at once
    std::int64_t fault = -1;  // of a plan; -1 = the truth is written elsewhere
    std::int64_t left = 0;    // bytes until it acts
    std::int64_t seen = 0, since = 0;
    bool over = false, fitted = false;  // fitted: some bytes went to a limited storage, and fitted
    std::string file;                   // the one file that it has chosen
};

class Damage {
public:
    static Damage& here();

    // Costs a single load where there is nothing to do.
    static bool any() { return armed().load(std::memory_order_relaxed); }

    // 0, or why it cannot be set: 1 = `what` is unknown.
    int set(std::string_view what, std::string_view path, std::int64_t amount, bool end,
            std::int64_t fault = -1);

    // `call`: open, read, write, sync or rename. `writes`: to be opened for writing.
    Effect on(std::string_view call, const std::string& path, std::size_t bytes, bool writes = true);

    // How a file is damaged before it is renamed to its final name: bytes it keeps, or a bit.
    struct AtRest {
        int error = 0;
        std::int64_t keeps = -1, flip = -1;
        bool lost = false;
    };
    AtRest renamed(const std::string& path, std::int64_t bytes);

private:
    Damage();
    static std::atomic<bool>& armed();
    bool due(Rule& rule, std::string_view call);
    void act(Rule& rule, std::string_view call, Effect& effect, std::size_t bytes);
    void record_damage(Rule& rule, std::string_view call);
    void fit(Rule& rule, std::int64_t size, std::string_view call);
    bool ours(const std::string& path) const;  // what we write is not damaged
    bool means(const Rule& rule, const std::string& path) const;

    Session session_;
    std::int64_t started_ = 0;
    std::string evidence_;
    std::mutex guard_;
    std::vector<Rule> rules_;
    std::set<std::int64_t> recorded_;  // faults
};

}  // namespace deadrank::inject::shims

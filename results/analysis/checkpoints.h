// results/analysis/checkpoints.h — What was written, by which rank, and whether all shards of a step exist.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

struct SavedStep {
    std::int64_t step = 0;
    int attempt = 0;
    Time first{0};
    Time last{0};
    std::int32_t shards = 0;                                  // as the writers say
    std::set<std::int32_t> written = {};                      // without error
    std::map<std::string_view, std::set<Rank>> writers = {};  // by path

    bool whole() const { return shards > 0 && static_cast<std::int32_t>(written.size()) >= shards; }
    std::vector<std::int32_t> missing() const;
};

class Checkpoints {
public:
    explicit Checkpoints(const Evidence& evidence);

    const std::vector<SavedStep>& steps() const { return steps_; }  // in order of first write
    const SavedStep* find(std::int64_t step, Time before) const;    // the latest save of that step
    // The last good save to this path before that time.
    const Event* saved(std::string_view path, Time before) const;
    // Was this digest ever written, to any path, before that time?
    bool ever_written(std::uint64_t digest, Time before) const;

private:
    std::vector<SavedStep> steps_;
    std::map<std::string_view, std::vector<const Event*>> by_path_;
    std::map<std::uint64_t, Time> digests_;
};

}  // namespace deadrank::results::analysis

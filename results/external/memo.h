// results/external/memo.h — Remembers a tool's answers by their input: healthy nodes print the same kernel
// log, and starting a program costs seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "results/processes/bounded.h"
#include "scenarios/model/error.h"

namespace deadrank::results::external {

class Memo {
public:
    using Answer = scenarios::Result<processes::BoundedAnswer>;

    // The earlier answer to the same files; else that of `tool`, kept if it ended by itself. Threads may
    // query at the same time: at worst the tool runs twice.
    Answer query(const std::vector<emitters::EmittedFile>& files, const std::function<Answer()>& tool);

private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    struct Inside {
        std::mutex mutex;
        std::map<Key, processes::BoundedAnswer> answers;
    };
    static Key key_of(const std::vector<emitters::EmittedFile>& files);
    std::shared_ptr<Inside> inside_ = std::make_shared<Inside>();  // copies of a tool share it
};

}  // namespace deadrank::results::external

// results/external/memo.h — What a tool has answered, by what it was asked. Healthy nodes print the same
// kernel log, and a program that is started costs seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "results/external/bounded.h"

namespace deadrank::results::external {

class Memo {
public:
    using Answer = scenarios::Result<BoundedAnswer>;

    // The answer given to these files before; else that of `tool`, kept if it ended by itself. Threads may
    // ask at once: at worst the tool is asked twice.
    Answer ask(const std::vector<emitters::EmittedFile>& files, const std::function<Answer()>& tool);

private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    struct Inside {
        std::mutex mutex;
        std::map<Key, BoundedAnswer> answers;
    };
    static Key key_of(const std::vector<emitters::EmittedFile>& files);
    std::shared_ptr<Inside> inside_ = std::make_shared<Inside>();  // copies of a tool share it
};

}  // namespace deadrank::results::external

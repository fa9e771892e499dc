// results/external/bounded.h — Runs another project's program within bounds of time and output, without our
// descriptors, and remembers its answers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "scenarios/model/error.h"

namespace deadrank::results::external {

struct Bounds {
    std::chrono::milliseconds time{60'000};
    std::size_t output = 64u << 20;           // bytes of stdout and stderr together
    const std::atomic<bool>* stop = nullptr;  // may be null
};

enum class Ending { by_itself, signal, out_of_time, too_much_output, stopped };

struct BoundedAnswer {
    Ending ending = Ending::by_itself;
    int code = 0;    // exit status, when it ended by itself
    int signal = 0;  // the signal that ended it, when it was not ours
    std::string out, err;
    double seconds = 0;  // wall time

    bool well() const { return ending == Ending::by_itself && code == 0; }
    std::string how() const;  // "ended with code 3", "was still running after 60 s and was ended"
    // The last lines of its standard error, joined into one line for an error message.
    std::string last_words() const;
};

// `input`: a file for its standard input; empty = nothing to read. `environment`: further NAME=value.
// Errors: environment, when it cannot be started; io.
scenarios::Result<BoundedAnswer> run_bounded(const std::vector<std::string>& argv, const Bounds& bounds,
                                             const std::string& input = {},
                                             const std::vector<std::string>& environment = {});

// The line without the blanks around it.
std::string_view trimmed(std::string_view line);

// A tool's answers by their input: healthy nodes print the same kernel log, and starting a program costs
// seconds.
class Memo {
public:
    using Answer = scenarios::Result<BoundedAnswer>;

    // The earlier answer to the same files; else that of `tool`, kept if it ended by itself. Threads may ask
    // at the same time: at worst the tool runs twice.
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

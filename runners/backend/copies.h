// runners/backend/copies.h — Copies of this process that work at the same time, each of which sends back one
// text before it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace deadrank::runners {

class Copies {
public:
    // `answered` is called in this process, from fork() and wait(), with an empty text for a copy that ended
    // without one. `stop` may be null; copies are ended once it is true.
    Copies(int at_once, const std::atomic<bool>* stop,
           std::function<void(std::size_t index, const std::string& text)> answered)
        : at_once_(at_once), stop_(stop), answered_(std::move(answered)) {}
    ~Copies();
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;

    // Waits while `at_once` copies work. 0 in the copy, which has the calling thread alone; -1: it cannot be
    // done, or `stop` is true.
    pid_t fork(std::size_t index);
    // Until all copies have answered.
    void wait();
    // In a copy.
    [[noreturn]] void answer(std::string_view text) const;

private:
    struct Copy {
        std::size_t index = 0;
        int from = -1;  // what it sends
        std::string text;
    };
    bool stopped() const { return stop_ && stop_->load(); }
    void read_some();

    const int at_once_;
    const std::atomic<bool>* stop_;
    std::function<void(std::size_t, const std::string&)> answered_;
    std::map<pid_t, Copy> copies_;
    int to_ = -1;  // in a copy
};

}  // namespace deadrank::runners

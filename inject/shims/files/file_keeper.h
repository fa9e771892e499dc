// inject/shims/files/file_keeper.h — Before a job changes a file for the first time, a copy of it goes into
// the directory that $DEADRANK_KEPT names, so that the file comes back whatever the job renames it to.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "inject/core/kept.h"

namespace deadrank::inject::shims {

class Keeper {
public:
    // Costs a single load where it is off.
    static bool on();
    // Reads the environment again: in a process that was forked before its job was known.
    static void begin();
    static Keeper& here();

    // Each returns once the list says what was there, before the call that changes it. False: no copy could
    // be made, and the list says why.
    bool keep(const std::string& path);
    void keep_moved(const std::string& from, const std::string& to);  // with all below a directory

    // Did this process change it?
    bool knows(const std::string& path);

    // "This job still writes": a file changed long after that was changed by another program.
    void beat();

private:
    Keeper();
    bool passes(const std::string& path) const;  // the run's own, caches, and what is no file
    bool put(int list, const Kept& kept);
    void read_list(int list);
    bool put_first(const std::string& path);
    bool copy(Kept& kept);  // false: nothing has to be kept
    void remember(const Kept& kept);

    std::string directory_, run_, temporary_, cache_;
    std::int64_t* alive_ = nullptr;
    std::mutex guard_;
    std::unordered_map<std::string, bool>
        known_;  // on the list, as far as this process has read; with a copy
    std::map<std::pair<std::uint64_t, std::uint64_t>, Kept> copied_;  // by device and inode
    std::unordered_set<std::string> own_;
    std::int64_t read_ = 0, copies_ = 0;
    std::string begun_;
};

// Absolute and through no link, but for the last part where `follow` is false. Empty where there is no such
// directory: the call will say so.
std::string place_of(int directory, const char* path, bool follow);

}  // namespace deadrank::inject::shims

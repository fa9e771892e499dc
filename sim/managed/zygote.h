// sim/managed/zygote.h — A warm Python with torch in it, of which each rank is a fork. One serves all
// simulations of this process.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "results/processes/child.h"
#include "sim/managed/descriptor.h"

namespace deadrank::sim::managed {

struct ZygoteSettings {
    std::filesystem::path python;           // an interpreter that has torch
    std::filesystem::path package;          // the directory that holds the Python package `deadrank`
    std::filesystem::path hook = {};        // the directory of the observers; empty: none
    std::filesystem::path program = {};     // a script whose packages are imported once; empty: none
    std::vector<std::string> preload = {};  // modules to import once, before ranks are forked
    std::map<std::string, std::string> environment = {};  // beside that of this process
    std::map<std::string, std::string> patched = {};      // texts in place of those of installed files
    std::shared_ptr<void> holds = {};                     // lives as long as the zygote
};

// What a rank's process is made of.
struct RankSpec {
    std::vector<std::string> argv;  // behind the interpreter
    std::string cwd;
    std::map<std::string, std::string> environment;  // all of it
    int process = 0;
    std::uint64_t seed = 0;
    std::map<std::string, std::string> options = {};   // each as JSON
    int channel = -1, out = -1, err = -1, arena = -1;  // descriptors that the process inherits
};

class Zygote {
public:
    // Starts the interpreter and waits until it has imported everything. Throws HostTrouble.
    explicit Zygote(const ZygoteSettings& settings);
    ~Zygote();
    Zygote(const Zygote&) = delete;
    Zygote& operator=(const Zygote&) = delete;

    // So many ranks are about to be spawned: some are forked while others run. Thread-safe.
    void expect(int ranks);
    // The pid of a new process, which waits for its first reply. Thread-safe. Throws HostTrouble.
    pid_t spawn(const RankSpec& spec);
    // Waits until a spawned process has ended; its status as waitpid() gives it. Thread-safe. Throws
    // HostTrouble.
    int wait_for(pid_t child);

    // Lets a fork of the interpreter read the files that a run has left, as left.py has it: `request` is the path of
    // the request. `within`: a process whose files it sees; 0: those of everybody. Returns when it is done.
    // Thread-safe. Throws HostTrouble.
    void examine(const std::filesystem::path& request, pid_t within);

    // Another connection to the same interpreter, for a copy of this process. Until adopt() is called with the
    // ranks that were copied for it, the interpreter ends no process that it does not know. Throws HostTrouble.
    Descriptor connect();
    static void adopt(const Descriptor& connection, const std::vector<pid_t>& copies);
    // In the copy: talks over that connection from now on.
    void use(Descriptor connection) { control_ = std::move(connection); }

    const std::string& description() const { return description_; }  // "Python 3.11.2, torch 2.11.0"

private:
    void stop();
    std::string receive();
    static std::string receive_over(int control);
    void read_one();
    pid_t await_child(std::uint64_t id, std::string_view what, std::string help);

    const std::shared_ptr<void> holds_;
    std::mutex mutex_;
    Descriptor control_;
    std::optional<results::processes::Child> interpreter_;
    std::uint64_t spawned_ = 0;
    std::map<std::uint64_t, std::pair<pid_t, std::string>> answers_;  // by spawn: a pid, or why not
    std::map<pid_t, int> ended_;
    std::string description_;
};

}  // namespace deadrank::sim::managed

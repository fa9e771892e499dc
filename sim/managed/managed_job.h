// sim/managed/managed_job.h — An unmodified Python program as the workload of a simulated job: one real
// process for each rank, whose calls its proxy plays in the simulated world.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "sim/managed/trouble.h"
#include "sim/managed/zygote.h"
#include "sim/world/world.h"

namespace deadrank::sim::managed {

class Proxy;

struct Program {
    std::vector<std::string>
        argv;  // behind the interpreter: "train.py", "--lr", "1"; or "-m", "module"; or "-c", …
    // The files that ranks read in place of argv's script, by place in the launch: patched ones.
    std::map<Rank, std::string> sources = {};
    std::string cwd;
    std::map<std::string, std::string> environment;   // below the launcher's
    std::map<std::string, std::string> options = {};  // for the Python side, each as JSON: "hook", "gpus", …
    std::uint64_t seed = 0;
    std::int64_t restarts_max = 0;  // of the launcher, as torchrun tells its ranks
    std::string temporary = {};  // the ranks' TMPDIR; evidence shows `temporary_shown` in its place
    std::string temporary_shown = {};
    // Called with each line that a rank prints, as it prints it; empty: lines are evidence only.
    std::function<void(Rank process, bool error, std::string_view line)> print = {};
    std::chrono::milliseconds real_limit{120'000};  // between two calls of a rank
    // Processes that compute at the same time. What they do to each other has one order all the same. More than one
    // only where files are used in turn (files.py).
    int at_once = 1;
};

// What the simulated disk holds of a file in place of what the program wrote to it last.
struct Spoilt {
    bool there = true;
    std::int64_t version = 0;      // of all that the program wrote, from 1
    std::size_t kept = 0, of = 0;  // numbers of the simulated file
    std::vector<std::pair<std::size_t, std::uint64_t>> flips;
};

// Gives the payload of a line of evidence that an observer in a rank's process wrote. False: no such kind.
using ReadRecord = std::function<bool(World& world, std::string_view line)>;

// One run. Its ranks share it; it outlives them.
class ManagedJob {
public:
    // `interrupted` may be null; it outlives the job.
    ManagedJob(std::shared_ptr<Zygote> zygote, Program program, ReadRecord read_record,
               const std::atomic<bool>* interrupted)
        : zygote_(std::move(zygote)),
          program_(std::move(program)),
          read_record_(std::move(read_record)),
          interrupted_(interrupted) {}

    ~ManagedJob() { finish(); }
    ManagedJob(const ManagedJob&) = delete;
    ManagedJob& operator=(const ManagedJob&) = delete;

    // After the run: waits until no process of it is left.
    void finish();
    // What each rank runs, on its fiber.
    void play(World& world);

    // Trouble of this machine: then the run proves nothing, and the engine is to end it.
    const std::optional<HostTrouble>& trouble() const { return trouble_; }
    bool stopped() const { return trouble_ || (interrupted_ && interrupted_->load()); }

    // Each rank that waits logs where in the program it does. For a run that has come to a standstill.
    void show_stacks();

    // Copies the job as it stands: `fork` is called once every rank has a copy of its process, and forks this
    // process. In the copy, where it returns 0, the job is made of these copies, and `enter` is called before
    // they do anything: ranks then see the files of the copy. Returns the pid, or why the job cannot be copied.
    // Call this from a rank's fiber. Throws HostTrouble.
    tl::expected<pid_t, std::string> copy(const std::function<pid_t()>& fork,
                                          const std::function<void()>& enter);

    // Opens a debugger in this rank, which waits for the simulator, over standard input and output. `back` is
    // called when it is to begin anew; without one `obstacle` says why it cannot. From now on ranks may take as
    // long as they like.
    void open_debugger(Rank process, std::string_view obstacle, std::function<void()> back);
    void go_back() {
        if (back_) back_();
    }

    const Program& program() const { return program_; }

    // Before the job is played: this rank reads its script from another file, under the same name.
    void replace_source(Rank process, std::string file) { program_.sources[process] = std::move(file); }
    Zygote& zygote() { return *zygote_; }
    bool read_record(World& world, std::string_view line) { return read_record_(world, shown(line)); }
    // The directory of temporary files has another name in each run, which no evidence may show.
    std::string shown(std::string_view text) const;

    // Files that the job has written, with the latest version of each. All others were there before it, and the
    // simulated storage does not know them.
    std::map<std::string, std::int64_t, std::less<>> files;
    std::vector<std::size_t> sizes;  // of each version, from 1, in numbers of the simulated file

    // A rank was answered; its process goes on when there is room, at the latest when its turn comes.
    void let_run(Proxy& proxy);
    void note_running(Proxy& proxy);  // it was let go on
    void note_waiting(Proxy& proxy);  // it waits or has ended: another one may go on

    // `content`: the simulated file's; null: it is not there. Nothing: readers find what the program wrote last.
    std::optional<Spoilt> find_spoilt(const std::vector<Number>* content, std::int64_t latest) const;

    // The step that follows what a checkpoint holds: by its path, and by the digest of its bytes.
    std::map<std::string, std::int64_t> steps_after;

    std::vector<pid_t> ending;       // processes that have said how they end, and may still be at it
    std::set<int> signals_sent;      // by the simulation, and by the program itself
    std::map<Rank, Proxy*> proxies;  // of the ranks that run

private:
    void fill_room();

    std::shared_ptr<Zygote> zygote_;
    Program program_;
    ReadRecord read_record_;
    std::optional<HostTrouble> trouble_;
    const std::atomic<bool>* interrupted_;
    bool expects_ = false;
    std::deque<Proxy*> answered_;  // whose processes do not know it yet
    std::set<const Proxy*> running_;
    std::function<void()> back_;
};

}  // namespace deadrank::sim::managed

// runners/backends/process/launch.cpp — One event loop for pipes, exits and clocks; a look at the followed
// files many times a second.
#include "runners/backends/process/launch.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>

#include "results/processes/child.h"
#include "runners/backends/process/event_reader.h"
#include "runners/backends/process/job_processes.h"
#include "runners/backends/process/journal.h"

namespace deadrank::runners {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using asio::posix::stream_descriptor;
using results::processes::Child;

namespace {

constexpr auto look_every = std::chrono::milliseconds(25);
constexpr Nanoseconds weigh_every = 500'000'000;
constexpr std::size_t lines_most = 200'000, line_length_most = 8192, line_begun_most = 1 << 20;

class Launch {
public:
    explicit Launch(const LaunchSpec& spec) : spec_(spec), timer_(context_) {}

    scenarios::Result<Launched> run() {
        auto journal = Journal::open();
        if (!journal) return tl::unexpected(journal.error());
        auto entry = journal->note({UndoAction::Undo::end_marked, mark()});
        if (!entry) return tl::unexpected(entry.error());
        adopt_orphans();
        done_.started = last_sign_ = looked_ = weighed_ = now();
        for (const ChildSpec& child : spec_.children) {
            auto started = Child::start({.argv = child.command, .environment = child.environment});
            if (!started) {
                end_all_marked(mark());
                reap();
                end_orphans();
                return tl::unexpected(started.error());
            }
            if (spec_.largest_file > 0) {
                const auto bytes = static_cast<rlim_t>(spec_.largest_file);
                const rlimit most{bytes, bytes};
                prlimit(started->pid(), RLIMIT_FSIZE, &most, nullptr);
            }
            if (child.rank >= 0) done_.ranks[started->pid()] = child.rank;
            read(child.rank, false, started->output.release());
            read(child.rank, true, started->errors.release());
            watch(started->pid());
            children_.push_back(std::move(*started));
        }
        look_again();
        context_.run();
        finish();
        return std::move(done_);
    }

private:
    struct Stream {
        Stream(asio::io_context& context, int descriptor) : pipe(context, descriptor) {}
        stream_descriptor pipe;
        std::array<char, 8192> buffer{};
        std::string begun;
    };

    std::string mark() const { return "DEADRANK_EVIDENCE=" + (spec_.directory / "evidence").string(); }

    void keep(results::Rank rank, bool error, std::string_view text) { keep(rank, error, text, now()); }
    void keep(results::Rank rank, bool error, std::string_view text, Nanoseconds at) {
        last_sign_ = now();
        seen_ = true;
        if (done_.lines.size() >= lines_most) {
            ++done_.lines_dropped;
            return;
        }
        done_.lines.push_back({at, rank, error, std::string(text.substr(0, line_length_most))});
    }

    void read(results::Rank rank, bool error, int descriptor) {
        streams_.push_back(std::make_unique<Stream>(context_, descriptor));
        read_on(*streams_.back(), rank, error);
    }

    void read_on(Stream& stream, results::Rank rank, bool error) {
        stream.pipe.async_read_some(
            asio::buffer(stream.buffer), [this, &stream, rank, error](auto failed, std::size_t count) {
                stream.begun.append(stream.buffer.data(), count);
                std::size_t begin = 0;
                for (std::size_t end; (end = stream.begun.find('\n', begin)) != std::string::npos;
                     begin = end + 1) {
                    keep(rank, error, std::string_view(stream.begun).substr(begin, end - begin));
                }
                stream.begun.erase(0, begin);
                if (stream.begun.size() > line_begun_most) {
                    keep(rank, error, stream.begun);
                    stream.begun.clear();
                }
                if (!failed) return read_on(stream, rank, error);
                if (!stream.begun.empty()) keep(rank, error, stream.begun);
                if (++closed_ == streams_.size() && stopping_) context_.stop();
            });
    }

    // A pidfd becomes readable when its process exits, whoever the parent is.
    void watch(int pid) {
        const int descriptor = results::processes::open_pidfd(pid);
        if (descriptor < 0) {
            done_.gone[pid].at = now();
            return;
        }
        watched_.push_back(std::make_unique<stream_descriptor>(context_, descriptor));
        watched_.back()->async_wait(stream_descriptor::wait_read, [this, pid](auto failed) {
            if (!failed) see_gone(pid);
        });
    }

    void see_gone(int pid) {
        Gone& gone = done_.gone[pid];
        gone.at = last_sign_ = now();
        const auto child = std::find_if(children_.begin(), children_.end(),
                                        [pid](const Child& one) { return one.pid() == pid; });
        if (child == children_.end()) return;
        gone.code = child->wait().code;
        gone.signal = child->wait().signal;
        ++reaped_;
    }

    void look_again() {
        const Nanoseconds time = now();
        const Nanoseconds late = time - looked_ - look_every / std::chrono::nanoseconds(1);
        done_.late = std::max(done_.late, late);
        if (late > 0) last_sign_ += late;  // time in which we did not look is not silence
        look();
        look_for_waiting(time);
        looked_ = now();
        if (reaped_ == children_.size()) return stop(LaunchEnd::ended);
        if (spec_.stop && spec_.stop->load()) return stop(LaunchEnd::stopped);
        if (time - done_.started > spec_.limit.count()) return stop(LaunchEnd::over_limit);
        if (over_disk(time)) return stop(LaunchEnd::over_disk);
        const Nanoseconds silence = time - last_sign_;
        if (!seen_ && spec_.start.count() > 0 && silence > spec_.start.count())
            return stop(LaunchEnd::silent);
        if ((seen_ || spec_.start.count() == 0) && silence > spec_.quiet.count())
            return stop(LaunchEnd::stuck);
        timer_.expires_after(look_every);
        timer_.async_wait([this](auto failed) {
            if (!failed) look_again();
        });
    }

    void look_for_waiting(Nanoseconds time) {
        if (time - starved_ < weigh_every) return;
        starved_ = time;
        std::set<int> alive;
        for (const Child& child : children_) alive.insert(child.pid());
        for (const auto& [pid, rank] : done_.ranks) alive.insert(pid);
        std::erase_if(alive, [&](int pid) { return done_.gone.contains(pid); });
        starvation_.look(alive, results::Time(time - done_.started));
    }

    bool over_disk(Nanoseconds time) {
        if (spec_.disk <= 0 || time - weighed_ < weigh_every) return false;
        weighed_ = time;
        std::uintmax_t sum = 0;
        std::error_code ignored;
        for (const fs::path& directory : {spec_.directory, spec_.temporary}) {
            if (directory.empty()) continue;
            for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
                const std::uintmax_t size = entry.is_regular_file(ignored) ? entry.file_size(ignored) : 0;
                if (size != static_cast<std::uintmax_t>(-1)) sum += size;
            }
        }
        return sum > static_cast<std::uintmax_t>(spec_.disk);
    }

    bool look() {
        bool any = false;
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(spec_.directory / "evidence", ignored)) {
            if (entry.path().extension() != ".jsonl") continue;
            const bool came = follow_.look(entry.path(), [this](std::string_view line) { meet_rank(line); });
            if (came) last_sign_ = now();
            seen_ = seen_ || came;
            any = any || came;
        }
        for (const auto& entry : fs::recursive_directory_iterator(spec_.directory / "logs", ignored)) {
            const std::string name = entry.path().filename().string();
            if (name != "stdout.log" && name != "stderr.log") continue;
            const int rank = std::atoi(entry.path().parent_path().filename().c_str());
            // On a busy machine we look late, so the file's time stamp counts.
            const Nanoseconds written = written_at(entry.path());
            any = follow_.look(entry.path(), [&](std::string_view line) {
                keep(rank, name == "stderr.log", line, std::min(now(), written));
            }) || any;
        }
        return any;
    }

    void meet_rank(std::string_view line) {
        if (line.find("\"kind\": \"rank.start\"") == std::string_view::npos) return;
        const auto number = [&](std::string_view key) {
            const std::size_t at = line.find(key);
            return at == std::string_view::npos ? -1 : std::atoi(line.data() + at + key.size());
        };
        const int pid = number("\"pid\": ");
        if (pid <= 0 || done_.ranks.contains(pid)) return;
        done_.ranks[pid] = number("\"rank\": ");
        watch(pid);
    }

    void stop(LaunchEnd end) {
        done_.end = end;
        done_.ended = now();
        done_.silence = done_.ended - last_sign_;
        done_.waiting = starvation_.waiting();
        for (const auto& [pid, rank] : done_.ranks) {
            const char state = state_of(pid);
            if (!done_.gone.contains(pid) && state != 'X' && state != 'Z') done_.left[pid] = state;
        }
        done_.left_behind = end_all_marked(mark());
        reap();
        done_.left_behind += end_orphans();
        for (auto& watched : watched_) watched->cancel();
        stopping_ = true;
        if (closed_ == streams_.size()) return context_.stop();
        // The pipes close now, since no process holds them; one that escaped must not keep us waiting.
        timer_.expires_after(std::chrono::milliseconds(200));
        timer_.async_wait([this](auto) { context_.stop(); });
    }

    void reap() {
        for (Child& child : children_) {
            if (!done_.gone.contains(child.pid())) child.wait();
        }
    }

    void finish() {
        while (look()) continue;
        follow_.rest([this](const fs::path& file, std::string_view text) {
            if (file.extension() != ".log") return;
            keep(std::atoi(file.parent_path().filename().c_str()), file.filename() == "stderr.log", text);
        });
        // The first child that failed decides how the job ended.
        for (const Child& child : children_) {
            const auto gone = done_.gone.find(child.pid());
            if (gone == done_.gone.end()) continue;
            const bool failed = done_.launcher.code > 0 || done_.launcher.signal > 0;
            if (!failed) done_.launcher = gone->second;
        }
    }

    const LaunchSpec& spec_;
    asio::io_context context_;
    asio::steady_timer timer_;
    Launched done_;
    Nanoseconds last_sign_ = 0, looked_ = 0, weighed_ = 0, starved_ = 0;
    bool seen_ = false;
    std::vector<Child> children_;
    std::size_t reaped_ = 0, closed_ = 0;
    bool stopping_ = false;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<std::unique_ptr<stream_descriptor>> watched_;
    Follow follow_;
    Starvation starvation_;
};

}  // namespace

Nanoseconds now() {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Nanoseconds written_at(const fs::path& file) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return now();
    // Files are stamped by the kernel's coarse clock, which may be a tick behind the hooks' clock.
    timespec tick{};
    clock_getres(CLOCK_REALTIME_COARSE, &tick);
    const Nanoseconds stamped = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    return std::min(now(), stamped + tick.tv_nsec);
}

scenarios::Result<Launched> launch(const LaunchSpec& spec) { return Launch(spec).run(); }

}  // namespace deadrank::runners

// runners/promises/promise_suite.cpp — If a subject lacks its packages, or its healthy run does not finish, a
// note says so and its promises are unknown.
#include "runners/promises/promise_suite.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <thread>

#include "runners/backends/process/scratch.h"
#include "runners/promises/promise_overlay.h"
#include "scenarios/format/reader.h"

namespace deadrank::runners::promises {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::Result;

namespace {

// Keeps two processors busy, as another job on the machine would.
class Load {
public:
    explicit Load(bool on) {
        for (int i = 0; on && i < 2; ++i) {
            threads_.emplace_back([this] {
                volatile unsigned spins = 0;
                while (!done_) spins = spins + 1;
            });
        }
    }
    ~Load() {
        done_ = true;
        for (std::thread& thread : threads_) thread.join();
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

private:
    std::atomic<bool> done_{false};
    std::vector<std::thread> threads_;
};

class Suite {
public:
    Suite(const PromiseBook& book, const SuiteOptions& options,
          const std::function<void(const PromiseCell&)>& done,
          const std::function<void(const std::string&)>& progress)
        : book_(book), options_(options), done_(done), progress_(progress) {
        table_.book = &book;
    }

    Result<PromiseTable> operator()() {
        for (const std::string& name : options_.subjects) {
            if (!named(book_.subjects, name)) return no_such("subject", name, names_of(book_.subjects));
        }
        for (const std::string& name : options_.faults) {
            if (!named(book_.faults, name)) return no_such("fault", name, names_of(book_.faults));
        }
        for (const PromiseSubject& subject : book_.subjects) {
            if (wanted(options_.subjects, subject.name) && !stopped()) play_subject(subject);
        }
        return std::move(table_);
    }

private:
    template <class Rows>
    static bool named(const Rows& rows, const std::string& name) {
        return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
    }
    template <class Rows>
    static std::vector<std::string> names_of(const Rows& rows) {
        std::vector<std::string> names;
        for (const auto& row : rows) names.push_back(row.name);
        return names;
    }
    static bool wanted(const std::vector<std::string>& names, const std::string& name) {
        return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
    }
    static tl::unexpected<scenarios::Error> no_such(const char* kind, const std::string& name,
                                                    const std::vector<std::string>& known) {
        return scenarios::refuse(ErrorCode::usage, fmt::format("there is no {} '{}'", kind, name),
                                 scenarios::suggestion(name, known));
    }
    bool stopped() const { return options_.stop && *options_.stop; }

    void play_subject(const PromiseSubject& subject) {
        if (!subject.unplayed.empty()) {
            table_.notes.push_back(subject.framework + ": " + subject.unplayed);
            return;
        }
        const auto overlay = options_.prepare ? prepare_overlay(subject, options_.stop) : overlay_of(subject);
        if (!overlay) {
            table_.notes.push_back(subject.framework + ": " + overlay.error().text());
            return;
        }
        overlay_ = *overlay;
        control_.reset();
        control_trouble_.clear();
        table_.subjects.push_back(&subject);
        for (const PromisedFault& fault : book_.faults) {
            if (stopped()) return;
            if (!wanted(options_.faults, fault.name)) continue;
            PromiseCell cell = play_cell(subject, fault);
            done_(cell);
            table_.cells.push_back(std::move(cell));
        }
    }

    PromiseCell play_cell(const PromiseSubject& subject, const PromisedFault& fault) {
        PromiseCell cell{subject.name, fault.name, promise_under(subject, fault.name), {}, ""};
        cell.again = fmt::format("deadrank report promises --subject {}{} --fault {}", subject.name,
                                 subject.again, fault.name);
        static const Promise look_only{{}, "nothing", "", {Ask::finishes, Ask::same_parameters}, 0, 0};
        if (!cell.promise && (!options_.unpromised || !cannot_have(subject, fault).empty())) {
            cell.runs.push_back({Kept::not_promised, cannot_have(subject, fault), ""});
            return cell;
        }
        if (!cell.promise) cell.again += " --unpromised";
        const Promise& promise = cell.promise ? *cell.promise : look_only;
        const bool healthy = fault.actions.empty();
        for (int run = 0; run < (healthy ? options_.healthy : options_.runs) && !stopped(); ++run) {
            progress_(fmt::format("{}, {}, run {}", subject.name, fault.name, run + 1));
            PromiseVerdict verdict = one_run(subject, fault, promise, run);
            if (!cell.promise) {
                verdict.told += verdict.why.empty() ? "" : "; " + verdict.why;
                verdict.kept = Kept::not_promised;
            }
            cell.runs.push_back(std::move(verdict));
            const Kept first = cell.runs.front().kept;
            if (!healthy && (first == Kept::kept || first == Kept::not_promised)) break;
        }
        return cell;
    }

    PromiseVerdict one_run(const PromiseSubject& subject, const PromisedFault& fault, const Promise& promise,
                           int run) {
        const bool healthy = fault.actions.empty();
        const PlayedRun* control = control_of(subject);
        if (!control && !healthy) return {Kept::unknown, control_trouble_, ""};
        const Load load(healthy && control);
        const auto played = play(subject, &fault, fmt::format("{}-{}", fault.name, run + 1));
        if (!played) return {Kept::unknown, played.error().text(), ""};
        return verdict_of(subject, promise, *played, control ? *control : *played);
    }

    const PlayedRun* control_of(const PromiseSubject& subject) {
        for (int attempt = 1; attempt <= 2 && !control_ && control_trouble_.empty(); ++attempt) {
            progress_(fmt::format("{}, control", subject.name));
            auto played = play(subject, nullptr, fmt::format("control-{}", attempt));
            if (!played) {
                control_trouble_ = played.error().text();
            } else if (measure(*played, *played).finished) {
                control_ = std::move(*played);
            } else if (attempt == 2) {
                control_trouble_ = "the healthy run does not finish: " +
                                   (played->stuck.empty() ? played->last_output : played->stuck);
            }
        }
        return control_ ? &*control_ : nullptr;
    }

    // Plays in the temporary directory, where paths are short: some subjects create sockets there.
    Result<PlayedRun> play(const PromiseSubject& subject, const PromisedFault* fault,
                           const std::string& name) {
        const auto scratch = Scratch::make({}, {"evidence"});
        if (!scratch) return tl::unexpected(scratch.error());
        auto played = play_promise(
            subject, fault, {book_.home, scratch->path(), overlay_.python, overlay_.packages, options_.stop});
        if (options_.out.empty()) return played;
        const fs::path kept = options_.out / subject.name / name;
        std::error_code trouble;
        fs::create_directories(kept, trouble);
        for (const char* part : {"events", "logs"})
            fs::copy(scratch->path() / part, kept / part,
                     fs::copy_options::recursive | fs::copy_options::overwrite_existing, trouble);
        if (trouble)
            return scenarios::refuse(
                ErrorCode::io, fmt::format("'{}' cannot be written: {}", kept.string(), trouble.message()),
                "choose another directory with --out");
        return played;
    }

    const PromiseBook& book_;
    const SuiteOptions& options_;
    const std::function<void(const PromiseCell&)>& done_;
    const std::function<void(const std::string&)>& progress_;
    PromiseTable table_;
    Overlay overlay_;
    std::optional<PlayedRun> control_;
    std::string control_trouble_;
};

}  // namespace

Result<PromiseTable> play_suite(const PromiseBook& book, const SuiteOptions& options,
                                const std::function<void(const PromiseCell&)>& done,
                                const std::function<void(const std::string&)>& progress) {
    return Suite(book, options, done, progress)();
}

}  // namespace deadrank::runners::promises

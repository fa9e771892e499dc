// runners/commands/find/campaign_command.cpp — deadrank sweep campaign: scenarios × seeds over the cores of
// one machine or, under mpirun, of many. Rank 0 keeps the ledger and hands out trials; the other ranks play
// them.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <xxhash.h>

#include "results/reports/style.h"
#include "runners/backends/catalog/backend.h"
#include "runners/campaign/ledger.h"
#include "runners/campaign/spread.h"
#include "runners/commands/command.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/build.h"
#include "runners/pipeline/campaign.h"

namespace deadrank::runners::commands {

// What `deadrank sweep campaign` prints at the end.
struct CampaignEnd {
    campaign::Totals totals;
    std::uint64_t asked = 0;   // trials of the campaign
    std::uint64_t before = 0;  // already in the file
    std::string file;
    std::string where;  // "4 processes", "2 at once"
    double seconds = 0;
};

std::string campaign_text(const CampaignEnd& end, const results::reports::Style& style);
std::string campaign_json(const CampaignEnd& end);

using results::reports::Ink;
using results::reports::Style;

std::string campaign_text(const CampaignEnd& end, const Style& style) {
    std::string text;
    for (const campaign::Answer& one : end.totals.notable) {
        const bool failed = one.verdict == results::Verdict::fail;
        text += fmt::format("  {} {} · seed {}\n",
                            style.paint(failed ? Ink::red : Ink::yellow, failed ? "✘" : "?"), one.scenario,
                            one.seed);
        text += fmt::format("      {}\n", style.cut(one.reason, style.width == 0 ? 0 : style.width - 7));
    }
    const std::uint64_t played = end.totals.trials - end.before;
    text +=
        fmt::format("  {} of {} trials: {} pass · {} fail · {} unknown · answer {}\n", end.totals.trials,
                    end.asked, end.totals.passed, end.totals.failed, end.totals.unknown, end.totals.digest);
    const std::string before = end.before == 0 ? "" : fmt::format("{} were there, ", end.before);
    text += style.paint(Ink::dim, fmt::format("  {}{} played on {} in {:.1f} s · {}", before, played,
                                              end.where, end.seconds, end.file));
    return text + "\n";
}

std::string campaign_json(const CampaignEnd& end) {
    auto notable = nlohmann::ordered_json::array();
    for (const campaign::Answer& one : end.totals.notable) {
        notable.push_back({{"scenario", one.scenario},
                           {"seed", one.seed},
                           {"verdict", name_of(one.verdict)},
                           {"reason", one.reason},
                           {"token", one.token}});
    }
    return nlohmann::ordered_json{
               {"trials", end.asked},         {"done", end.totals.trials}, {"before", end.before},
               {"pass", end.totals.passed},   {"fail", end.totals.failed}, {"unknown", end.totals.unknown},
               {"answer", end.totals.digest}, {"file", end.file},          {"where", end.where},
               {"seconds", end.seconds},      {"not_passed", notable}}
               .dump(2) +
           "\n";
}

namespace {

using scenarios::ErrorCode;

struct CampaignArguments {
    SelectionOptions selection;
    SeedOptions seeds;
    std::string out = "campaign.sqlite";
    int jobs = 0;
    std::int64_t memory = 0;
    double budget = 60;
    bool no_control = false, no_heal = false, json = false, quiet = false;
};

constexpr const char* campaign_footer =
    "Each trial is played in a process of its own: one that crashes or is still running when its time is up "
    "is an unknown answer, and the campaign goes on. Answers go to an SQLite file, a row a trial (tables "
    "`trials` and, for wall times, `effort`). The same command goes on where a killed one ended. Under "
    "mpirun "
    "or srun the trials are handed out one by one over all processes; the answer is the same, and so is the "
    "digest printed at the end.\n\n"
    "Exit code: 0 all passed, 1 something failed, 2 something is unknown, 64 the command line or a file is "
    "wrong, 130 stopped (what was answered is kept).\n\n"
    "Examples:\n"
    "  deadrank sweep campaign --seeds 1..100                              this machine's processors\n"
    "  mpirun -np 2 deadrank sweep campaign communication --seeds 1..500   two processes, one trial each at "
    "a "
    "time\n"
    "  srun -n 64 --mpi=pmix deadrank sweep campaign --seeds 1..1000 --out /shared/all.sqlite\n"
    "  sqlite3 campaign.sqlite \"select scenario, count(*) from trials where verdict <> 'pass' group by 1\"";

class CampaignCommand {
public:
    CampaignCommand(const CampaignArguments& arguments, Session& session)
        : arguments_(arguments), session_(session), started_(campaign::detect_launcher()) {}

    void operator()() {
        if (!join()) return;
        library_ = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library_)) return leave();
        auto seeds = seeds_of(arguments_.seeds);
        if (!session_.take(seeds)) return leave();
        auto selection = select(*library_, arguments_.selection);
        if (!session_.take(selection)) return leave();
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        std::erase_if(selection->scenarios, [](const auto& one) { return !playable_on(one, "sim"); });
        for (const auto& scenario : selection->scenarios) {
            for (const scenarios::Seed& seed : *seeds) jobs_.push_back({&scenario, seed});
        }
        detectors_ = library_->detectors();
        const campaign::Work work = work_for(*selection, *seeds);
        if (peers_ && peers_->rank() > 0) return campaign::serve(work, *peers_);
        keep_ledger(work);
    }

private:
    // False when this process has nothing to do.
    bool join() {
        if (!started_.together) return true;
        const auto library = campaign::find_mpi_bridge(session_.executable);
        if (library.empty()) {
            if (started_.rank > 0) return false;
            print_error("deadrank: this build has no MPI; rank 0 plays the whole campaign alone\n");
            return true;
        }
        auto peers = campaign::join_peers(library);
        if (!session_.take(peers)) return false;
        if ((*peers)->size() > 1) peers_ = std::move(*peers);
        return true;
    }

    // After an error no other process may hang: the manager dismisses the workers, a worker waits to be
    // dismissed.
    void leave() {
        if (!peers_) return;
        const campaign::Work nothing{.definition = "an error"};
        if (peers_->rank() > 0) return campaign::serve(nothing, *peers_);
        (void)campaign::manage(nothing, {}, peers_.get(), {});
    }

    campaign::Work work_for(const Selection& selection, const std::vector<scenarios::Seed>& seeds) {
        XXH64_hash_t files = 0;
        for (const auto& one : selection.scenarios) {
            const std::string text = one.id + " " + one.digest + "\n";
            files = XXH64(text.data(), text.size(), files);
        }
        campaign::Work work;
        work.definition =
            nlohmann::ordered_json{
                {"scenarios", selection.scenarios.size()},
                {"files", fmt::format("{:016x}", files)},
                {"seeds", fmt::format("{}..{}", seeds.front().number, seeds.back().number)},
                {"control", !arguments_.no_control},
                {"healed", !arguments_.no_heal},
                {"build", this_build().commit}}
                .dump();
        work.slots = arguments_.jobs > 0 ? arguments_.jobs : peers_ ? 1 : usual_jobs("sim");
        work.budget = std::chrono::milliseconds(static_cast<std::int64_t>(arguments_.budget * 1000));
        work.stop = &stop_on_interrupt();
        work.play = [this](std::uint64_t number) { return play_one(number); };
        return work;
    }

    // In a child.
    std::string play_one(std::uint64_t number) const {
        const auto runner = make_runner("sim", session_.extension);
        const PipelineOptions line{.control = !arguments_.no_control,
                                   .healed = !arguments_.no_heal,
                                   .memory = arguments_.memory,
                                   .detectors = &detectors_};
        const Job& job = jobs_[number];
        const Trialled trial = runners::play(*job.scenario, job.seed, **runner, library_->vocabulary, line);
        return campaign::text_of(campaign::answer_of(number, trial.outcome));
    }

    void keep_ledger(campaign::Work work) {
        const auto begin = std::chrono::steady_clock::now();
        auto ledger = campaign::Ledger::open(arguments_.out, work.definition);
        std::vector<std::uint64_t> numbers;
        auto known = ledger ? ledger->known(jobs_.size()) : tl::unexpected(ledger.error());
        if (known) {
            for (std::uint64_t number = 0; number < jobs_.size(); ++number) {
                if (!(*known)[number]) numbers.push_back(number);
            }
        }
        CampaignEnd end{.asked = jobs_.size(), .before = jobs_.size() - numbers.size()};
        end.file = arguments_.out;
        end.where = peers_ ? fmt::format("{} processes, {} at once on each", peers_->size(), work.slots)
                           : fmt::format("one machine, {} at once", work.slots);
        Progress progress;
        auto said = begin;
        std::uint64_t done = end.before;
        const auto take = [&](const campaign::Ended& ended, int rank) {
            const Job& job = jobs_[ended.number];
            ++done;
            print_progress(progress, said, fmt::format("{} of {} trials", done, jobs_.size()));
            return ledger->put(campaign::answer_of(ended, job.scenario->id, job.seed.number), rank);
        };
        // Another campaign may write to the same file, so it is not held while a long trial plays.
        work.look = [&] { return ledger ? ledger->settle() : scenarios::Result<void>(); };
        // Without a ledger nothing is played, but the workers must still be dismissed.
        const auto well =
            campaign::manage(work, known ? numbers : std::vector<std::uint64_t>{}, peers_.get(), take);
        progress.clear();
        if (!known) return session_.complain(known.error());
        auto totals = ledger->totals();
        if (!session_.take(totals)) return;
        end.totals = std::move(*totals);
        end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        // mpirun gives its processes terminals even when its own output is a pipe.
        const auto style = peers_ ? results::reports::Style{} : style_of(stdout);
        print_out("{}", arguments_.json ? campaign_json(end) : campaign_text(end, style));
        conclude(end, well);
    }

    void conclude(const CampaignEnd& end, const scenarios::Result<void>& well) {
        if (!well) return session_.complain(well.error());
        if (end.totals.failed > 0) {
            session_.code = exit_fail;
        } else if (end.totals.unknown > 0 && session_.code == exit_pass) {
            session_.code = exit_unknown;
        }
        if (end.totals.trials < end.asked) session_.code = exit_interrupted;
    }

    // Under mpirun a line cannot be overwritten in place: print a plain one every ten seconds.
    void print_progress(Progress& progress, std::chrono::steady_clock::time_point& said,
                        const std::string& words) const {
        progress.show("  " + words);
        const auto now = std::chrono::steady_clock::now();
        if (!peers_ || arguments_.quiet || now - said < std::chrono::seconds(10)) return;
        said = now;
        print_error("deadrank: {}\n", words);
    }

    const CampaignArguments& arguments_;
    Session& session_;
    const campaign::Started started_;
    std::unique_ptr<campaign::Peers> peers_;
    scenarios::Result<Library> library_;
    results::Detectors detectors_;
    std::vector<Job> jobs_;
};

void add_campaign(CLI::App& command, Session& session) {
    command.footer(campaign_footer);
    auto arguments = std::make_shared<CampaignArguments>();
    add_selection(command, arguments->selection);
    add_seeds(command, arguments->seeds);
    command.add_option("-o,--out", arguments->out, "The file of answers [campaign.sqlite]")
        ->type_name("FILE");
    command
        .add_option("-j,--jobs", arguments->jobs,
                    "Trials at once in each process [the processors; 1 under mpirun]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_memory(command, arguments->memory);
    command.add_option("--budget", arguments->budget, "Seconds that one trial may take [60]")
        ->type_name("SECONDS")
        ->check(number_between(0.001, 86400.0));
    command.add_flag("--no-control", arguments->no_control, "Leave the control run out");
    command.add_flag("--no-heal", arguments->no_heal, "Leave the healed run out");
    command.add_flag("-q,--quiet", arguments->quiet, "No lines of progress under mpirun");
    add_json(command, arguments->json, "A JSON object instead of text");
    command.callback([arguments, &session] { CampaignCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow campaign_row{
    "campaign", "Plays scenarios under many seeds, over machines with mpirun, into one SQLite file",
    add_campaign};

}  // namespace deadrank::runners::commands

// runners/commands/judge/alerts_command.cpp — deadrank alerts: which failures an operator's own alert rules
// catch, how fast, and where. Its --help explains the exit codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <thread>

#include "results/alerts/promtool_player.h"
#include "results/alerts/report.h"
#include "results/exporters/toml_file.h"
#include "results/processes/bounded.h"
#include "results/record/text_file.h"
#include "runners/alerts/kept_tests.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/serve/live_server.h"
#include "runners/serve/server_player.h"

namespace deadrank::runners::commands {

namespace {

namespace alerts = results::alerts;
namespace external = results::external;
using scenarios::Error;
using scenarios::ErrorCode;
using scenarios::Result;

struct AlertsArguments {
    std::vector<std::string> rules;
    runners::commands::SiteOptions site;
    std::string promtool = "promtool", amtool = "amtool", alertmanager, policy, out = "out/alerts";
    std::string prometheus = "prometheus", judge = "auto", limit, junit, sarif;
    bool json = false, explain = false, list = false, no_cache = false, no_suggestions = false,
         server = false, verify = false;
    int jobs = 0;
};

std::string cache_directory() {
    for (const auto& [variable, below] : {std::pair{"XDG_CACHE_HOME", "/deadrank/promtool"},
                                          std::pair{"HOME", "/.cache/deadrank/promtool"}}) {
        if (const char* home = std::getenv(variable); home != nullptr && *home != '\0')
            return std::string(home) + below;
    }
    return {};
}

class AlertsCommand {
public:
    AlertsCommand(const AlertsArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, arguments_.site.catalog);
        if (!session_.take(library)) return;
        auto site = runners::commands::open_site(*library, arguments_.site);
        if (!session_.take(site)) return;
        site_ = site->get();
        if (arguments_.list) return list();
        study_.world = site_->world;
        if (!arguments_.limit.empty() && limit() <= 0)
            return session_.complain({ErrorCode::usage, "--limit '" + arguments_.limit + "' will not do",
                                      "write a duration such as 90s or 5m"});
        if (!read_policy() || !ask_live()) return;
        if (rules_.empty()) {
            return session_.complain(
                {ErrorCode::usage, "there is no rule file",
                 "give one: deadrank alerts --rules FILE, or a server that has some: --prometheus URL"});
        }
        if (!read_rules()) return;
        auto incidents = runners::commands::choose_incidents(*site_, *library, arguments_.site, study_.notes);
        if (!session_.take(incidents)) return;
        judge(*incidents);
    }

private:
    void list() const {
        for (const auto& signature : site_->signatures.signatures) {
            if (signature.internal) continue;
            print_out("{:<22} {}\n", signature.id, signature.title);
        }
    }

    bool read_policy() {
        if (arguments_.policy.empty()) return true;
        auto policy = alerts::load_policy(arguments_.policy);
        if (!session_.take(policy)) return false;
        policy_ = std::move(*policy);
        return true;
    }

    // Asks a running server for its targets, and for its rules where none are given.
    bool ask_live() {
        rules_ = arguments_.rules;
        if (!live_url()) {
            const std::string& said = arguments_.prometheus;  // a program, unless it reads like HOST:PORT
            std::error_code ignored;
            if (said.find(':') == std::string::npos || std::filesystem::exists(said, ignored)) return true;
            session_.complain({ErrorCode::usage, "'" + said + "' is no address", "write http://" + said});
            return false;
        }
        auto live = serve::LiveServer::open(arguments_.prometheus);
        if (!session_.take(live)) return false;
        live_.emplace(std::move(*live));
        if (rules_.empty()) {
            auto files = live_->rule_files(std::filesystem::path(arguments_.out) / "live");
            if (!session_.take(files)) return false;
            rules_ = std::move(*files);
        }
        auto targets = live_->targets();
        if (!session_.take(targets)) return false;
        const auto more = serve::foreign_targets(*targets, study_.world);
        for (const auto& one : more) study_.world.profile.map.targets.push_back(one);
        study_.notes.push_back(fmt::format(
            "{} (Prometheus {}) has {} targets; the {} that are not simulated here are up all the time",
            arguments_.prometheus, live_->version(), targets->size(), more.size()));
        return true;
    }

    bool live_url() const { return arguments_.prometheus.find("://") != std::string::npos; }
    std::string server_program() const { return live_url() ? "prometheus" : arguments_.prometheus; }

    bool find_missing() {
        if (!live_) return true;
        auto missing = live_->missing(study_.rules, study_.analysis);
        if (!session_.take(missing)) return false;
        auto& findings = study_.analysis.findings;
        findings.insert(findings.end(), missing->begin(), missing->end());
        return true;
    }

    // A file that holds no rules is an error; a rule file that Prometheus rejects gets a verdict.
    bool read_rules() {
        auto tool = external::Promtool::find(arguments_.promtool);
        if (tool) tool_ = std::move(*tool);
        for (const auto& [path, listed] : alerts::rule_files_in(rules_)) {
            auto file = alerts::read_rules(path, std::filesystem::path(arguments_.out) / "copies");
            if (!file && listed) {  // a directory holds other files too
                study_.notes.push_back("left out: " + file.error().text());
                continue;
            }
            if (!session_.take(file)) return false;
            study_.notes.insert(study_.notes.end(), file->notes.begin(), file->notes.end());
            if (!file->broken.empty()) {
                study_.invalid.push_back({path, file->broken_line, file->broken_column, file->broken});
            } else if (check(*file)) {
                study_.rules.insert(study_.rules.end(), file->rules.begin(), file->rules.end());
                study_.files.push_back(std::move(*file));
            }
        }
        if (study_.files.empty() && study_.invalid.empty())
            return session_.complain({ErrorCode::usage,
                                      fmt::format("there is no rule file in {}", fmt::join(rules_, ", ")),
                                      "rule files end in .yml, .yaml or .rules"}),
                   false;
        if (arguments_.site.profile.empty()) alerts::choose_profile(study_);
        alerts::adopt_names(study_.rules, study_.world, study_.notes);
        const alerts::Emitted emitted(study_.world, site_->signatures);
        study_.analysis = alerts::analyse(study_.rules, emitted, study_.world);
        lengthen_history();
        return find_missing();
    }

    bool check(const alerts::RuleFile& file) {
        if (!tool_) return true;
        auto troubles = tool_->check_rules(file.loaded);
        if (!troubles) return session_.complain(troubles.error()), false;
        for (external::LoadTrouble& trouble : *troubles) {
            trouble.file = file.path;
            if (file.unwrapped) trouble.line = line_in_original(file, trouble.words);
            study_.invalid.push_back(std::move(trouble));
        }
        return troubles->empty();
    }

    static int line_in_original(const alerts::RuleFile& file, const std::string& words) {
        for (const alerts::Rule& rule : file.rules) {
            if (words.find("\"" + rule.name + "\"") != std::string::npos) return rule.expr_line;
        }
        return 0;
    }

    // Gives the run as much history as the rules look back on.
    void lengthen_history() {
        auto& window = study_.world.window;
        const double needed = alerts::history_needed(study_.rules, study_.analysis, window);
        if (needed > window.history) window.history = needed;
        if (study_.analysis.look_back > 14 * 86400.0)
            study_.notes.push_back("rules look back further than the two weeks that are simulated at most");
    }

    void judge(const std::vector<results::exporters::Incident>& incidents) {
        std::unique_ptr<alerts::Player> player = make_player(incidents);
        std::unique_ptr<external::Amtool> amtool;
        if (!arguments_.alertmanager.empty()) {
            auto opened = external::Amtool::open(arguments_.amtool, arguments_.alertmanager);
            if (!session_.take(opened)) return;
            amtool = std::make_unique<external::Amtool>(std::move(*opened));
        }
        if (player != nullptr && !study_.files.empty()) {
            Progress progress;
            alerts::StudyOptions options{
                .jobs = jobs(),
                .suggest = !arguments_.no_suggestions,
                .amtool = amtool.get(),
                .stop = &stop_on_interrupt(),
                .limit = limit(),
                .progress = [&](std::size_t so_far, std::size_t all, const std::string& last) {
                    progress.show(fmt::format("{} of {} failures · {}", so_far, all, last));
                }};
            auto done = alerts::conduct(study_, incidents, *player, site_->signatures, options);
            progress.clear();
            const bool stopped = stop_on_interrupt().load();  // in the healthy run, where it has no answer
            if (!done && !stopped) return session_.complain(done.error());
            study_.complete = study_.complete && done.has_value();
            if (!study_.complete)
                study_.notes.push_back("stopped before its end: what was judged until then is shown");
            if (served_ && tool_ && study_.complete) confirm();
            if (arguments_.verify) verify();
        }
        report(player != nullptr);
    }

    double limit() const {
        return arguments_.limit.empty() ? 0 : results::exporters::seconds_of(arguments_.limit);
    }

    int jobs() const {
        return arguments_.jobs > 0 ? arguments_.jobs
                                   : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    }

    std::unique_ptr<alerts::Player> make_player(const std::vector<results::exporters::Incident>& incidents) {
        served_ = wants_server(incidents.size());
        if (served_) {
            if (results::processes::find_program(server_program()).empty()) {
                session_.complain({ErrorCode::environment,
                                   "there is no '" + server_program() + "' on this machine",
                                   "install Prometheus, or give --prometheus PATH"});
                return nullptr;
            }
            return std::make_unique<serve::ServerPlayer>(
                serve::ServerPlayer::Options{server_program(), arguments_.out, arguments_.verify}, tool_);
        }
        if (!tool_) {
            auto missing = external::Promtool::find(arguments_.promtool);
            study_.notes.push_back(missing.error().text() +
                                   "; the test files were written, and nothing was judged");
            if (auto written = runners::alerts::write_tests(study_, incidents, arguments_.out); !written)
                session_.complain(written.error());
            return nullptr;
        }
        const std::string cache = arguments_.no_cache ? "" : cache_directory();
        return std::make_unique<alerts::PromtoolPlayer>(
            *tool_, alerts::PromtoolPlayer::Options{arguments_.out, cache, true});
    }

    // A server costs half a second per failure, promtool the same for every few rules.
    bool wants_server(std::size_t incidents) const {
        if (arguments_.server || arguments_.judge == "server") return true;
        if (arguments_.judge == "promtool" || results::processes::find_program(server_program()).empty())
            return false;
        return tool_.has_value() && study_.rules.size() * incidents >= 40;
    }

    // Lets promtool confirm a random sample of the server's verdicts.
    void confirm() {
        alerts::PromtoolPlayer player(*tool_, {std::filesystem::path(arguments_.out) / "confirm",
                                               arguments_.no_cache ? "" : cache_directory(), false, true});
        constexpr std::size_t rows = 2, each = 4;  // promtool takes as long for four as a server for ten rows
        std::size_t asked = 0, all = 0;
        for (const alerts::Row& row : study_.rows) {
            for (std::size_t i = 0; i < row.cells.size(); ++i)
                all += study_.rules[i].is_alert && !study_.analysis.rules[i].dead;
        }
        player.stop_when([] { return stop_on_interrupt().load(); });
        const auto differences = alerts::confirm(study_, player, rows, each,
                                                 std::filesystem::path(arguments_.out) / "confirm", asked);
        for (const std::string& one : differences) study_.notes.push_back("promtool DISAGREES: " + one);
        study_.notes.push_back(fmt::format("promtool was asked {} drawn of {} cells again: {} differ", asked,
                                           all, differences.size()));
        disagrees_ = disagrees_ || !differences.empty();
    }

    // Compares promtool's exit codes on the kept files with our verdicts.
    void verify() {
        const auto disagreements = runners::alerts::verify_kept(study_, *tool_, arguments_.out);
        for (const std::string& one : disagreements) study_.notes.push_back("DISAGREES: " + one);
        study_.notes.push_back(
            fmt::format("promtool ran the kept files again: {} disagreements", disagreements.size()));
        disagrees_ = disagrees_ || !disagreements.empty();
    }

    void report(bool judged) {
        const auto found = alerts::breaches(study_, policy_);
        const auto open = alerts::undecided(study_, policy_);
        study_.notes.insert(study_.notes.end(), open.begin(), open.end());
        write(arguments_.junit, alerts::junit_report(study_, policy_, found));
        write(arguments_.sarif, alerts::sarif_report(study_));
        if (arguments_.json) {
            print_out("{}\n", alerts::json_report(study_, policy_, found));
        } else {
            print_out("{}",
                      alerts::text_report(study_, policy_, found, style_of(stdout), arguments_.explain));
        }
        if (stop_on_interrupt().load()) session_.code = exit_interrupted;
        if (session_.code != exit_pass) return;
        if (!found.empty() || disagrees_)
            session_.code = exit_fail;
        else if (!judged || !study_.complete || !open.empty() || study_.healthy.empty())
            session_.code = exit_unknown;
    }

    void write(const std::string& path, const std::string& text) {
        if (path.empty()) return;
        if (auto written = results::write_text(text, path); !written) session_.complain(written.error());
    }

    const AlertsArguments& arguments_;
    Session& session_;
    runners::commands::Site* site_ = nullptr;
    alerts::Study study_;
    alerts::Policy policy_;
    std::optional<external::Promtool> tool_;
    std::optional<serve::LiveServer> live_;
    std::vector<std::string> rules_;  // files and directories
    bool disagrees_ = false, served_ = false;
};

void add_alerts(CLI::App& command, Session& session) {
    command.footer(
        "Real Prometheus judges your untouched rule files (promtool, in virtual time). Exit code 1: a breach "
        "of the "
        "policy,\nan invalid rule file, or an alert that fires on a healthy cluster; 2: nothing could be "
        "judged, or not all of it in the time allowed, or not what the policy demands; 130: "
        "stopped.\n\nExamples:\n"
        "  deadrank alerts --list                                       the failures there are\n"
        "  deadrank alerts --rules my.yml                               each of them against your rules\n"
        "  deadrank alerts --rules my.yml --policy policy.toml --junit alerts.xml\n"
        "  deadrank alerts --rules my.yml --alertmanager alertmanager.yml --explain\n"
        "  deadrank alerts --prometheus http://localhost:9090           the rules of a server that runs");
    auto arguments = std::make_shared<AlertsArguments>();
    command
        .add_option("rules,-r,--rules", arguments->rules,
                    "Prometheus rule files, PrometheusRule resources, or directories of them")
        ->type_name("FILE");
    runners::commands::add_site(command, arguments->site);
    command.add_option("--policy", arguments->policy, "What must be caught, and how soon (TOML)")
        ->type_name("FILE");
    command.add_option("--promtool", arguments->promtool, "The promtool that judges [promtool]")
        ->type_name("PATH");
    command.add_option("--alertmanager", arguments->alertmanager, "Its configuration: who would be paged")
        ->type_name("FILE");
    command.add_option("--amtool", arguments->amtool, "The amtool that routes [amtool]")->type_name("PATH");
    command.add_flag("--server", arguments->server, "The same as --judge server");
    command
        .add_option("--judge", arguments->judge,
                    "promtool, server, or auto: whichever is faster; promtool then confirms a sample [auto]")
        ->type_name("NAME")
        ->check(CLI::IsMember({"auto", "promtool", "server"}).description(""));
    command.add_option("--limit", arguments->limit, "Stop playing after this time, and show what was judged")
        ->type_name("TIME");
    command
        .add_option(
            "--prometheus", arguments->prometheus,
            "The program that judges, or the address of a server that runs (http://HOST:PORT): its rules "
            "and targets are read, and what has no series there is told [prometheus]")
        ->type_name("PATH|URL");
    command.add_option("-o,--out", arguments->out, "Where the generated test files stay [out/alerts]")
        ->type_name("DIR");
    command.add_option("--junit", arguments->junit, "Write JUnit XML for CI")->type_name("FILE");
    command.add_option("--sarif", arguments->sarif, "Write findings at their lines for code review")
        ->type_name("FILE");
    command.add_option("-j,--jobs", arguments->jobs, "Failures judged at once [the processors]")
        ->type_name("N");
    add_json(command, arguments->json, "One JSON object on standard output");
    command.add_flag("--explain", arguments->explain, "A sentence for each cell");
    command.add_flag("--verify", arguments->verify,
                     "Let promtool run the kept files again and compare its exit codes");
    command.add_flag("--list", arguments->list, "List the failures, and do nothing");
    command.add_flag("--no-cache", arguments->no_cache, "Run promtool even if its answer is cached");
    command.add_flag("--no-suggestions", arguments->no_suggestions, "Try no expressions for what was missed");
    command.callback([arguments, &session] { AlertsCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow alerts_row{"alerts", "Tries which failures your Prometheus rules catch, and how fast",
                                   add_alerts};

}  // namespace deadrank::runners::commands

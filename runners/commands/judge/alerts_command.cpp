// runners/commands/judge/alerts_command.cpp — deadrank alerts: which failures an operator's own alert rules
// catch, how fast, and where. Its --help explains the exit codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "results/alerts/file_groups.h"
#include "results/alerts/pager_config.h"
#include "results/alerts/promtool_player.h"
#include "results/alerts/report.h"
#include "results/exporters/toml_file.h"
#include "results/record/text_file.h"
#include "runners/alerts/kept_tests.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/serve/live_server.h"
#include "runners/serve/pager.h"

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
    std::string promtool = "promtool", pager = "prometheus-alertmanager", alertmanager, policy,
                out = "out/alerts";
    std::string prometheus, limit, junit, sarif, html;
    bool json = false, explain = false, all = false, list = false, no_suggestions = false, verify = false;
    int jobs = 0;
};

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
        if (!read_policy() || !query_server()) return;
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
    bool query_server() {
        rules_ = arguments_.rules;
        if (arguments_.prometheus.empty()) return true;
        if (arguments_.prometheus.find("://") == std::string::npos) {
            session_.complain({ErrorCode::usage, "'" + arguments_.prometheus + "' is no address",
                               "write http://" + arguments_.prometheus});
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
        if (!take_intervals()) return false;
        auto targets = live_->targets();
        if (!session_.take(targets)) return false;
        const auto more = serve::foreign_targets(*targets, study_.world);
        for (const auto& one : more) study_.world.profile.map.targets.push_back(one);
        study_.notes.push_back(fmt::format(
            "{} (Prometheus {}) has {} targets; the {} that are not simulated here are up all the time",
            arguments_.prometheus, live_->version(), targets->size(), more.size()));
        return true;
    }

    // Scrapes and evaluates as the server does, where the command line does not say.
    bool take_intervals() {
        auto intervals = live_->intervals();
        if (!session_.take(intervals)) return false;
        auto& window = study_.world.window;
        if (arguments_.site.scrape.empty() && intervals->scrape > 0) window.scrape = intervals->scrape;
        if (arguments_.site.eval.empty() && intervals->eval > 0) window.eval = intervals->eval;
        site_->world.window = window;
        study_.notes.push_back(fmt::format("this run scrapes every {} and evaluates every {}, as {} does",
                                           results::exporters::duration_text(window.scrape),
                                           results::exporters::duration_text(window.eval),
                                           arguments_.prometheus));
        return true;
    }

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
        const alerts::ListedFiles files = alerts::rule_files_in(rules_);
        for (const std::string& one : files.unread) study_.notes.push_back("left out: " + one);
        for (const auto& [path, listed] : files.files) {
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
                study_.files.push_back(std::move(*file));
            }
        }
        if (study_.files.empty() && study_.invalid.empty() && !files.unread.empty())
            return session_.complain({ErrorCode::io, files.unread.front(),
                                      "run it as a user who may, or give the rule files themselves"}),
                   false;
        if (study_.files.empty() && study_.invalid.empty())
            return session_.complain({ErrorCode::usage,
                                      fmt::format("there is no rule file in {}", fmt::join(rules_, ", ")),
                                      "rule files end in .yml, .yaml or .rules"}),
                   false;
        const auto groups =
            alerts::groups_of_files(study_.files, study_.world, arguments_.site.profile.empty());
        for (const std::vector<std::size_t>& group : groups) parts_.push_back(part_of(group));
        study_.files.clear();
        return true;
    }

    // The files of one group, with the names that they use.
    alerts::Study part_of(const std::vector<std::size_t>& group) {
        alerts::Study part{.world = study_.world};
        for (const std::size_t file : group) {
            part.files.push_back(study_.files[file]);
            const auto& rules = part.files.back().rules;
            part.rules.insert(part.rules.end(), rules.begin(), rules.end());
        }
        if (arguments_.site.profile.empty()) alerts::choose_profile(part);
        alerts::adopt_names(part.rules, part.world, part.notes);
        part.analysis = alerts::analyse(part.rules, alerts::Emitted(part.world, site_->signatures));
        return part;
    }

    bool check(const alerts::RuleFile& file) {
        if (!tool_) return true;
        auto troubles = tool_->check_rules(file.loaded);
        if (!troubles) return session_.complain(troubles.error()), false;
        for (external::LoadTrouble& trouble : *troubles) {
            trouble.file = file.path;
            // promtool gives no line for a template that it cannot read.
            if (file.unwrapped || trouble.line == 0) trouble.line = line_in_original(file, trouble.words);
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

    void judge(const std::vector<results::exporters::Incident>& incidents) {
        if (!arguments_.alertmanager.empty()) {  // before anything is played
            auto config = alerts::read_pager_config(arguments_.alertmanager);
            if (!session_.take(config)) return;
        }
        if (tool_) {
            began_ = std::chrono::steady_clock::now();
            for (std::size_t i = 0; i < parts_.size(); ++i) {
                if (!judge_part(incidents, i)) return;
            }
        } else if (!write_unjudged(incidents)) {
            return;
        }
        if (!study_.complete)
            study_.notes.push_back("stopped before its end: what was judged until then is shown");
        if (!find_missing() || !query_pager()) return;
        if (tool_ && arguments_.verify) verify();
        report(tool_.has_value());
    }

    bool judge_part(const std::vector<results::exporters::Incident>& incidents, std::size_t number) {
        alerts::Study& part = parts_[number];
        alerts::PromtoolPlayer player(*tool_, {directory_of(number)});
        Progress progress;
        const alerts::StudyOptions options{
            .jobs = jobs(),
            .suggest = !arguments_.no_suggestions && parts_.size() == 1,
            .stop = &stop_on_interrupt(),
            .limit = limit(),
            .began = began_,
            .progress = [&](std::size_t so_far, std::size_t all, const std::string& last) {
                progress.show(fmt::format("{} of {} failures · {}", so_far, all, last));
            }};
        auto done = alerts::conduct(part, incidents, player, site_->signatures, options);
        const bool stopped = stop_on_interrupt().load();  // in the healthy run, where it has no answer
        if (!done && !stopped) return progress.clear(), session_.complain(done.error()), false;
        part.complete = part.complete && done.has_value();
        add(part, number == 0);
        if (parts_.size() > 1 && number + 1 == parts_.size() && !arguments_.no_suggestions) {
            alerts::PromtoolPlayer suggesting(*tool_, {directory_of(0)});
            auto tried = alerts::suggest(study_, suggesting, site_->signatures, options);
            if (!tried) return progress.clear(), session_.complain(tried.error()), false;
        }
        progress.clear();
        return true;
    }

    // Puts one part into the whole.
    void add(alerts::Study& part, bool first) {
        if (!first) return alerts::append(study_, std::move(part));
        part.notes.insert(part.notes.begin(), study_.notes.begin(), study_.notes.end());
        part.invalid = std::move(study_.invalid);
        study_ = std::move(part);
    }

    std::filesystem::path directory_of(std::size_t number) const {
        const std::filesystem::path all(arguments_.out);
        return number == 0 ? all : all / std::to_string(number + 1);
    }

    bool write_unjudged(const std::vector<results::exporters::Incident>& incidents) {
        auto missing = external::Promtool::find(arguments_.promtool);
        study_.notes.push_back(missing.error().text() +
                               "; the test files were written, and nothing was judged");
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (auto written = runners::alerts::write_tests(parts_[i], incidents, directory_of(i)); !written)
                return session_.complain(written.error()), false;
            add(parts_[i], i == 0);
        }
        return true;
    }

    bool query_pager() {
        if (arguments_.alertmanager.empty() || study_.rows.empty()) return true;
        const alerts::StudyOptions options{.stop = &stop_on_interrupt(), .limit = limit(), .began = began_};
        Progress progress;
        progress.show("Alertmanager");
        auto asked = serve::query_pager(study_, arguments_.pager, arguments_.alertmanager,
                                        [&] { return options.over(); });
        progress.clear();
        if (!asked) session_.complain(asked.error());
        return asked.has_value();
    }

    double limit() const {
        return arguments_.limit.empty() ? 0 : results::exporters::seconds_of(arguments_.limit);
    }

    int jobs() const { return arguments_.jobs > 0 ? arguments_.jobs : usual_jobs("sim"); }

    // Lets promtool run the kept files again.
    void verify() {
        std::size_t differing = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const auto disagreements = runners::alerts::verify_kept(*tool_, directory_of(i));
            for (const std::string& one : disagreements) study_.notes.push_back("DISAGREES: " + one);
            differing += disagreements.size();
        }
        study_.notes.push_back(fmt::format("promtool ran the kept files again: {} disagreements", differing));
        disagrees_ = disagrees_ || differing > 0;
    }

    void report(bool judged) {
        const auto found = alerts::breaches(study_, policy_);
        const auto open = alerts::undecided(study_, policy_);
        study_.notes.insert(study_.notes.end(), open.begin(), open.end());
        write(arguments_.junit, alerts::junit_report(study_, policy_, found));
        write(arguments_.sarif, alerts::sarif_report(study_));
        write(arguments_.html, alerts::page_report(study_, policy_, found));
        if (arguments_.json) {
            print_out("{}\n", alerts::json_report(study_, policy_, found));
        } else {
            print_out("{}", alerts::text_report(study_, policy_, found, style_of(stdout),
                                                {arguments_.explain, arguments_.all}));
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
    alerts::Study study_;               // the whole
    std::vector<alerts::Study> parts_;  // judged one after the other
    alerts::Policy policy_;
    std::optional<external::Promtool> tool_;
    std::optional<serve::LiveServer> live_;
    std::vector<std::string> rules_;  // files and directories
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    bool disagrees_ = false;
};

void add_alerts(CLI::App& command, Session& session) {
    command.footer(
        "Real Prometheus judges your untouched rule files (promtool, in virtual time). Exit code 1: a breach "
        "of the "
        "policy,\nan invalid rule file, or an alert that fires on a healthy cluster; 2: nothing could be "
        "judged, or not all of it in the time allowed, or not what the policy demands; 130: "
        "stopped.\n\nA rule file has at most 8 MiB and 100 levels, an expression 16 KiB; the least interval "
        "is 1s. "
        "--limit bounds the time.\n\nExamples:\n"
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
    command
        .add_option("--alertmanager-program", arguments->pager,
                    "The Alertmanager that routes, groups and inhibits [prometheus-alertmanager]")
        ->type_name("PATH");
    command.add_option("--limit", arguments->limit, "Stop playing after this time, and show what was judged")
        ->type_name("TIME");
    command
        .add_option(
            "--prometheus", arguments->prometheus,
            "A running server (http://HOST:PORT): its rules and targets are read, and selectors without series "
            "there are reported")
        ->type_name("URL");
    command.add_option("-o,--out", arguments->out, "Where the generated test files stay [out/alerts]")
        ->type_name("DIR");
    command.add_option("--junit", arguments->junit, "Write JUnit XML for CI")->type_name("FILE");
    command.add_option("--sarif", arguments->sarif, "Write findings at their lines for code review")
        ->type_name("FILE");
    command.add_option("--html", arguments->html, "Write a page: rules by severity, curves and thresholds")
        ->type_name("FILE");
    command.add_option("-j,--jobs", arguments->jobs, "Failures judged at once [the processors]")
        ->type_name("N");
    add_json(command, arguments->json, "One JSON object on standard output");
    command.add_flag("--explain", arguments->explain, "A sentence for each cell");
    command.add_flag("--all", arguments->all, "Every entry of each list, not the first eight");
    command.add_flag("--verify", arguments->verify,
                     "Let promtool run the kept files again and compare its exit codes");
    command.add_flag("--list", arguments->list, "List the failures, and do nothing");
    command.add_flag("--no-suggestions", arguments->no_suggestions, "Try no expressions for what was missed");
    command.callback([arguments, &session] { AlertsCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow alerts_row{"alerts", "Tries which failures your Prometheus rules catch, and how fast",
                                   add_alerts};

}  // namespace deadrank::runners::commands

// runners/serve/pager.cpp — One Alertmanager for all failures: a label of the alerts keeps them apart, in
// groups as in inhibition. Alerts are posted (API v2) when they began and ended, and notifications arrive by
// webhook.
#include "runners/serve/pager.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "results/alerts/pager_config.h"
#include "results/exporters/toml_file.h"
#include "results/processes/bounded.h"
#include "results/processes/private_directory.h"
#include "results/record/text_file.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

namespace {

using Json = nlohmann::ordered_json;
using Labels = std::map<std::string, std::string>;
using PagerClock = std::chrono::steady_clock;
using results::alerts::Instance;
using results::alerts::Interval;
using results::alerts::Row;
using results::alerts::Study;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

constexpr double pager_speed = 120;  // an evaluation each 15 s is one each 125 ms
constexpr std::chrono::milliseconds poll_interval{125};
constexpr const char* incident_label = "deadrank_incident";

// One alert of one failure, as Alertmanager tells alerts apart.
struct PagedAlert {
    std::size_t row = 0;
    Labels labels;
    auto operator<=>(const PagedAlert&) const = default;
};

Labels posted_labels(const PagedAlert& alert) {
    Labels labels = alert.labels;
    labels[incident_label] = std::to_string(alert.row);
    return labels;
}

std::optional<PagedAlert> alert_of(const Json& json) {
    PagedAlert alert{.labels = json.at("labels").get<Labels>()};
    const auto row = alert.labels.find(incident_label);
    if (row == alert.labels.end()) return std::nullopt;
    alert.row = std::stoul(row->second);
    alert.labels.erase(row);
    return alert;
}

// Did it begin, or go on, while the failure lasted? Such an alert pages for the failure.
bool rings_for(const Row& row, const Instance& instance) {
    return std::any_of(instance.firing.begin(), instance.firing.end(), [&](const Interval& one) {
        return one.begin < row.incident.until && (one.open() || one.end > row.incident.at);
    });
}

// What is posted when, and which cells each alert belongs to.
struct PagerScript {
    std::map<double, std::map<PagedAlert, bool>> edges;    // by time: does it fire from then on?
    std::map<PagedAlert, std::vector<std::size_t>> rings;  // those of the failures, with their rules
    double end = 0;                                        // nothing fires later
};

// Rules of one name may have the same labels: Alertmanager sees one alert, which fires while one of them
// does.
void add_edges(const PagedAlert& alert, std::vector<Interval> firing, double duration, PagerScript& script) {
    std::sort(firing.begin(), firing.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    double until = -1;
    for (const Interval& one : firing) {
        const double end = one.open() ? duration : one.end;
        if (end <= until) continue;
        if (one.begin <= until)
            script.edges[until].erase(alert);
        else
            script.edges[one.begin][alert] = true;
        script.edges[end][alert] = false;
        until = end;
    }
    script.end = std::max(script.end, until);
}

PagerScript script_of(const Study& study) {
    PagerScript script;
    for (std::size_t number = 0; number < study.rows.size(); ++number) {
        const Row& row = study.rows[number];
        std::map<PagedAlert, std::vector<Interval>> firing;
        bool rings = false;
        for (std::size_t rule = 0; rule < row.cells.size(); ++rule) {
            const auto& cell = row.cells[rule];
            const bool about = cell.noticed() || cell.verdict == results::alerts::AlertVerdict::wrong_place;
            for (const Instance& one : row.played.activity[rule]) {
                auto& all = firing[{number, one.labels}];
                all.insert(all.end(), one.firing.begin(), one.firing.end());
                if (!about || !rings_for(row, one)) continue;
                script.rings[{number, one.labels}].push_back(rule);
                rings = true;
            }
        }
        if (!rings) continue;
        for (const auto& [alert, intervals] : firing)
            add_edges(alert, intervals, study.world.window.duration, script);
    }
    return script;
}

struct Notification {
    double time = 0;  // seconds into the run
    std::string receiver;
    Json alerts;
};

// The receiver that stands for all of the configuration.
class Inbox {
public:
    HttpResponse take(const HttpRequest& request) {
        Json json = Json::parse(request.body, nullptr, false);
        const std::lock_guard lock(mutex_);
        if (json.is_object() && json.contains("alerts"))
            notifications_.push_back({time(), json.value("receiver", ""), std::move(json["alerts"])});
        return {};
    }
    void begin(double at) {
        const std::lock_guard lock(mutex_);
        began_ = PagerClock::now();
        first_ = at;
    }
    PagerClock::time_point moment_of(double time) const {
        return began_ + std::chrono::duration_cast<PagerClock::duration>(
                            std::chrono::duration<double>((time - first_) / pager_speed));
    }
    std::vector<Notification> all() {
        const std::lock_guard lock(mutex_);
        return notifications_;
    }

private:
    double time() const {
        return first_ + std::chrono::duration<double>(PagerClock::now() - began_).count() * pager_speed;
    }

    std::mutex mutex_;
    std::vector<Notification> notifications_;
    PagerClock::time_point began_ = PagerClock::now();
    double first_ = 0;
};

class Pager {
public:
    Pager(int port, const std::function<bool()>& stopped) : port_(port), stopped_(stopped) {}

    // False if it was stopped.
    Result<bool> play(const Study& study, const PagerScript& script, Inbox& inbox) {
        inbox.begin(script.edges.begin()->first);
        for (const auto& [time, edges] : script.edges) {
            if (edges.empty()) continue;
            auto reached = wait_until(inbox.moment_of(time), script);
            if (!reached || !*reached) return reached;
            if (auto posted = post(edges); !posted) return tl::unexpected(posted.error());
            latest_ = std::max(latest_, PagerClock::now() - inbox.moment_of(time));
        }
        // What begins with the last evaluation and has nothing to wait for is still sent.
        return wait_until(inbox.moment_of(script.end + study.world.window.eval), script);
    }

    double lateness() const { return std::chrono::duration<double>(latest_).count(); }
    const std::map<PagedAlert, std::set<std::string>>& suppressed() const { return suppressed_; }

private:
    Result<bool> wait_until(PagerClock::time_point moment, const PagerScript& script) {
        while (PagerClock::now() < moment) {
            if (stopped_ && stopped_()) return false;
            if (auto seen = note_suppressed(script); !seen) return tl::unexpected(seen.error());
            std::this_thread::sleep_until(std::min(moment, PagerClock::now() + poll_interval));
        }
        return !(stopped_ && stopped_());
    }

    Result<void> post(const std::map<PagedAlert, bool>& edges) {
        Json all = Json::array();
        for (const auto& [alert, fires] : edges) {
            all.push_back(
                {{"labels", posted_labels(alert)}, {"endsAt", fires ? "2099-01-01T00:00:00Z" : now_text()}});
            if (fires)
                firing_.insert(alert);
            else
                firing_.erase(alert);
        }
        auto answer =
            fetch(port_, {"POST", "/api/v2/alerts", all.dump()}, {{"Content-Type", "application/json"}});
        if (!answer) return tl::unexpected(answer.error());
        if (answer->status != 200)
            return refuse(ErrorCode::io, "Alertmanager refuses the alerts: " + answer->body);
        return {};
    }

    Result<Json> alerts_from(const std::string& query) {
        auto answer = fetch(port_, {"GET", "/api/v2/alerts" + query, ""});
        if (!answer) return tl::unexpected(answer.error());
        Json alerts = Json::parse(answer->body, nullptr, false);
        if (!alerts.is_array()) return refuse(ErrorCode::io, "Alertmanager's answer is no list of alerts");
        return alerts;
    }

    Result<void> note_suppressed(const PagerScript& script) {
        if (firing_.empty()) return {};
        auto held = alerts_from("?active=false&silenced=false&inhibited=true");
        if (!held) return tl::unexpected(held.error());
        for (const Json& one : *held) {
            const auto alert = alert_of(one);
            if (!alert || !script.rings.contains(*alert)) continue;
            for (const Json& by : one["status"]["inhibitedBy"]) {
                auto name = name_of(by.get<std::string>());
                if (!name) return tl::unexpected(name.error());
                suppressed_[*alert].insert(*name);
            }
        }
        return {};
    }

    Result<std::string> name_of(const std::string& fingerprint) {
        if (!names_.contains(fingerprint)) {
            auto all = alerts_from("");
            if (!all) return tl::unexpected(all.error());
            for (const Json& one : *all)
                names_[one["fingerprint"].get<std::string>()] = one["labels"].value("alertname", "");
        }
        const auto at = names_.find(fingerprint);
        return at == names_.end() ? fingerprint : at->second;
    }

    static std::string now_text() {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
        const std::time_t seconds = whole / 1000;
        std::tm parts{};
        gmtime_r(&seconds, &parts);
        return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                           parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                           whole % 1000);
    }

    int port_;
    const std::function<bool()>& stopped_;
    std::set<PagedAlert> firing_;
    std::map<PagedAlert, std::set<std::string>> suppressed_;
    std::map<std::string, std::string> names_;
    PagerClock::duration latest_{0};
};

// A page is a notification with an alert that fires for the failure. One that only resolves is none, nor is
// one about alerts that a healthy cluster has too.
void count_pages(Study& study, const PagerScript& script, const std::vector<Notification>& notifications) {
    for (Row& row : study.rows) row.pages = row.trouble.empty() ? 0 : -1;
    for (const Notification& one : notifications) {
        std::set<std::size_t> paged;
        for (const Json& json : one.alerts) {
            const auto alert = alert_of(json);
            if (!alert || json.value("status", "") != "firing") continue;
            const auto ring = script.rings.find(*alert);
            if (ring == script.rings.end() || one.time < study.rows[alert->row].incident.at) continue;
            paged.insert(alert->row);
            for (const std::size_t rule : ring->second)
                study.rows[alert->row].cells[rule].paged.push_back(one.receiver);
        }
        for (const std::size_t row : paged) ++study.rows[row].pages;
    }
}

void keep_suppressed(Study& study, const PagerScript& script,
                     const std::map<PagedAlert, std::set<std::string>>& suppressed) {
    for (const auto& [alert, names] : suppressed) {
        for (const std::size_t rule : script.rings.at(alert)) {
            auto& cell = study.rows[alert.row].cells[rule];
            cell.suppressed_by.insert(cell.suppressed_by.end(), names.begin(), names.end());
        }
    }
    for (Row& row : study.rows) {
        for (auto& cell : row.cells) {
            for (auto* names : {&cell.paged, &cell.suppressed_by}) {
                std::sort(names->begin(), names->end());
                names->erase(std::unique(names->begin(), names->end()), names->end());
            }
        }
    }
}

// Alertmanager's own words about a configuration that it refuses.
std::string refusal_in(const std::filesystem::path& log) {
    std::ifstream in(log);
    std::string line, words;
    while (std::getline(in, line)) {
        if (const std::size_t at = line.find("err=\""); at != std::string::npos)
            words = line.substr(at + 5, line.rfind('"') - at - 5);
    }
    return words;
}

}  // namespace

Result<void> query_pager(Study& study, const std::string& program, const std::filesystem::path& config,
                         const std::function<bool()>& stopped) {
    const auto give_up = [&] {
        study.notes.push_back("there was no time left for Alertmanager: no page was counted");
        study.complete = false;
    };
    if (stopped && stopped()) return give_up(), Result<void>();
    if (results::processes::find_program(program).empty())
        return refuse(ErrorCode::environment, "there is no '" + program + "' on this machine",
                      "install Alertmanager (Debian: apt install prometheus-alertmanager)");
    Inbox inbox;
    auto server =
        HttpServer::listen("127.0.0.1", 0, [&](const HttpRequest& request) { return inbox.take(request); });
    if (!server) return tl::unexpected(server.error());
    auto kept = results::alerts::read_pager_config(
        config, {fmt::format("http://127.0.0.1:{}/", (*server)->port()), pager_speed, incident_label});
    if (!kept) return tl::unexpected(kept.error());
    auto directory = results::processes::PrivateDirectory::make();
    if (!directory) return tl::unexpected(directory.error());
    const auto file = directory->path() / "alertmanager.yml", log = directory->path() / "log";
    if (auto written = results::write_text(kept->text, file); !written) return written;
    const int port = free_port();
    auto daemon = results::processes::start_daemon(
        {program, "--config.file=" + file.string(), "--storage.path=" + (directory->path() / "data").string(),
         "--cluster.listen-address=", fmt::format("--web.listen-address=127.0.0.1:{}", port)},
        log);
    if (!daemon) return tl::unexpected(daemon.error());
    if (auto ready = await_server(*daemon, log, port, "/-/ready", 60); !ready) {
        const std::string words = refusal_in(log);
        if (words.empty()) return ready;
        return refuse(ErrorCode::bad_input, "Alertmanager refuses the configuration: " + words, "",
                      {config.string(), 0, 0});
    }
    const PagerScript script = script_of(study);
    Pager pager(port, stopped);
    if (!script.edges.empty()) {
        auto played = pager.play(study, script, inbox);
        if (!played) return tl::unexpected(played.error());
        if (!*played) return give_up(), Result<void>();
    }
    count_pages(study, script, inbox.all());
    keep_suppressed(study, script, pager.suppressed());
    if (kept->has_intervals)
        study.notes.push_back("the time intervals of " + config.string() +
                              " apply to the pages as they do at the moment of this run");
    if (pager.lateness() * pager_speed > study.world.window.eval)
        study.notes.push_back(
            fmt::format("this machine was busy: alerts reached Alertmanager up to {} of the run late, which "
                        "may change the pages",
                        results::exporters::duration_text(std::ceil(pager.lateness() * pager_speed))));
    return {};
}

}  // namespace deadrank::runners::serve

// runners/serve/pager.cpp — Alertmanager's API (v2): alerts are posted, and their states and groups read
// back.
#include "runners/serve/pager.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "results/alerts/pager_config.h"
#include "results/processes/bounded.h"
#include "results/processes/private_directory.h"
#include "results/record/text_file.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

namespace {

using Json = nlohmann::ordered_json;
using Labels = std::map<std::string, std::string>;
using results::alerts::Instance;
using results::alerts::Row;
using results::alerts::Study;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

// One alert that rings in a row, and when its group is told of it.
struct Ring {
    std::size_t rule = 0;
    const Instance* instance = nullptr;
    double asked_at = 0;
};

bool fires_at(const Instance& instance, double time) {
    return std::any_of(instance.firing.begin(), instance.firing.end(),
                       [&](const auto& one) { return one.begin <= time && (one.open() || time < one.end); });
}

class Pager {
public:
    Pager(int port, double group_wait) : port_(port), group_wait_(group_wait) {}

    Result<void> page_row(const Study& study, Row& row) {
        std::map<double, std::vector<Ring>> rings;
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (!row.cells[i].noticed() && row.cells[i].verdict != results::alerts::AlertVerdict::wrong_place)
                continue;
            for (const Instance& one : row.played.activity[i]) {
                const auto first = std::find_if(one.firing.begin(), one.firing.end(), [&](const auto& each) {
                    return each.open() || each.end > row.incident.at;
                });
                if (first == one.firing.end() || first->begin >= row.incident.until) continue;
                const double at = std::max(first->begin, row.incident.at) + group_wait_;
                rings[at].push_back({i, &one, at});
            }
        }
        std::set<std::string> pages;
        for (const auto& [time, some] : rings) {
            if (auto done = post_alerts(study, row, time, some, pages); !done) return done;
        }
        row.pages = static_cast<int>(pages.size());
        return {};
    }

private:
    // What fires at this time is posted, and what fired before and does not now is resolved.
    Result<void> post_alerts(const Study& study, Row& row, double time, const std::vector<Ring>& rings,
                             std::set<std::string>& pages) {
        std::set<Labels> now;
        for (std::size_t i = 0; i < study.rules.size(); ++i) {
            for (const Instance& one : row.played.activity[i]) {
                if (fires_at(one, time)) now.insert(one.labels);
            }
        }
        for (const Ring& one : rings) now.insert(one.instance->labels);  // those that cleared meanwhile
        if (auto posted = post(now); !posted) return posted;
        auto groups = settled(now);
        if (!groups) return tl::unexpected(groups.error());
        for (const Ring& one : rings) take(row, one, *groups, pages);
        return {};
    }

    Result<void> post(const std::set<Labels>& now) {
        Json all = Json::array();
        for (const Labels& labels : now)
            all.push_back({{"labels", labels}, {"endsAt", "2099-01-01T00:00:00Z"}});
        for (const Labels& labels : posted_) {
            if (!now.contains(labels))
                all.push_back({{"labels", labels},
                               {"startsAt", "2020-01-01T00:00:00Z"},
                               {"endsAt", "2020-01-01T00:00:01Z"}});
        }
        posted_ = now;
        auto answer =
            fetch(port_, {"POST", "/api/v2/alerts", all.dump()}, {{"Content-Type", "application/json"}});
        if (!answer) return tl::unexpected(answer.error());
        if (answer->status != 200)
            return refuse(ErrorCode::io, "Alertmanager refuses the alerts: " + answer->body);
        return {};
    }

    // Its parts learn of an alert one after the other: asked until it has them all and says the same twice.
    Result<Json> settled(const std::set<Labels>& now) {
        std::string before;
        for (int attempt = 0; attempt < 100; ++attempt) {
            auto answer = fetch(port_, {"GET", "/api/v2/alerts/groups", ""});
            if (!answer) return tl::unexpected(answer.error());
            Json groups = Json::parse(answer->body, nullptr, false);
            if (groups.is_discarded()) return refuse(ErrorCode::io, "Alertmanager's answer is no JSON");
            std::set<Labels> there;
            std::string states;
            for (const Json& group : groups) {
                for (const Json& alert : group["alerts"]) {
                    there.insert(alert["labels"].get<Labels>());
                    states += alert["fingerprint"].get<std::string>() + alert["status"].dump();
                }
            }
            if (there == now && states == before && states.find("unprocessed") == std::string::npos)
                return groups;
            before = std::move(states);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return refuse(ErrorCode::io, "Alertmanager did not take the alerts within two seconds");
    }

    static void take(Row& row, const Ring& ring, const Json& groups, std::set<std::string>& pages) {
        auto& cell = row.cells[ring.rule];
        for (const Json& group : groups) {
            for (const Json& alert : group["alerts"]) {
                if (alert["labels"].get<Labels>() != ring.instance->labels) continue;
                const std::string receiver = group["receiver"]["name"].get<std::string>();
                if (alert["status"]["state"] == "active") {
                    cell.paged.push_back(receiver);
                    pages.insert(receiver + group["labels"].dump());
                    continue;
                }
                for (const Json& by : alert["status"]["inhibitedBy"])
                    cell.suppressed_by.push_back(name_of(groups, by.get<std::string>()));
            }
        }
        for (auto* names : {&cell.paged, &cell.suppressed_by}) {
            std::sort(names->begin(), names->end());
            names->erase(std::unique(names->begin(), names->end()), names->end());
        }
    }

    static std::string name_of(const Json& groups, const std::string& fingerprint) {
        for (const Json& group : groups) {
            for (const Json& alert : group["alerts"]) {
                if (alert["fingerprint"] == fingerprint)
                    return alert["labels"].value("alertname", fingerprint);
            }
        }
        return fingerprint;
    }

    int port_;
    double group_wait_;
    std::set<Labels> posted_;
};

}  // namespace

Result<void> query_pager(Study& study, const std::string& program, const std::filesystem::path& config) {
    auto kept = results::alerts::read_pager_config(config);
    if (!kept) return tl::unexpected(kept.error());
    if (results::processes::find_program(program).empty())
        return refuse(ErrorCode::environment, "there is no '" + program + "' on this machine",
                      "install Alertmanager (Debian: apt install prometheus-alertmanager)");
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
        std::ifstream in(log);
        std::string line, words;
        while (std::getline(in, line)) {
            if (const std::size_t at = line.find("err=\""); at != std::string::npos)
                words = line.substr(at + 5, line.rfind('"') - at - 5);
        }
        if (words.empty()) return ready;
        return refuse(ErrorCode::bad_input, "Alertmanager refuses the configuration: " + words, "",
                      {config.string(), 0, 0});
    }
    Pager pager(port, kept->group_wait);
    for (Row& row : study.rows) {
        if (!row.trouble.empty()) continue;
        if (auto done = pager.page_row(study, row); !done) return done;
    }
    return {};
}

}  // namespace deadrank::runners::serve

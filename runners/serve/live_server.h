// runners/serve/live_server.h — A running Prometheus of an operator's, which is only queried for its rules,
// its targets and the series it lacks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/alerts/static_check.h"
#include "results/exporters/series.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

class LiveServer {
public:
    // Errors: usage, for an invalid address; io, when there is no answer, when the answer is a redirect or a
    // refusal, or when it is not from Prometheus.
    static scenarios::Result<LiveServer> open(const std::string& url, int timeout_seconds = 10);

    const std::string& version() const { return version_; }

    // Writes its groups as rule files below `directory`, one for each file that it has loaded.
    scenarios::Result<std::vector<std::string>> rule_files(const std::filesystem::path& directory) const;

    // Labels of its active scrape targets.
    scenarios::Result<std::vector<results::exporters::Labels>> targets() const;

    // How often it scrapes most of its targets and evaluates most of its groups, in seconds; 0 = it does not
    // say.
    struct Intervals {
        double scrape = 0, eval = 0;
    };
    scenarios::Result<Intervals> intervals() const;

    // Selectors of these rules that matched nothing in its last hour, each with the most similar names there.
    // Only notes, since a series that appears only in a failure is rightly absent.
    scenarios::Result<std::vector<results::alerts::StaticFinding>> missing(
        const std::vector<results::alerts::Rule>& rules,
        const results::alerts::StaticAnalysis& analysis) const;

private:
    LiveServer(Address there, std::string url, int timeout)
        : there_(std::move(there)), url_(std::move(url)), timeout_(timeout) {}

    // The member "data" of an answer, as JSON text.
    scenarios::Result<std::string> data(const std::string& path) const;
    scenarios::Result<bool> matches(const std::string& selector) const;
    scenarios::Result<std::vector<std::string>> values_of(const std::string& label,
                                                          const std::string& metric) const;
    scenarios::Result<results::alerts::StaticFinding> missing_one(
        const results::alerts::Rule& rule, const results::alerts::Selector& selector,
        const std::vector<std::string>& names) const;

    Address there_;
    std::string url_, version_;
    int timeout_ = 10;
};

// Further targets for a site: those of `found` whose job is not one of the site's exporters.
std::vector<results::exporters::Labels> foreign_targets(const std::vector<results::exporters::Labels>& found,
                                                        const results::exporters::World& world);

}  // namespace deadrank::runners::serve

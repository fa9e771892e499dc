// runners/storm/cluster_model.cpp — Reads a cluster's file. Rates come from an incident table of the
// taxonomy, or from failures per thousand node-days.
#include "runners/storm/cluster_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <optional>

#include "results/exporters/toml_tree.h"
#include "scenarios/model/document.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

namespace {

using results::exporters::TomlNode;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

constexpr std::array<std::string_view, 3> noticed_names = {"crash", "hang", "silent"};

class ClusterReader {
public:
    ClusterReader(const std::filesystem::path& file, const scenarios::Taxonomy& taxonomy)
        : file_(file.string()), taxonomy_(taxonomy) {
        model_.id = file.stem().string();
    }

    Result<ClusterModel> read(const TomlNode& tree) {
        for (const auto& [table, keys] : tables()) {
            const TomlNode& node = std::string_view(table).empty() ? tree : tree[table];
            if (auto checked = results::exporters::check_members(node, keys, file_); !checked)
                return tl::unexpected(checked.error());
        }
        read_cluster(tree["cluster"]);
        read_failures(tree);
        read_causes(tree["cause"]);
        read_gaps(tree["gaps"]);
        read_places(tree);
        read_job(tree["job"]);
        model_.source = tree["source"].text_or(model_.source);
        if (model_.rate <= 0)
            no(tree, "nothing says how often it fails", "name a table, or per_1000_node_days");
        if (model_.source.empty()) no(tree, "no source is named", "write source = \"…\"");
        if (problem_) return tl::unexpected(*problem_);
        return model_;
    }

private:
    static std::vector<std::pair<const char*, std::vector<std::string>>> tables() {
        return {{"",
                 {"format", "table", "source", "per_1000_node_days", "cluster", "gaps", "places", "repair",
                  "job", "noticed", "cause", "together"}},
                {"cluster", {"gpus", "gpus_per_node", "days", "spares"}},
                {"gaps", {"process", "shape", "file"}},
                {"places", {"bad_share", "bad_factor", "burn_in_days", "burn_in_factor", "all_new"}},
                {"repair",
                 {"back_after", "mended_share", "false_drains_per_1000_node_days", "false_drain_check",
                  "preemptions_per_day", "preempted_for"}},
                {"job",
                 {"checkpoint_every", "checkpoint_cost", "restart", "crash_noticed", "hang_noticed",
                  "silent_noticed"}}};
    }

    // Only the first problem is reported.
    void no(const TomlNode& node, std::string what, std::string remedy) {
        if (!problem_)
            problem_ = scenarios::Error{
                ErrorCode::bad_input, std::move(what), std::move(remedy), {file_, std::max(node.line, 1), 0}};
    }

    double number(const TomlNode& table, const char* key, double otherwise, double least, double most) {
        const double value = table[key].number_or(otherwise);
        if (value < least || value > most)
            no(table[key], fmt::format("{} cannot be {:g}", key, value),
               fmt::format("it lies between {:g} and {:g}", least, most));
        return value;
    }

    double hours(const TomlNode& table, const char* key, double otherwise) {
        if (!table[key]) return otherwise;
        const double seconds = results::exporters::seconds_of(table[key].text_or());
        if (seconds < 0)
            no(table[key], fmt::format("'{}' is not a duration", table[key].text_or()), "write \"10m\"");
        return seconds / 3600;
    }

    void read_cluster(const TomlNode& node) {
        model_.gpus = number(node, "gpus", 1024, 1, 1e7);
        model_.gpus_per_node = number(node, "gpus_per_node", 8, 1, 1024);
        model_.days = number(node, "days", 30, 0.01, 3650);
        model_.spares = number(node, "spares", 0, 0, 1e6);
    }

    void read_failures(const TomlNode& tree) {
        const std::string id = tree["table"].text_or();
        if (id.empty()) {
            model_.rate = number(tree, "per_1000_node_days", 0, 0, 1e6) / 1000 / 24 / model_.gpus_per_node;
            model_.causes = {{.name = "any failure"}};
            return;
        }
        std::vector<std::string> known;
        for (const auto& table : taxonomy_.incidents) {
            known.push_back(table.id);
            if (table.id != id) continue;
            if (!table.counts_are_weights || table.days <= 0 || table.devices <= 0)
                return no(tree["table"], fmt::format("the table {} states no rate", id),
                          "say per_1000_node_days");
            double all = 0;
            for (const auto& row : table.rows) {
                model_.causes.push_back({.name = row.name, .weight = static_cast<double>(row.weight)});
                all += static_cast<double>(row.weight);
            }
            model_.rate = all / static_cast<double>(table.days) / 24 / static_cast<double>(table.devices);
            model_.source = table.source;
            return;
        }
        no(tree["table"], fmt::format("'{}' is not an incident table", id),
           "did you mean " + scenarios::nearest(id, known) + "?");
    }

    void read_causes(const TomlNode& node) {
        for (const TomlNode& item : node.items) {
            if (auto checked = results::exporters::check_members(
                    item, {"name", "weight", "noticed", "takes_node"}, file_);
                !checked) {
                problem_ = problem_ ? problem_ : checked.error();
                return;
            }
            Cause* cause = cause_named(item);
            if (cause == nullptr) return;
            if (item["weight"]) cause->weight = number(item, "weight", 1, 0, 1e9);
            if (item["takes_node"]) cause->takes_node = item["takes_node"].is_true();
            const std::string how = item["noticed"].text_or("crash");
            const auto at = std::find(noticed_names.begin(), noticed_names.end(), how);
            if (at == noticed_names.end())
                return no(item["noticed"], fmt::format("'{}' is not a way to notice", how),
                          "use crash, hang or silent");
            cause->noticed = static_cast<Noticed>(at - noticed_names.begin());
        }
    }

    // A row of the incident table; without a table, a cause that the file itself names.
    Cause* cause_named(const TomlNode& item) {
        const std::string name = item["name"].text_or();
        std::vector<std::string> known;
        for (Cause& one : model_.causes) {
            if (one.name == name) return &one;
            known.push_back(one.name);
        }
        if (known.size() > 1 && !named_) {
            no(item["name"], fmt::format("the table has no row '{}'", name),
               "did you mean '" + scenarios::nearest(name, known) + "'?");
            return nullptr;
        }
        if (!named_) model_.causes.clear();
        named_ = true;
        model_.causes.push_back({.name = name});
        return &model_.causes.back();
    }

    void read_gaps(const TomlNode& node) {
        const std::string process = node["process"].text_or("exponential");
        model_.shape = number(node, "shape", 1, 0.1, 10);
        if (process == "weibull")
            model_.gaps = GapModel::Kind::weibull;
        else if (process == "gamma")
            model_.gaps = GapModel::Kind::gamma;
        else if (process == "empirical")
            read_empirical(node);
        else if (process != "exponential")
            no(node["process"], fmt::format("'{}' is not a process", process),
               "use exponential, weibull, gamma or empirical");
    }

    void read_empirical(const TomlNode& node) {
        const auto at = std::filesystem::path(file_).parent_path() / node["file"].text_or();
        std::ifstream in(at);
        for (double gap = 0; in >> gap;) {
            if (gap > 0) model_.empirical.push_back(gap);
        }
        if (model_.empirical.size() < 2)
            no(node["file"], fmt::format("'{}' has no gaps", at.string()),
               "write at least two positive numbers, one a line, in any unit: the rate comes from the model");
    }

    void read_places(const TomlNode& tree) {
        const TomlNode& places = tree["places"];
        model_.bad_share = number(places, "bad_share", 0, 0, 1);
        model_.bad_factor = number(places, "bad_factor", 1, 1, 1000);
        model_.burn_in_days = number(places, "burn_in_days", 0, 0, 3650);
        model_.burn_in_factor = number(places, "burn_in_factor", 1, 1, 100);
        model_.all_new = places["all_new"].is_true();
        for (const TomlNode& item : tree["together"].items)
            model_.together.push_back({item["what"].text_or(),
                                       static_cast<int>(number(item, "nodes", 1, 1, 1e5)),
                                       number(item, "share", 0, 0, 1)});
        const TomlNode& repair = tree["repair"];
        model_.repair = hours(repair, "back_after", model_.repair);
        model_.mended = number(repair, "mended_share", 1, 0, 1);
        model_.false_drains = number(repair, "false_drains_per_1000_node_days", 0, 0, 1e6) / 1000;
        model_.false_drain_check = hours(repair, "false_drain_check", model_.false_drain_check);
        model_.preemptions = number(repair, "preemptions_per_day", 0, 0, 1e4);
        model_.preempted_for = hours(repair, "preempted_for", model_.preempted_for);
    }

    void read_job(const TomlNode& node) {
        for (const auto& [key, into] :
             {std::pair{"checkpoint_every", &model_.checkpoint_every},
              std::pair{"checkpoint_cost", &model_.checkpoint_cost}, std::pair{"restart", &model_.restart},
              std::pair{"crash_noticed", &model_.crash_noticed},
              std::pair{"hang_noticed", &model_.hang_noticed},
              std::pair{"silent_noticed", &model_.silent_noticed}})
            *into = hours(node, key, *into);
        if (model_.checkpoint_every <= 0)
            no(node["checkpoint_every"], "a checkpoint_every of nothing", "write \"30m\"");
    }

    std::string file_;
    const scenarios::Taxonomy& taxonomy_;
    ClusterModel model_;
    std::optional<scenarios::Error> problem_;
    bool named_ = false;
};

}  // namespace

std::string_view name_of(Noticed noticed) { return noticed_names[static_cast<std::size_t>(noticed)]; }

double ClusterModel::noticed_after(Noticed how) const {
    return how == Noticed::crash ? crash_noticed : how == Noticed::hang ? hang_noticed : silent_noticed;
}

Result<ClusterModel> load_cluster(const std::filesystem::path& file, const scenarios::Taxonomy& taxonomy) {
    auto tree = results::exporters::read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    return ClusterReader(file, taxonomy).read(*tree);
}

double young_interval(const ClusterModel& model) {
    return std::sqrt(2 * model.checkpoint_cost * model.between());
}

double daly_interval(const ClusterModel& model) {
    const double cost = model.checkpoint_cost, between = model.between();
    if (cost >= 2 * between) return between;
    const double x = cost / (2 * between);
    return std::sqrt(2 * cost * between) * (1 + std::sqrt(x) / 3 + x / 9) - cost;
}

}  // namespace deadrank::runners

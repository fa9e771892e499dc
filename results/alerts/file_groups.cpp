// results/alerts/file_groups.cpp — Which rule files can be judged as one, and the answers of several
// judgements as one study.
#include "results/alerts/file_groups.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "results/alerts/emitted.h"

namespace deadrank::results::alerts {

namespace {

// What one set of files says about the site.
struct Demands {
    std::vector<std::size_t> files;
    bool kubernetes = false;
    std::map<std::string, std::string> names;  // "job dcgm" → its name

    bool agrees_with(const Demands& other) const {
        return kubernetes == other.kubernetes &&
               std::all_of(names.begin(), names.end(), [&](const auto& one) {
                   const auto there = other.names.find(one.first);
                   return there == other.names.end() || there->second == one.second;
               });
    }
};

// The first file of each set of files that read what others of them record.
std::vector<std::size_t> group_dependent_files(const std::vector<RuleFile>& files) {
    std::vector<std::size_t> first(files.size());
    std::iota(first.begin(), first.end(), 0);
    std::map<std::string, std::size_t> records;
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (const Rule& rule : files[i].rules) {
            if (!rule.is_alert) records.emplace(rule.name, i);
        }
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (const Rule& rule : files[i].rules) {
            for (const std::string& name : scan(rule.expr).identifiers) {
                const auto at = records.find(name);
                if (at == records.end() || first[at->second] == first[i]) continue;
                const auto [low, high] = std::minmax(first[at->second], first[i]);
                std::replace(first.begin(), first.end(), std::size_t{high}, std::size_t{low});
            }
        }
    }
    return first;
}

Demands demands_of(const std::vector<RuleFile>& files, std::vector<std::size_t> members,
                   exporters::World world, bool choose) {
    Demands demands{.files = std::move(members)};
    std::vector<RuleFile> own;
    std::vector<Rule> rules;
    for (const std::size_t one : demands.files) {
        own.push_back(files[one]);
        rules.insert(rules.end(), files[one].rules.begin(), files[one].rules.end());
    }
    demands.kubernetes = choose && !kubernetes_reason(own, world).empty();
    if (demands.kubernetes) exporters::put_in_kubernetes(world.profile, *world.catalog);
    for (const auto& [exporter, job] : map_jobs(rules, world)) demands.names["job " + exporter] = job;
    for (const auto& [exporter, space] : namespaces_in(rules, world))
        demands.names["namespace " + exporter] = space;
    return demands;
}

}  // namespace

std::vector<std::vector<std::size_t>> groups_of_files(const std::vector<RuleFile>& files,
                                                      const exporters::World& world, bool choose) {
    const std::vector<std::size_t> first = group_dependent_files(files);
    std::vector<Demands> groups;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (first[i] != i) continue;
        std::vector<std::size_t> members;
        for (std::size_t j = i; j < files.size(); ++j) {
            if (first[j] == i) members.push_back(j);
        }
        Demands demands = demands_of(files, members, world, choose);
        const auto at = std::find_if(groups.begin(), groups.end(),
                                     [&](const Demands& one) { return one.agrees_with(demands); });
        if (at == groups.end()) {
            groups.push_back(std::move(demands));
            continue;
        }
        at->files.insert(at->files.end(), members.begin(), members.end());
        at->names.merge(demands.names);
    }
    std::vector<std::vector<std::size_t>> all;
    for (Demands& one : groups) {
        std::sort(one.files.begin(), one.files.end());
        all.push_back(std::move(one.files));
    }
    return all;
}

namespace {

template <typename Items>
void move_into(Items& items, Items& more) {
    items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// `before`: how many rules come before these.
void append_answer(PlayerAnswer& answer, PlayerAnswer more, std::size_t before) {
    for (auto& [key, curve] : more.curves) answer.curves[{key.first + before, key.second}] = std::move(curve);
    for (auto& [key, curve] : more.far) answer.far[{key.first + before, key.second}] = std::move(curve);
    for (auto& [rule, why] : more.why_unjudged) answer.why_unjudged[rule + before] = std::move(why);
    move_into(answer.activity, more.activity);
    move_into(answer.unjudged, more.unjudged);
    move_into(answer.reused, more.reused);
    move_into(answer.eval, more.eval);
    answer.cpu_seconds += more.cpu_seconds;
}

// A row that was not played has a cell without a verdict for each rule.
void fill_cells(Row& row, std::size_t rules, const std::string& why) {
    while (row.cells.size() < rules) row.cells.push_back({.verdict = AlertVerdict::unjudged, .says = why});
    row.played.activity.resize(rules);
    row.played.unjudged.resize(rules, true);
    row.played.reused.resize(rules, false);
    row.played.eval.resize(rules, 15);
}

void append_row(Row& row, Row more, std::size_t before, std::size_t after) {
    if (!row.trouble.empty() && !more.trouble.empty()) return;
    fill_cells(row, before, row.trouble);
    fill_cells(more, after, more.trouble);
    if (!row.trouble.empty()) row.touched = more.touched;
    row.trouble.clear();
    row.touched.moved.merge(more.touched.moved);
    row.touched.vanished.merge(more.touched.vanished);
    if (more.best >= 0) {
        const auto& best = more.cells[static_cast<std::size_t>(more.best)];
        if (row.best < 0 || best.latency_low < row.cells[static_cast<std::size_t>(row.best)].latency_low)
            row.best = more.best + static_cast<int>(before);
    }
    move_into(row.cells, more.cells);
    append_answer(row.played, std::move(more.played), before);
}

const char* why_without_answers(const Study& part) {
    return part.complete ? "there was nobody to judge it" : "there was no time left for it";
}

// Files whose healthy run was stopped, or never began: nothing is known of their alerts.
void mark_unjudged(Study& part) {
    PlayerAnswer& played = part.healthy_played;
    const std::size_t rules = part.rules.size();
    played.activity.resize(rules);
    played.reused.resize(rules, false);
    played.eval.resize(rules, 15);
    played.unjudged.assign(rules, true);
    for (std::size_t i = 0; i < rules; ++i) played.why_unjudged[i] = {why_without_answers(part), 0, ""};
}

}  // namespace

void append(Study& study, Study other) {
    const std::size_t before = study.rules.size(), after = other.rules.size();
    for (Study* part : {&study, &other})
        if (part->healthy.empty()) mark_unjudged(*part);
    move_into(study.files, other.files);
    move_into(study.rules, other.rules);
    move_into(study.analysis.rules, other.analysis.rules);
    move_into(study.analysis.findings, other.analysis.findings);
    study.healthy.resize(before);
    other.healthy.resize(after);
    move_into(study.healthy, other.healthy);
    append_answer(study.healthy_played, std::move(other.healthy_played), before);
    for (std::size_t i = 0; i < std::min(study.rows.size(), other.rows.size()); ++i)
        append_row(study.rows[i], std::move(other.rows[i]), before, after);
    if (study.rows.empty()) study.rows = std::move(other.rows);
    for (Row& row : study.rows)
        if (row.trouble.empty()) fill_cells(row, before + after, why_without_answers(other));
    for (std::string& note : other.notes) {
        if (std::find(study.notes.begin(), study.notes.end(), note) == study.notes.end())
            study.notes.push_back(std::move(note));
    }
    study.cpu_seconds += other.cpu_seconds;
    study.complete = study.complete && other.complete;
}

}  // namespace deadrank::results::alerts

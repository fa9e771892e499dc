// results/alerts/rule.cpp — Alert rules as read from a Prometheus rule file.
#include "results/alerts/rule.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <yaml-cpp/yaml.h>

#include "results/exporters/noise.h"
#include "results/exporters/toml_file.h"
#include "results/record/text_file.h"
#include "scenarios/model/document.h"

namespace deadrank::results::alerts {

// ── Rule files through yaml-cpp, for structure and lines. What the rules mean is left to Prometheus:
// nothing is refused here that its own parser might accept.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

std::string text_of(const YAML::Node& node) {
    return node && node.IsScalar() ? node.Scalar() : std::string();
}

std::map<std::string, std::string> texts_of(const YAML::Node& node) {
    std::map<std::string, std::string> texts;
    if (!node || !node.IsMap()) return texts;
    for (const auto& entry : node) texts[text_of(entry.first)] = text_of(entry.second);
    return texts;
}

double duration_of(const YAML::Node& node) { return std::max(0.0, exporters::seconds_of(text_of(node))); }

// ── Bounds. Beyond them a file is none that anybody wrote, and reading it takes minutes or the whole stack.

constexpr std::size_t expression_bytes_most = 16'384;
constexpr double interval_least = 1;  // seconds; a day at 1 ms is 86 million evaluations
constexpr int yaml_depth_most = 100;
constexpr std::size_t file_bytes_most = 8 << 20;

void refuse_node(const YAML::Node& node, const std::string& why) { throw YAML::Exception(node.Mark(), why); }

// Lines that are indented under each other, and open brackets: yaml-cpp recurses for each.
void check_depth(std::string_view text) {
    std::vector<std::size_t> indents;
    int open = 0, number = 0;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t indent = line.find_first_not_of(" -");
        if (indent != std::string_view::npos) {
            while (!indents.empty() && indents.back() >= indent) indents.pop_back();
            indents.push_back(indent);
        }
        for (const char letter : line) {
            if (letter == '[' || letter == '{') ++open;
            if (letter == ']' || letter == '}') open = std::max(open - 1, 0);
            if (open <= yaml_depth_most && std::ssize(indents) <= yaml_depth_most) continue;
            YAML::Mark mark;
            mark.line = number;
            throw YAML::Exception(mark, "it is nested more than 100 levels deep");
        }
        ++number;
    }
}

void read_group(const YAML::Node& group, RuleFile& file) {
    if (!group.IsMap() || !group["rules"] || !group["rules"].IsSequence()) return;
    for (const YAML::Node& node : group["rules"]) {
        if (!node.IsMap()) continue;
        Rule rule{.is_alert = !node["record"],
                  .name = text_of(node["alert"] ? node["alert"] : node["record"]),
                  .expr = text_of(node["expr"]),
                  .hold = duration_of(node["for"]),
                  .keep_firing = duration_of(node["keep_firing_for"]),
                  .labels = texts_of(node["labels"]),
                  .annotations = texts_of(node["annotations"]),
                  .file = file.path,
                  .line = line_of(node),
                  .expr_line = node["expr"] ? line_of(node["expr"]) : line_of(node),
                  .group = text_of(group["name"]),
                  .group_line = line_of(group),
                  .group_limit = std::atoi(text_of(group["limit"]).c_str())};
        if (rule.expr.size() > expression_bytes_most)
            refuse_node(node["expr"], "an expression has more than 16 KiB: no rule needs as much");
        if (group["interval"]) rule.interval = exporters::seconds_of(text_of(group["interval"]));
        if (rule.interval > 0 && rule.interval < interval_least)
            refuse_node(group["interval"],
                        "rules are evaluated more than once a second: the least interval is 1s");
        file.rules.push_back(std::move(rule));
    }
}

bool is_resource(const YAML::Node& document) {
    return document.IsMap() && (document["items"] || document["kind"]);
}

// Groups of a plain file, of a PrometheusRule, or of a List of them.
void collect(const YAML::Node& document, std::vector<YAML::Node>& groups, bool& wrapped) {
    if (!document.IsMap()) return;
    const std::string kind = text_of(document["kind"]);
    if (document["items"] && document["items"].IsSequence()) {
        for (const YAML::Node& item : document["items"]) collect(item, groups, wrapped);
        wrapped = true;
        return;
    }
    const bool resource = kind == "PrometheusRule" || kind == "VMRule";
    const YAML::Node holder = resource ? document["spec"] : document;
    wrapped = wrapped || resource;
    if (!holder || !holder.IsMap() || !holder["groups"] || !holder["groups"].IsSequence()) return;
    for (const YAML::Node& group : holder["groups"]) groups.push_back(group);
}

// Files of the same name in two directories get separate copies.
std::filesystem::path copy_of(const std::string& path, const std::filesystem::path& scratch,
                              const char* ending) {
    return scratch / fmt::format("{}-{:08x}{}", std::filesystem::path(path).stem().string(),
                                 exporters::hash_of(std::filesystem::absolute(path).string()) & 0xffffffff,
                                 ending);
}

// Removes the fields of a group that Thanos Ruler reads and Prometheus rejects.
bool drop_thanos_fields(std::vector<YAML::Node>& groups) {
    bool any = false;
    for (YAML::Node& group : groups) {
        if (group.IsMap()) any = group.remove("partial_response_strategy") || any;
    }
    return any;
}

Result<void> unwrap(const std::vector<YAML::Node>& groups, const std::filesystem::path& scratch,
                    RuleFile& file) {
    YAML::Emitter out;
    out << YAML::BeginMap << YAML::Key << "groups" << YAML::Value << YAML::BeginSeq;
    for (const YAML::Node& group : groups) out << group;
    out << YAML::EndSeq << YAML::EndMap;
    const auto copy = copy_of(file.path, scratch, ".unwrapped.yml");
    file.content = std::string(out.c_str()) + "\n";
    if (auto written = write_text(file.content, copy); !written) return written;
    file.loaded = std::filesystem::absolute(copy).string();
    file.unwrapped = true;
    return {};
}

}  // namespace

ListedFiles rule_files_in(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    ListedFiles listed;
    for (const std::string& path : paths) {
        std::error_code trouble;
        if (!fs::is_directory(path, trouble)) {
            listed.files.emplace_back(path, false);
            continue;
        }
        std::vector<std::string> found, open = {path};
        while (!open.empty()) {
            const std::string directory = std::move(open.back());
            open.pop_back();
            fs::directory_iterator at(directory, trouble);
            for (; !trouble && at != fs::directory_iterator(); at.increment(trouble)) {
                std::error_code ignored;
                const std::string ending = at->path().extension().string();
                // Kubernetes keeps the files of a ConfigMap in a hidden directory, beside links to them.
                const bool hidden = at->path().filename().string().starts_with('.');
                if (at->is_directory(ignored) && !at->is_symlink(ignored) && !hidden)
                    open.push_back(at->path().string());
                else if (at->is_regular_file(ignored) &&
                         (ending == ".yml" || ending == ".yaml" || ending == ".rules"))
                    found.push_back(at->path().string());
            }
            if (trouble)
                listed.unread.push_back(fmt::format("{} cannot be listed: {}", directory, trouble.message()));
        }
        std::sort(found.begin(), found.end());
        for (std::string& one : found) listed.files.emplace_back(std::move(one), true);
    }
    return listed;
}

Result<RuleFile> read_rules(const std::filesystem::path& path, const std::filesystem::path& scratch) {
    auto in = scenarios::open_input(path);
    if (!in) return tl::unexpected(in.error());
    RuleFile file{.path = path.string(),
                  .loaded = std::filesystem::absolute(path).string(),
                  .content = std::string(file_bytes_most + 1, '\0')};
    in->read(file.content.data(), static_cast<std::streamsize>(file.content.size()));  // a device has no end
    file.content.resize(static_cast<std::size_t>(in->gcount()));
    if (file.content.size() > file_bytes_most)
        return refuse(ErrorCode::bad_input,
                      fmt::format("'{}' is larger than 8 MiB: that is no rule file", file.path),
                      "give the file with `groups:`; a log goes to deadrank diagnose", {file.path});
    try {
        check_depth(file.content);  // before the patterns of check_kind, which take long on deep indentation
        if (auto checked = check_kind(file.content, file.path); !checked)
            return tl::unexpected(checked.error());
        std::vector<YAML::Node> groups;
        bool wrapped = false;
        const auto documents = YAML::LoadAll(file.content);
        for (const YAML::Node& document : documents) {
            // Prometheus reads only the first document of a file; kubectl reads them all.
            const bool first = &document == &documents.front();
            if (first || wrapped || is_resource(document))
                collect(document, groups, wrapped);
            else if (document.IsMap() && document["groups"])
                file.notes.push_back(
                    fmt::format("{}:{}: Prometheus reads the first YAML document of a file alone: the "
                                "groups from here on are not loaded, and not judged",
                                file.path, line_of(document)));
        }
        if (groups.empty() && !documents.empty() && !(documents[0].IsMap() && documents[0]["groups"])) {
            return refuse(ErrorCode::bad_input,
                          "'" + file.path + "' has no `groups`: it is not a Prometheus rule file",
                          "a rule file begins with `groups:`", {file.path, 1, 0});
        }
        const bool thanos = drop_thanos_fields(groups);
        for (const YAML::Node& group : groups) read_group(group, file);
        if (wrapped || thanos) {
            if (auto done = unwrap(groups, scratch, file); !done) return tl::unexpected(done.error());
        }
        file.resource = wrapped;
        if (wrapped)
            file.notes.push_back(file.path + " is a Kubernetes resource: its rules were unwrapped into " +
                                 file.loaded);
        if (thanos)
            file.notes.push_back(file.path +
                                 ": partial_response_strategy is Thanos Ruler's, and was left out for "
                                 "Prometheus");
    } catch (const YAML::Exception& trouble) {
        if (is_template(file.content)) {
            return refuse(ErrorCode::bad_input, "'" + file.path + "' is a template, not YAML",
                          "render it first (Helm: helm template CHART > rules.yaml)",
                          {file.path, trouble.mark.line + 1, 0});
        }
        file.broken = trouble.msg;
        file.broken_line = trouble.mark.line + 1;
        file.broken_column = trouble.mark.column + 1;
        file.rules.clear();
    }
    return file;
}

// ── Recognises what is often mistaken for a rule file, before any YAML is parsed. Prometheus' own templates
// ({{ $labels.gpu }}) are welcome; those of Helm mean that the file is not rendered yet.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct Stranger {
    const char* pattern;  // in one line of the text
    const char* what;
    const char* remedy;
};

// The first pattern that fits decides what the file is.
constexpr Stranger strangers[] = {
    {R"~(\{\{-?([^}]*[\s(])?(\$(?!labels)\w*)?\.(Values|Release|Chart|Files|Capabilities)\b|)~"
     R"~(\{\{-?\s*(include\s+"|template\s+"|define\s+"|toYaml|tpl\s))~",
     "is a Helm template, not YAML", "render it first: helm template CHART > rules.yaml"},
    {R"~(^\s*\{%-?\s*\w)~", "is a Jinja template, not YAML",
     "render it first, as Ansible's template task does"},
    {R"~((^\s*"?|[{,]\s*")(panels|schemaVersion|templating)"?\s*:)~", "is a Grafana dashboard",
     "dashboards hold no Prometheus rules; give the rule files that Prometheus loads"},
    {R"~((^\s*-?\s*"?|[{,]\s*")(datasourceUid|noDataState|execErrState|relativeTimeRange|orgId)"?\s*:)~",
     "is a Grafana alert export: its rules are queries of Grafana's own",
     "copy the PromQL of each query (`expr`) and its threshold into a Prometheus rule file"},
    {R"~((\}|^)\s*(\|=|\|~|!~\s*["`]|\|\s*(json|logfmt|pattern|regexp|unpack|unwrap|line_format|)~"
     R"~(label_format|decolorize)\b)|\b(bytes_rate|bytes_over_time|rate_counter)\s*\(|)~"
     // Lines of a stream, counted: PromQL as well, but of no metric.
     R"~(\b(rate|count_over_time|absent_over_time)\s*\(\s*\{(?![^}]*__name__)[^}]*\}\s*\[)~",
     "is a Loki rule file: its expressions are LogQL, over lines of logs",
     "give the rule files that Prometheus loads; `deadrank diagnose` reads the logs themselves"},
    {R"~(^\s*-?\s*(promql_expr_test|alert_rule_test|input_series)\s*:)~", "is a promtool test file",
     "give the rule files that it names"},
    {R"~(^(scrape_configs|rule_files|remote_write)\s*:)~", "is a Prometheus configuration",
     "give the files that its rule_files names"},
    {R"~(^(receivers|inhibit_rules)\s*:)~", "is an Alertmanager configuration",
     "give it as --alertmanager FILE"},
    {R"~(^kind\s*:\s*(ConfigMap|Deployment|Service|DaemonSet|ServiceMonitor|PodMonitor)\b)~",
     "is a Kubernetes resource without rules", "give the PrometheusRule, or the rule file inside"},
};

// Counted from 1; 0 = none. Only the start of a long line is searched: std::regex recurses per character.
int first_line_with(const char* pattern, const std::string& text) {
    const std::regex wanted(pattern);
    int number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        ++number;
        const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
        const auto stop = begin + static_cast<std::ptrdiff_t>(std::min<std::size_t>(end - at, 1000));
        if (begin != stop && std::regex_search(begin, stop, wanted)) return number;
        at = end + 1;
    }
    return 0;
}

}  // namespace

bool is_template(const std::string& text) {
    return first_line_with(R"~(^\s*\{\{-?\s*(if|range|with|end|else)\b)~", text) > 0;
}

Result<void> check_kind(const std::string& text, const std::string& path) {
    const auto has_content = [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; };
    if (std::none_of(text.begin(), text.end(), has_content)) {
        return refuse(ErrorCode::bad_input, "'" + path + "' is empty", "give a Prometheus rule file");
    }
    if (text.find('\0') != std::string::npos) {
        return refuse(ErrorCode::bad_input, "'" + path + "' is not text", "give a Prometheus rule file");
    }
    // A manifest may hold a PrometheusRule among other resources.
    const bool has_rules = first_line_with(R"~(^kind\s*:\s*(PrometheusRule|VMRule)\b)~", text) > 0;
    for (const Stranger& stranger : strangers) {
        const int line = first_line_with(stranger.pattern, text);
        if (line > 0 && !(has_rules && std::string_view(stranger.pattern).starts_with("^kind")))
            return refuse(ErrorCode::bad_input, "'" + path + "' " + stranger.what, stranger.remedy,
                          {path, line, 0});
    }
    return {};
}

}  // namespace deadrank::results::alerts

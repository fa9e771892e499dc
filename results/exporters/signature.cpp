// results/exporters/signature.cpp — Reads the signature tables. A change without an action, or a consequence
// that names no signature, is refused: if a failure silently showed nothing, every alert would count as
// having missed it.
#include "results/exporters/signature.h"

#include <algorithm>

#include "results/exporters/toml_file.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::exporters {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

std::optional<double> number(const scenarios::Node& node) {
    if (!node.is_number()) return std::nullopt;
    return node.number_or(0);
}

double duration(const scenarios::Node& node, double otherwise) {
    return node ? seconds_of(node.text_or()) : otherwise;
}

Result<Whom> read_target(const scenarios::Node& node, const std::string& file) {
    const std::string word = node.text_or("target");
    if (word == "target") return Whom::target;
    if (word == "node") return Whom::node;
    if (word == "peers") return Whom::peers;
    if (word == "job") return Whom::job;
    return refuse(ErrorCode::bad_input, "unknown `on` '" + word + "'", "use target, node, peers or job",
                  {file, node.place.line, 0});
}

Result<Change> change_of(const scenarios::Node& node, const std::string& file) {
    static const std::vector<std::string> keys = {
        "metric", "except", "target", "down",   "on",    "where", "set",    "scale",    "add",
        "rate",   "ramp",   "cap",    "offset", "every", "for",   "gone",   "freeze",   "rate_scale",
        "nan",    "reset",  "boot",   "noise",  "after", "lasts", "labels", "recovers", "cools"};
    if (auto checked = check_members(node, keys, file); !checked) return tl::unexpected(checked.error());
    auto on = read_target(node["on"], file);
    if (!on) return tl::unexpected(on.error());
    Change change{.metrics = node["metric"].texts(),
                  .except = node["except"].text_or(),
                  .down_target = node["down"].is_true() ? node["target"].text_or("*") : "",
                  .on = *on,
                  .set = number(node["set"]),
                  .scale = number(node["scale"]),
                  .add = number(node["add"]),
                  .rate = number(node["rate"]),
                  .rate_scale = number(node["rate_scale"]),
                  .ramp = number(node["ramp"]),
                  .cap = number(node["cap"]),
                  .offset = number(node["offset"]),
                  .freeze = node["freeze"].is_true(),
                  .gone = node["gone"].is_true(),
                  .nan = node["nan"].is_true(),
                  .reset = node["reset"].is_true(),
                  .boot = node["boot"].is_true(),
                  .noise = !node["noise"] || node["noise"].is_true(),
                  .cools = node["cools"].is_true(),
                  .every = duration(node["every"], 0),
                  .on_for = duration(node["for"], 0),
                  .after = duration(node["after"], 0),
                  .lasts = duration(node["lasts"], -1),
                  .recovers = !node["recovers"] || node["recovers"].is_true()};
    for (const auto& [name, place, value] : node["where"].members) change.where[name] = value.text;
    for (const auto& [name, place, value] : node["labels"].members) change.labels[name] = value.text;
    const bool acts = change.set || change.scale || change.add || change.rate || change.rate_scale ||
                      change.ramp || change.offset || change.freeze || change.gone || change.nan ||
                      change.reset || change.boot || !change.down_target.empty();
    if (!acts || (change.metrics.empty() && change.down_target.empty())) {
        return refuse(ErrorCode::bad_input, "this change names no metric or does nothing to it",
                      "give it a metric and one of set, scale, add, rate, ramp, freeze, gone, …",
                      {file, node.place.line, 0});
    }
    return change;
}

Result<Signature> signature_of(const scenarios::Node& node, const std::string& file) {
    static const std::vector<std::string> keys = {"id",   "title",  "scope",  "kinds",    "within", "lasts",
                                                  "then", "source", "change", "internal", "suggest"};
    if (auto checked = check_members(node, keys, file); !checked) return tl::unexpected(checked.error());
    Signature out{.id = node["id"].text_or(),
                  .title = node["title"].text_or(),
                  .source = node["source"].text_or(),
                  .kinds = node["kinds"].texts(),
                  .within = duration(node["within"], 900),
                  .lasts = duration(node["lasts"], -1),
                  .internal = node["internal"].is_true(),
                  .suggest = {node["suggest"]["expr"].text_or(), node["suggest"]["hold"].text_or(),
                              node["suggest"]["says"].text_or()}};
    const std::string scope = node["scope"].text_or("gpu");
    if (scope == "gpu")
        out.scope = Scope::gpu;
    else if (scope == "port")
        out.scope = Scope::port;
    else if (scope == "node")
        out.scope = Scope::node;
    else if (scope == "job")
        out.scope = Scope::job;
    else
        return refuse(ErrorCode::bad_input, "unknown scope '" + scope + "'", "", {file, node.place.line, 0});
    if (out.source.empty()) {
        return refuse(ErrorCode::bad_input, "signature '" + out.id + "' says no source", "",
                      {file, node.place.line, 0});
    }
    for (const scenarios::Node& item : node["change"].items) {
        auto change = change_of(item, file);
        if (!change) return tl::unexpected(change.error());
        out.changes.push_back(std::move(*change));
    }
    for (const scenarios::Node& item : node["then"].items) {
        out.then.push_back(
            {item["signature"].text_or(), duration(item["after"], 0), duration(item["lasts"], -1)});
    }
    return out;
}

}  // namespace

bool Change::touches(std::string_view metric) const {
    if (metric == except) return false;
    return std::any_of(metrics.begin(), metrics.end(), [&](const std::string& name) {
        if (name.ends_with('*')) return metric.starts_with(std::string_view(name).substr(0, name.size() - 1));
        return metric == name;
    });
}

bool Change::touches(const Metric& metric) const {
    return touches(metric.name) || (!metric.follows.empty() && labels.empty() && touches(metric.follows));
}

const Signature* SignatureCatalog::find(std::string_view id) const {
    const auto at = std::find_if(signatures.begin(), signatures.end(),
                                 [&](const Signature& one) { return one.id == id; });
    return at == signatures.end() ? nullptr : &*at;
}

std::vector<std::string> SignatureCatalog::ids() const {
    std::vector<std::string> all;
    for (const Signature& one : signatures) {
        if (!one.internal) all.push_back(one.id);
    }
    return all;
}

namespace {

Result<void> check_consequences(const SignatureCatalog& catalog) {
    for (const Signature& one : catalog.signatures) {
        for (const Consequence& consequence : one.then) {
            if (catalog.find(consequence.signature) != nullptr) continue;
            return refuse(ErrorCode::bad_input, "signature '" + one.id + "' leads to '" +
                                                    consequence.signature + "', which is not a signature");
        }
    }
    return {};
}

Result<void> read_signatures(const std::filesystem::path& file, SignatureCatalog& catalog) {
    auto tree = read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    for (const scenarios::Node& node : (*tree)["signature"].items) {
        auto signature = signature_of(node, file.string());
        if (!signature) return tl::unexpected(signature.error());
        std::erase_if(catalog.signatures, [&](const Signature& one) { return one.id == signature->id; });
        catalog.signatures.push_back(std::move(*signature));
    }
    return {};
}

}  // namespace

Result<void> add_signatures(const std::filesystem::path& file, SignatureCatalog& catalog) {
    if (auto read = read_signatures(file, catalog); !read) return read;
    return check_consequences(catalog);
}

Result<SignatureCatalog> load_signatures(const std::filesystem::path& directory) {
    SignatureCatalog catalog;
    for (const char* name : {"gpu.toml", "network.toml", "host.toml", "job.toml"}) {
        if (auto read = read_signatures(directory / name, catalog); !read)
            return tl::unexpected(read.error());
    }
    if (auto checked = check_consequences(catalog); !checked) return tl::unexpected(checked.error());
    return catalog;
}

}  // namespace deadrank::results::exporters

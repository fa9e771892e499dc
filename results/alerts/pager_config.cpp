// results/alerts/pager_config.cpp — Keeps what decides who is paged, and drops every integration.
#include "results/alerts/pager_config.h"

#include <yaml-cpp/yaml.h>

#include "results/exporters/toml_file.h"
#include "scenarios/model/document.h"

namespace deadrank::results::alerts {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

Result<PagerConfig> read_pager_config(const std::filesystem::path& file) {
    auto in = scenarios::open_input(file);
    if (!in)
        return refuse(ErrorCode::io, "cannot read the Alertmanager configuration '" + file.string() + "'");
    constexpr std::size_t bytes_most = 4 << 20;
    std::string text(bytes_most + 1, '\0');
    in->read(text.data(), static_cast<std::streamsize>(text.size()));  // a device has no end
    text.resize(static_cast<std::size_t>(in->gcount()));
    if (text.size() > bytes_most)
        return refuse(ErrorCode::bad_input, "is larger than 4 MiB", "name an Alertmanager configuration",
                      {file.string()});
    PagerConfig config;
    try {
        const YAML::Node root = YAML::Load(text);
        if (!root.IsMap() || !root["route"] || !root["receivers"] || !root["receivers"].IsSequence())
            return refuse(ErrorCode::bad_input,
                          "'" + file.string() + "' is not an Alertmanager configuration",
                          "it has `route` and `receivers`", {file.string(), 1, 0});
        YAML::Node kept;
        for (const char* part : {"route", "inhibit_rules", "time_intervals", "mute_time_intervals"}) {
            if (root[part]) kept[part] = root[part];
        }
        for (const YAML::Node& receiver : root["receivers"]) {
            YAML::Node name;
            name["name"] = receiver["name"];
            kept["receivers"].push_back(name);
        }
        if (const YAML::Node wait = root["route"]["group_wait"]; wait && wait.IsScalar())
            config.group_wait = std::max(0.0, exporters::seconds_of(wait.Scalar()));
        YAML::Emitter out;
        out << kept;
        config.text = std::string(out.c_str()) + "\n";
    } catch (const YAML::Exception& trouble) {
        return refuse(ErrorCode::bad_input, "'" + file.string() + "' is not valid YAML: " + trouble.msg, "",
                      {file.string(), trouble.mark.line + 1, trouble.mark.column + 1});
    }
    return config;
}

}  // namespace deadrank::results::alerts

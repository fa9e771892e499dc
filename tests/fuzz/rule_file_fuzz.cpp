// tests/fuzz/rule_file_fuzz.cpp — Promise: a rule file is refused with words, is broken at a line, or gives
// rules of which the static check says what it has to say.
#include "results/alerts/rule.h"
#include "results/alerts/static_check.h"
#include "results/exporters/render.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace deadrank::fuzz {
namespace {

struct Site {
    results::exporters::MetricCatalog metrics;
    results::exporters::SignatureCatalog signatures;
    results::exporters::World world;
    results::alerts::Emitted emitted;

    Site()
        : metrics(results::exporters::load_metrics(tables("metrics")).value()),
          signatures(results::exporters::load_signatures(tables("signatures")).value()),
          world{&metrics, results::exporters::load_profile("dcgm-default", metrics).value(), {2, 2}, {}, 1,
                0},
          emitted(world, signatures) {}
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;

    static std::filesystem::path tables(const std::string& name) {
        return DEADRANK_SOURCE_DIRECTORY "/results/exporters/" + name;
    }
};

}  // namespace
}  // namespace deadrank::fuzz

FUZZ_TARGET(rule_file) {
    static const Site site;
    const MemoryFile file(text);
    const auto rules = results::alerts::read_rules(file.path(), std::filesystem::temp_directory_path());
    if (!rules) return refused(rules);
    CHECK(rules->broken.empty() || rules->rules.empty());
    results::alerts::analyse(rules->rules, site.emitted);
    if (rules->unwrapped) std::filesystem::remove(rules->loaded);
    return !rules->rules.empty();
}

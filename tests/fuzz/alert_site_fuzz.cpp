// tests/fuzz/alert_site_fuzz.cpp — Promise: what describes a site to `alerts` (a counters file, a name map, a
// table of metrics or signatures, a policy) is refused with words, or read.
#include "results/alerts/policy.h"
#include "results/exporters/profile.h"
#include "results/exporters/signature.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(alert_site) {
    static const auto some = [] {
        auto shipped =
            results::exporters::load_metrics(DEADRANK_SOURCE_DIRECTORY "/results/exporters/metrics").value();
        shipped.metrics.resize(10);  // each execution copies them
        return shipped;
    }();
    bool accepted = false;
    const auto take = [&](const auto& result) { accepted = (result || refused(result)) || accepted; };
    const MemoryFile file(text);
    auto metrics = some;
    results::exporters::SignatureCatalog signatures;
    take(results::exporters::load_name_map(file.path(), metrics));
    take(results::alerts::load_policy(file.path()));
    take(results::exporters::add_signatures(file.path(), signatures));
    take(results::exporters::add_metrics(file.path(), metrics));
    take(results::exporters::load_profile(file.path(), metrics));
    return accepted;
}

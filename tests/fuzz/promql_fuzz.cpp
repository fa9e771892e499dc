// tests/fuzz/promql_fuzz.cpp — Promise: tokens lie in the expression in their order, and what is said of an
// expression is said of any text.
#include "results/alerts/promql.h"
#include "scenarios/model/error.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(promql) {
    namespace alerts = results::alerts;
    if (text.size() > 16'384) return false;  // read_rules refuses them
    std::size_t end = 0;
    for (const alerts::Token& token : alerts::tokens_of(text)) {
        CHECK(token.at >= end && token.at + token.text.size() <= text.size());
        CHECK(text.substr(token.at, token.text.size()) == token.text);
        end = token.at + token.text.size();
    }
    const alerts::Reads reads = alerts::scan(text);
    std::set<std::string> all;
    for (const alerts::Threshold& threshold : alerts::thresholds_of(text)) all.insert(threshold.text);
    alerts::fails_without(text, all);
    alerts::without_thresholds(text);
    for (const alerts::Selector& selector : reads.selectors)
        alerts::without_selector(std::string(text), selector.text);
    return !reads.selectors.empty();
}

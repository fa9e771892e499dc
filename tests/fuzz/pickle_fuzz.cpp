// tests/fuzz/pickle_fuzz.cpp — Promise: a pickle is refused with words, or means a tree that is written and
// read as the same tree. A cut one gives what is whole.
#include <nlohmann/json.hpp>

#include "results/emitters/flight_recorder.h"
#include "results/importers/dump_reader.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(pickle) {
    std::string cut;
    const auto torn = results::importers::from_pickle(text, &cut);
    const auto tree = results::importers::from_pickle(text);
    if (!tree) return refused(tree);
    CHECK(torn && cut.empty() && *torn == *tree);
    return true;
}

// tests/sim/workloads/places_test.cpp — Goal: every seam and block that a workload publishes is explained,
// and every explained one is published, and asked for by the code.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <string>

#include "scenarios/model/kind_ids.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::tests {
namespace {

std::set<std::string> published() {
    std::set<std::string> names;
    for (const sim::WorkloadKind& kind : sim::workload_catalog()) {
        names.insert(kind.words.seams.begin(), kind.words.seams.end());
        names.insert(kind.words.blocks.begin(), kind.words.blocks.end());
    }
    return names;
}

std::string source_of_workloads() {
    std::string all;
    for (const char* room :
         {DEADRANK_SOURCE_DIRECTORY "/sim/workloads", DEADRANK_SOURCE_DIRECTORY "/sim/framework_parts"}) {
        for (const auto& entry : std::filesystem::directory_iterator(room)) {
            if (entry.path().filename() == "places.cpp") continue;
            std::ifstream file(entry.path());
            all.append(std::istreambuf_iterator<char>(file), {});
        }
    }
    return all;
}

TEST(Places, AreSortedAndAllSayWhatTheyMean) {
    const auto& places = sim::places();
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end(),
                               [](const auto& a, const auto& b) { return a.name < b.name; }));
    for (const sim::CodePlace& place : places) EXPECT_GT(place.meaning.size(), 10u) << place.name;
    EXPECT_TRUE(sim::meaning_of_place("gradient.divisr").empty());
}

TEST(Places, AreThoseThatWorkloadsPublish) {
    const std::set<std::string> names = published();
    for (const std::string& name : names)
        EXPECT_FALSE(sim::meaning_of_place(name).empty()) << name << " is nowhere explained";
    for (const sim::CodePlace& place : sim::places())
        EXPECT_TRUE(names.contains(std::string(place.name))) << place.name << " is of no workload";
}

// A name that nobody asks for would be accepted in a scenario, and do nothing.
TEST(Places, AreAskedForByTheCode) {
    const std::string source = source_of_workloads();
    ASSERT_GT(source.size(), 50'000u);
    for (const std::string& name : published()) {
        const bool put_together = name.starts_with("group.") && name != "group.order";
        const bool asked = source.find("seam(\"" + name + "\"") != std::string::npos ||
                           source.find("block(\"" + name + "\"") != std::string::npos;
        EXPECT_TRUE(asked || put_together) << name << " is published and asked for nowhere";
    }
}

// Goal: code that compares a workload's kind with an id means the row of that name.
TEST(WorkloadCatalog, HasTheNamesOfItsIds) {
    ASSERT_EQ(sim::workload_catalog().size(), std::size(scenarios::workload_ids));
    for (std::size_t i = 0; i < sim::workload_catalog().size(); ++i)
        EXPECT_EQ(sim::workload_catalog()[i].words.name, static_cast<scenarios::WorkloadId>(i));
}

}  // namespace
}  // namespace deadrank::tests

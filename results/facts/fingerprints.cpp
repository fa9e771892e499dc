// results/facts/fingerprints.cpp — The first fingerprint of a text is its own rank's, whatever
// number the rank has in the group.
#include "results/facts/fingerprints.h"

#include <algorithm>

namespace deadrank::results::detectors {

namespace {

constexpr std::string_view own_call = " is running collective: CollectiveFingerPrint(";

// Up to the shape: types and devices follow in a page of tensor options, and are part of the comparison only.
std::string_view short_form(std::string_view fingerprint) {
    return fingerprint.substr(0, fingerprint.find(", TensorDtypes="));
}

std::string_view fingerprint_in(std::string_view text) {
    const auto from = text.find(own_call);
    if (from == std::string_view::npos) return {};
    text.remove_prefix(from + own_call.size());
    return text.substr(0, text.find("), but Rank "));
}

struct Side {
    std::string_view fingerprint;
    std::vector<Rank> ranks = {};
};

}  // namespace

OddFingerprint odd_fingerprint(const Evidence& evidence, const Outbreak& outbreak) {
    std::vector<Side> sides;
    for (const Complaint& said : evidence.facts<Complaints>().first_of_each(outbreak.attempt)) {
        const std::string_view fingerprint = fingerprint_in(said.text);
        if (said.trouble != Trouble::mismatch || fingerprint.empty()) continue;
        auto side = std::find_if(sides.begin(), sides.end(),
                                 [&](const Side& other) { return other.fingerprint == fingerprint; });
        if (side == sides.end()) side = sides.insert(sides.end(), {.fingerprint = fingerprint});
        side->ranks.push_back(said.process);
    }
    std::stable_sort(sides.begin(), sides.end(),
                     [](const Side& a, const Side& b) { return a.ranks.size() > b.ranks.size(); });
    OddFingerprint found;
    if (sides.size() < 2) return found;
    for (std::size_t i = 1; i < sides.size(); ++i) {
        found.odd.insert(found.odd.end(), sides[i].ranks.begin(), sides[i].ranks.end());
    }
    if (found.odd.size() >= sides[0].ranks.size()) return {};
    found.odd = sorted(std::move(found.odd));
    found.usual = short_form(sides[0].fingerprint);
    found.unusual = short_form(sides[1].fingerprint);
    return found;
}

}  // namespace deadrank::results::detectors

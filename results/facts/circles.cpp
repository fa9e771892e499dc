// results/facts/circles.cpp — Follows who waits for whom to the ranks that wait for nobody outside of their
// own circle.
#include "results/facts/circles.h"

#include <algorithm>
#include <set>

namespace deadrank::results::detectors {

namespace {

// The ranks that can be reached from that one along the graph; itself only if it can be.
std::set<Rank> reached_from(const WaitGraph& graph, Rank start) {
    std::set<Rank> reached;
    std::vector<Rank> left = {start};
    while (!left.empty()) {
        const auto found = graph.find(left.back());
        left.pop_back();
        if (found == graph.end()) continue;
        for (const Rank next : found->second)
            if (reached.insert(next).second) left.push_back(next);
    }
    return reached;
}

WaitGraph turned_round(const WaitGraph& graph) {
    WaitGraph turned;
    for (const auto& [rank, waits_for] : graph)
        for (const Rank other : waits_for) turned[other].push_back(rank);
    return turned;
}

}  // namespace

std::vector<Circle> closed_circles(const WaitGraph& graph) {
    const WaitGraph turned = turned_round(graph);
    std::vector<Circle> circles;
    std::set<Rank> seen;
    for (const auto& [rank, unused] : graph) {
        // Each turn goes on to a rank further down, until all that a rank reaches also reach it.
        for (Rank start = rank; seen.insert(start).second;) {
            const std::set<Rank> down = reached_from(graph, start), up = reached_from(turned, start);
            const auto further =
                std::find_if(down.begin(), down.end(), [&](Rank one) { return !up.contains(one); });
            if (further != down.end()) {
                start = *further;
                continue;
            }
            if (!down.contains(start)) break;   // it waits for nobody that is known
            seen.insert(up.begin(), up.end());  // none of these is in another closed circle
            circles.push_back({{down.begin(), down.end()}, {up.begin(), up.end()}});
            break;
        }
    }
    std::sort(circles.begin(), circles.end(),
              [](const Circle& a, const Circle& b) { return a.members.front() < b.members.front(); });
    return circles;
}

}  // namespace deadrank::results::detectors

// runners/program/old_names.cpp — Names that commands had before they became verbs. They answer for one
// release.
#include "runners/program/old_names.h"

namespace deadrank::runners {

std::span<const OldName> old_names() {
    static constexpr OldName names[] = {
        {"campaign", "sweep campaign"},
        {"completion", "help completion"},
        {"conformance", "score conformance"},
        {"coverage", "list coverage"},
        {"determinism", "replay determinism"},
        {"emit", "score emit"},
        {"import", "diagnose import"},
        {"manual", "help manual"},
        {"parity", "report parity"},
        {"plan", "replay plan"},
        {"probe", "sweep probe"},
        {"promises", "report promises"},
        {"ras", "score ras"},
        {"releases", "report releases"},
        {"resilience", "report resilience"},
        {"schema", "new schema"},
        {"serve", "alerts serve"},
        {"shrink", "sweep shrink"},
        {"storm", "alerts storm"},
        {"swarm", "sweep swarm"},
        {"taxonomy", "list taxonomy"},
        {"trace", "replay trace"},
        {"version", "help version"},
    };
    return names;
}

}  // namespace deadrank::runners

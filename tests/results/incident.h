// tests/results/incident.h — One incident with something of everything, for formats: rank 2 of four is killed
// on its way into the third all-reduce after its GPU has fallen off the bus, and the others time out.
#pragma once

#include "tests/results/evidence_builder.h"

namespace deadrank::tests {

inline Evidence incident() {
    EvidenceBuilder story(4, 2);
    story.start().world();
    for (Rank rank = 0; rank < 4; ++rank) story.add(rank, StepBegin{1});
    story.collective(1, 1, {0, 1, 2, 3}, Op::broadcast);
    story.collective(1, 2, {0, 1, 2, 3});
    story.add(2, DeviceError{79, story.text("GPU has fallen off the bus.")});
    for (const Rank rank : {0, 1, 3}) story.enters(rank, 1, 3);
    story.add(2, RankExit{-9, 9});
    story.after(600s);
    for (const Rank rank : {0, 1, 3}) {
        story.add(rank,
                  RankLog{2, story.text(fmt::format(
                                 "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
                                 "OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for "
                                 "600012 milliseconds before timing out.",
                                 rank))});
        story.add(rank, CommAbort{1});
        story.add(rank, RankExit{-6, 6});
    }
    story.add(no_rank, RankLog{2, story.text("failed (exitcode: -9) local_rank: 0 (pid: 1002) of binary: "
                                             "/usr/bin/python3")});
    story.add(no_rank, JobStop{1, story.text("rank 2 failed")});
    return story.watched();
}

}  // namespace deadrank::tests

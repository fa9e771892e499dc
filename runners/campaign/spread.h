// runners/campaign/spread.h — Numbers handed out one by one, to our own children and to the crew's; answers
// taken as they come. Who played what, and how many played, changes nothing in the answers.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runners/campaign/children.h"
#include "runners/campaign/crew.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::scale {

struct Work {
    std::string definition;  // equal in all processes, or they are not of one campaign
    std::function<std::string(std::uint64_t)> play;  // in a child; the text of its answer
    int slots = 1;                                   // children at once in this process
    std::chrono::milliseconds budget{60'000};        // of one trial
    const std::atomic<bool>* stop = nullptr;
};

// The manager: plays and hands out until all is answered or stopped. `take` gets what a child left, and the
// rank it was played on; its error ends the campaign. `crew` may be null. Errors: environment, for a worker
// that was started with something else.
scenarios::Result<void> manage(const Work& work, const std::vector<std::uint64_t>& numbers, Crew* crew,
                               const std::function<scenarios::Result<void>(const Ended&, int)>& take);

// A worker: plays what it is given until the manager ends it.
void serve(const Work& work, Crew& crew);

}  // namespace deadrank::runners::scale

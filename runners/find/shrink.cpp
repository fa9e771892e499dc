// runners/find/shrink.cpp — Pass after pass until none of them finds anything more.
#include "runners/find/shrink.h"

#include "runners/find/passes.h"

namespace deadrank::runners::find {

const std::vector<Pass>& all_passes() {
    static const std::vector<Pass> passes = {
        {"faults", fewer_faults}, {"targets", fewer_targets},   {"cluster", smaller_cluster},
        {"steps", fewer_steps},   {"moments", simpler_moments}, {"settings", usual_settings},
        {"kinds", simpler_kinds}, {"seed", usual_seed},
    };
    return passes;
}

Shrunk shrink(const scenarios::Plan& plan, const Fails& fails, const scenarios::Vocabulary& words,
              const ShrinkOptions& options) {
    Reduction reduction(plan, fails, words, options.tries_most, options.stop);
    Shrunk shrunk;
    shrunk.before = size_of(plan, words);
    for (bool any = true; any && !reduction.exhausted();) {
        any = false;
        for (const Pass& pass : all_passes()) {
            if (options.progress) options.progress(pass.name, reduction.tries());
            if (!pass.run(reduction)) continue;
            shrunk.taken.push_back(pass.name);
            any = true;
        }
    }
    shrunk.plan = reduction.plan();
    shrunk.after = size_of(shrunk.plan, words);
    shrunk.tries = reduction.tries();
    shrunk.finished = !reduction.exhausted();
    return shrunk;
}

}  // namespace deadrank::runners::find

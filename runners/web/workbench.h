// runners/web/workbench.h — The workbench's server: the catalogue, scenarios and their runs as JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runners/pipeline/library.h"
#include "runners/serve/http.h"
#include "runners/web/evidence_shelf.h"
#include "runners/web/jobs.h"
#include "runners/web/orders.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::web {

struct WorkbenchOptions {
    std::string access;  // the random part of the address
    OrderOptions order;
    JobLimits jobs;
    scenarios::Capabilities capabilities;  // of the simulator
    EvidenceShelf::Read read = results::read_evidence;
};

// A request is longer than this at most: a scenario of 10 MB is refused before it is read.
inline constexpr std::size_t request_most = 1u << 20;
inline constexpr std::size_t answer_most = 64u << 20;

class Workbench {
public:
    // The library outlives it. Errors: io, of the catalogue.
    static scenarios::Result<std::unique_ptr<Workbench>> open(const Library& library,
                                                              WorkbenchOptions options);
    ~Workbench();

    // Safe to call from several threads.
    serve::HttpResponse answer(const serve::HttpRequest& request);

private:
    struct Parts;
    explicit Workbench(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace deadrank::runners::web

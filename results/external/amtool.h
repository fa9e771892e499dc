// results/external/amtool.h — Which receivers Alertmanager would notify of an alert, according to amtool,
// without a server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

class Amtool {
public:
    // Checks the configuration at once. Errors: environment (no such program), bad_input (amtool rejects the
    // file).
    static scenarios::Result<Amtool> open(const std::string& name, const std::string& config);

    // Receivers, in the order of the routes.
    scenarios::Result<std::vector<std::string>> receivers(const std::map<std::string, std::string>& labels);

private:
    std::string path_, config_;
    std::map<std::string, std::vector<std::string>> known_;
};

}  // namespace deadrank::results::external

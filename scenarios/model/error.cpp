// scenarios/model/error.cpp — The one form in which an error is shown.
#include "scenarios/model/error.h"

namespace deadrank::scenarios {

std::string Error::text() const {
    std::string out = place.file;
    if (place.line > 0) out += ":" + std::to_string(place.line);
    if (place.column > 0) out += ":" + std::to_string(place.column);
    if (!out.empty()) out += ": ";
    out += what;
    if (!remedy.empty()) out += " — " + remedy;
    return out;
}

}  // namespace deadrank::scenarios

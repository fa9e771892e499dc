// runners/find/signature.cpp — Text forms.
#include "runners/find/signature.h"

namespace deadrank::runners::find {

Signature parse_signature(const std::string& text) {
    const std::size_t colon = text.find(": ");
    if (colon == std::string::npos) return {text, {}};
    return {text.substr(0, colon), text.substr(colon + 2)};
}

bool fits(const Signature& wanted, const Signature& seen) {
    return wanted.property == seen.property && (wanted.how.empty() || wanted.how == seen.how);
}

}  // namespace deadrank::runners::find

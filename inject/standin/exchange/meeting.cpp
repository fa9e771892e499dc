// inject/standin/exchange/meeting.cpp — Who receives what. Where members disagree on type or reduction, each
// part of the result is made by one member in its own way, as rings do.
#include "inject/standin/exchange/meeting.h"

#include <algorithm>

namespace deadrank::standin {

using results::Op;

namespace {

std::string part(const std::string& whole, std::size_t at, std::size_t size) {
    std::string piece(size, '\0');
    if (at < whole.size()) piece.replace(0, std::min(size, whole.size() - at), whole, at, size);
    piece.resize(size);
    return piece;
}

std::size_t call_bytes(const Call& call) { return call.count * size_of(call.element); }

}  // namespace

bool fits(const Call& one, const Call& other) {
    return one.op == other.op && call_bytes(one) == call_bytes(other) && one.peer == other.peer;
}

bool Meeting::empty() const {
    return std::none_of(offers_.begin(), offers_.end(), [](const auto& offer) { return offer.has_value(); });
}

bool Meeting::complete() const {
    if (!offers_.front() || offers_.front()->call.peer >= static_cast<int>(offers_.size())) return false;
    return std::all_of(offers_.begin(), offers_.end(), [&](const auto& offer) {
        return offer && !offer->call.stuck && fits(offer->call, offers_.front()->call);
    });
}

std::string Meeting::joined() const {
    const std::size_t size = call_bytes(call(0));
    std::string all;
    for (const auto& offer : offers_) all += part(offer->share.bytes, 0, size);
    return all;
}

std::string Meeting::reduced() const {
    std::vector<const Share*> shares;
    for (const auto& offer : offers_) shares.push_back(&offer->share);
    const std::size_t members = offers_.size();
    const std::size_t size = call_bytes(call(0)) * (call(0).op == Op::reduce_scatter ? members : 1);
    std::string result(size, '\0');
    const bool alike = std::all_of(offers_.begin(), offers_.end(), [&](const auto& offer) {
        return offer->call.element == call(0).element && offer->call.reduction == call(0).reduction;
    });
    if (alike) {
        reduce(shares, 0, size, call(0).element, call(0).reduction, result);
        return result;
    }
    constexpr std::size_t widest = 8;  // parts begin where an element of any type may begin
    for (std::size_t owner = 0; owner < members; ++owner) {
        const std::size_t begin = owner * (size / widest) / members * widest;
        const std::size_t end =
            owner + 1 == members ? size : (owner + 1) * (size / widest) / members * widest;
        reduce(shares, begin, end, call(owner).element, call(owner).reduction, result);
    }
    return result;
}

std::vector<std::string> Meeting::results() const {
    const std::size_t members = offers_.size();
    const std::size_t size = call_bytes(call(0));
    const auto root = static_cast<std::size_t>(std::max(0, call(0).peer));
    std::vector<std::string> out(members);
    switch (call(0).op) {
        case Op::all_reduce:
            out.assign(members, reduced());
            break;
        case Op::reduce:
            out[root] = reduced();
            break;
        case Op::reduce_scatter: {
            const std::string all = reduced();
            for (std::size_t i = 0; i < members; ++i) out[i] = part(all, i * size, size);
            break;
        }
        case Op::broadcast:
            out.assign(members, part(offers_[root]->share.bytes, 0, size));
            break;
        case Op::gather:
            out[root] = joined();
            break;
        case Op::scatter:
            for (std::size_t i = 0; i < members; ++i)
                out[i] = part(offers_[root]->share.bytes, i * size, size);
            break;
        case Op::all_to_all:
            for (std::size_t to = 0; to < members; ++to) {
                for (const auto& from : offers_) out[to] += part(from->share.bytes, to * size, size);
            }
            break;
        default:
            out.assign(members, joined());
            break;
    }
    return out;
}

}  // namespace deadrank::standin

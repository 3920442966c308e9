#include "llm/engine/waiting_line.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace voltpile::llm {

void WaitingLine::add(SequencePtr sequence) {
    ++size_;
    if (sequence->admitted) {
        preempted_.emplace(sequence->age, std::move(sequence));
        return;
    }
    const auto least = least_served();
    const double floor = least == owners_.end() ? owners_[last_].served : least->second.served;
    Owner& owner = owners_[sequence->owner];
    if (owner.waiting.empty()) owner.served = std::max(owner.served, floor);
    owner.waiting.emplace(sequence->age, std::move(sequence));
}

void WaitingLine::remove(const Sequence& sequence) {
    std::size_t removed = preempted_.erase(sequence.age);
    if (const auto found = owners_.find(sequence.owner); found != owners_.end()) {
        SequencesByAge& waiting = found->second.waiting;
        const std::size_t here = waiting.erase(sequence.age);
        if (here > 0 && waiting.empty()) last_ = sequence.owner;
        removed += here;
    }
    size_ -= removed;
}

// Returns the owner whose turn it is; of several, the one with the oldest sequence.
WaitingLine::Owners::const_iterator WaitingLine::least_served() const {
    auto least = owners_.end();
    const auto rank = [](const Owners::value_type& owner) {
        return std::tuple(owner.second.served, owner.second.waiting.begin()->first);
    };
    for (auto each = owners_.begin(); each != owners_.end(); ++each)
        if (!each->second.waiting.empty() && (least == owners_.end() || rank(*each) < rank(*least)))
            least = each;
    return least;
}

const SequencePtr& WaitingLine::front() const {
    if (!preempted_.empty()) return preempted_.begin()->second;
    return least_served()->second.waiting.begin()->second;
}

void WaitingLine::charge(const Sequence& sequence, std::size_t tokens) {
    owners_[sequence.owner].served += static_cast<double>(tokens) / sequence.weight;
}

}  // namespace voltpile::llm

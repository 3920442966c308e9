#include "work/range_set.h"

#include <algorithm>
#include <iterator>

namespace voltpile {

void RangeSet::insert(WorkRange range) {
    if (range.empty()) return;
    auto it = end_of_.upper_bound(range.begin);
    if (it != end_of_.begin() && std::prev(it)->second >= range.begin) --it;
    while (it != end_of_.end() && it->first <= range.end) {  // absorb whatever overlaps or touches
        range.begin = std::min(range.begin, it->first);
        range.end = std::max(range.end, it->second);
        size_ -= it->second - it->first;
        it = end_of_.erase(it);
    }
    end_of_.emplace(range.begin, range.end);
    size_ += range.size();
}

bool RangeSet::overlaps(WorkRange range) const {
    if (range.empty()) return false;
    auto it = end_of_.lower_bound(range.end);
    return it != end_of_.begin() && std::prev(it)->second > range.begin;
}

bool RangeSet::contains(WorkRange range) const {
    if (range.empty()) return true;
    auto it = end_of_.upper_bound(range.begin);
    return it != end_of_.begin() && std::prev(it)->second >= range.end;
}

std::vector<WorkRange> RangeSet::ranges() const {
    std::vector<WorkRange> out;
    out.reserve(end_of_.size());
    for (auto [begin, end] : end_of_) out.push_back({begin, end});
    return out;
}

RangeSet RangeSet::complement(WorkRange whole) const {
    RangeSet out;
    std::int64_t at = whole.begin;
    for (auto [begin, end] : end_of_) {
        if (begin >= whole.end) break;
        out.insert({at, std::min(begin, whole.end)});
        at = std::max(at, end);
    }
    out.insert({at, whole.end});
    return out;
}

WorkRange RangeSet::take_front(std::int64_t count) {
    auto it = end_of_.begin();
    WorkRange taken{it->first, std::min(it->second, it->first + count)};
    std::int64_t end = it->second;
    end_of_.erase(it);
    if (taken.end < end) end_of_.emplace(taken.end, end);
    size_ -= taken.size();
    return taken;
}

}  // namespace voltpile

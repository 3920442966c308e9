#include "llm/session/replica_choice.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "llm/ops/batch.h"

namespace voltpile::llm {
namespace {

// One hash for each beginning of whole pages, the shortest first. Equal hashes of different beginnings only
// make a worse choice.
std::vector<std::uint64_t> beginnings_of(std::span<const std::int32_t> prompt) {
    std::vector<std::uint64_t> hashes;
    std::uint64_t hash = 0;
    for (; prompt.size() >= kv_page_tokens; prompt = prompt.subspan(kv_page_tokens)) {
        const std::string_view page(reinterpret_cast<const char*>(prompt.data()),
                                    kv_page_tokens * sizeof(std::int32_t));
        hash = std::hash<std::string_view>()(page) ^ (hash * 0x9e3779b97f4a7c15U + 1);
        hashes.push_back(hash);
    }
    return hashes;
}

}  // namespace

bool ReplicaChoice::was_sent(std::uint64_t beginning, std::size_t replica) const {
    for (const Sent* sent : {&recent_, &older_})
        if (const auto found = sent->find(beginning); found != sent->end() && found->second[replica])
            return true;
    return false;
}

int ReplicaChoice::choose(std::span<const std::int32_t> prompt) {
    const std::vector<std::uint64_t> beginnings = beginnings_of(prompt);
    const int lowest = *std::ranges::min_element(load_);
    std::size_t best = load_.size();
    std::size_t best_pages = 0;
    for (std::size_t replica = 0; replica < load_.size(); ++replica) {
        if (load_[replica] > lowest + slack) continue;
        std::size_t pages = 0;
        while (pages < beginnings.size() && was_sent(beginnings[pages], replica)) ++pages;
        const bool better = best == load_.size() || pages > best_pages ||
                            (pages == best_pages && load_[replica] < load_[best]);
        if (!better) continue;
        best = replica;
        best_pages = pages;
    }
    if (recent_.size() + beginnings.size() > most_beginnings) older_ = std::exchange(recent_, {});
    for (const std::uint64_t beginning : beginnings) {
        std::vector<bool>& to = recent_[beginning];
        to.resize(load_.size());
        to[best] = true;
    }
    ++load_[best];
    return static_cast<int>(best);
}

}  // namespace voltpile::llm

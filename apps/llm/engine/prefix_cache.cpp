#include "llm/engine/prefix_cache.h"

#include <algorithm>
#include <string_view>

namespace voltpile::llm {

std::size_t PrefixCache::Hash::operator()(const Key& key) const {
    const std::string_view bytes(reinterpret_cast<const char*>(key.tokens.data()), sizeof(key.tokens));
    return std::hash<std::string_view>()(bytes) ^ (key.before * 0x9e3779b97f4a7c15U);
}

PrefixCache::Key PrefixCache::key_of(Beginning before, PageTokens tokens) {
    Key key{before, {}};
    std::ranges::copy(tokens, key.tokens.begin());
    return key;
}

int PrefixCache::users(std::int32_t page) const {
    return pool_.users(page) - (state_[static_cast<std::size_t>(page)].key ? 1 : 0);
}

std::int32_t PrefixCache::take() {
    if (pool_.free_pages() == 0 && !unused_.empty()) {
        const std::int32_t oldest = unused_.begin()->second;
        unused_.erase(unused_.begin());
        kept_.erase(*state(oldest).key);
        state(oldest).key.reset();
        pool_.release(oldest);
    }
    return pool_.take();
}

void PrefixCache::share(std::int32_t page) {
    if (users(page) == 0) unused_.erase({state(page).released, page});
    pool_.share(page);
}

void PrefixCache::release(std::int32_t page) {
    pool_.release(page);
    if (!state(page).key || users(page) > 0) return;
    state(page).released = ++releases_;
    unused_.emplace(releases_, page);
}

std::optional<PrefixCache::Kept> PrefixCache::find(Beginning before, PageTokens tokens) const {
    const auto found = kept_.find(key_of(before, tokens));
    if (found == kept_.end()) return std::nullopt;
    return found->second;
}

PrefixCache::Beginning PrefixCache::keep(Beginning before, PageTokens tokens, std::int32_t page,
                                         std::uint64_t pass) {
    const auto [place, is_new] = kept_.try_emplace(key_of(before, tokens));
    if (is_new) {
        place->second = {++beginnings_, page, pass};
        state(page).key = place->first;
        pool_.share(page);
    }
    return place->second.beginning;
}

}  // namespace voltpile::llm

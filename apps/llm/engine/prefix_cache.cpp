#include "llm/engine/prefix_cache.h"

#include <algorithm>
#include <string_view>

namespace voltpile::llm {

PrefixCache::PrefixCache(int pages, int slots)
    : pool_(pages), state_(static_cast<std::size_t>(pages)), slots_(slots < 2 ? 0 : slots) {}

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
        if (slots_ > 0) move_out(*state(oldest).key, oldest);
        kept_.erase(*state(oldest).key);
        state(oldest).key.reset();
        pool_.release(oldest);
    }
    return pool_.take();
}

// Makes a page in a slot the last used one.
void PrefixCache::use_slot(const Key& key, InSlot& in_slot) {
    slots_by_use_.erase(in_slot.used);
    in_slot.used = ++slot_uses_;
    slots_by_use_.emplace(in_slot.used, key);
}

// Copies a page to a slot, that of the least recently used one if none is free. A page that has one already
// has the same content.
void PrefixCache::move_out(const Key& key, std::int32_t page) {
    const auto [place, is_new] = in_slots_.try_emplace(key);
    if (is_new) {
        auto slot = static_cast<std::int32_t>(in_slots_.size() - 1);
        if (slot == slots_) {
            const auto oldest = in_slots_.find(slots_by_use_.begin()->second);
            slot = oldest->second.slot;
            slots_by_use_.erase(slots_by_use_.begin());
            in_slots_.erase(oldest);
        }
        place->second = {kept_.at(key).beginning, slot, 0};
        moves_.push_back({page, slot, true});
    }
    use_slot(key, place->second);
}

std::optional<PrefixCache::Kept> PrefixCache::bring_back(Beginning before, PageTokens tokens) {
    const Key key = key_of(before, tokens);
    const auto found = in_slots_.find(key);
    if (found == in_slots_.end()) return std::nullopt;
    use_slot(key, found->second);
    const Beginning beginning = found->second.beginning;
    const std::int32_t slot = found->second.slot;
    const std::int32_t page = take();  // may copy another page out, but not to this slot, the last used one
    moves_.push_back({page, slot, false});
    ++brought_back_;
    Kept& kept = kept_[key];
    kept = {beginning, page, 0};
    state(page).key = key;
    pool_.share(page);
    return kept;
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

// Finds pages of the KV cache by the tokens in them, so that sequences with the same prefix share pages. A
// page stays until its room is needed, and then in host memory if there are slots. Host-side bookkeeping
// only: an executor makes the copies that it asks for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/ops/batch.h"

namespace voltpile::llm {

using PageTokens = std::span<const std::int32_t, kv_page_tokens>;

class PrefixCache {
  public:
    // Identifies a prefix of whole pages, from position 0 on. Numbers are never reused, so comparing the
    // tokens of one page after a known prefix compares the whole prefix.
    using Beginning = std::uint64_t;
    static constexpr Beginning nothing = 0;
    // The empty prefix of sequences with an adapter, whose keys and values are others; -1: without.
    static constexpr Beginning beginning_of(int adapter) {
        return adapter < 0 ? nothing : ~static_cast<Beginning>(adapter);
    }

    struct Kept {
        Beginning beginning = nothing;  // up to and including this page
        std::int32_t page = -1;
        std::uint64_t pass = 0;  // the pass that computes it
    };

    // slots: pages in host memory; with fewer than 2 there are none.
    explicit PrefixCache(int pages, int slots = 0);

    int pages() const { return pool_.pages(); }
    // The number of pages that no sequence uses, including kept ones.
    int available() const { return pool_.free_pages() + static_cast<int>(unused_.size()); }
    int users(std::int32_t page) const;  // the number of sequences that use it

    int slots() const { return slots_; }
    int slots_in_use() const { return static_cast<int>(in_slots_.size()); }

    // Returns a page for one sequence. Evicts the least recently used kept page if no other is free. Throws
    // std::logic_error if none is available.
    std::int32_t take();
    void share(std::int32_t page);    // adds a user to a page that is in use or kept
    void release(std::int32_t page);  // removes a user

    // Returns the page with these tokens after the prefix `before`, if it is kept.
    std::optional<Kept> find(Beginning before, PageTokens tokens) const;
    // Returns a page, for one sequence, with these tokens after the prefix `before`, whose content comes from
    // a slot; nothing if no slot has them. One page must be available.
    std::optional<Kept> bring_back(Beginning before, PageTokens tokens);
    // Returns the copies to make, in this order, before the next pass.
    std::vector<PageMove> take_moves() { return std::exchange(moves_, {}); }
    // Pages brought back since the beginning.
    std::int64_t brought_back() const { return brought_back_; }

    // Keeps a page in use, so that find() returns it from now on, even after its last user releases it. pass:
    // the pass that computes it. Returns the prefix that ends with the page. If another page with the same
    // prefix is kept already, returns that prefix and does not keep this page.
    Beginning keep(Beginning before, PageTokens tokens, std::int32_t page, std::uint64_t pass);

  private:
    struct Key {
        Beginning before;
        std::array<std::int32_t, kv_page_tokens> tokens;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const;
    };
    struct State {
        std::optional<Key> key;      // set while kept; the pool then counts one more user
        std::uint64_t released = 0;  // when the last sequence released it
    };
    // A page in host memory. It stays there after it was brought back, so that its next copy costs nothing.
    struct InSlot {
        Beginning beginning = nothing;
        std::int32_t slot = -1;
        std::uint64_t used = 0;  // when it was evicted or brought back
    };
    static Key key_of(Beginning before, PageTokens tokens);
    void move_out(const Key& key, std::int32_t page);
    void use_slot(const Key& key, InSlot& in_slot);
    State& state(std::int32_t page) { return state_[static_cast<std::size_t>(page)]; }

    PagePool pool_;
    std::vector<State> state_;  // by page
    std::unordered_map<Key, Kept, Hash> kept_;
    std::set<std::pair<std::uint64_t, std::int32_t>> unused_;  // kept pages without users: (released, page)
    std::uint64_t releases_ = 0;
    Beginning beginnings_ = nothing;
    int slots_;
    std::unordered_map<Key, InSlot, Hash> in_slots_;
    std::map<std::uint64_t, Key> slots_by_use_;  // of in_slots_: by InSlot::used
    std::uint64_t slot_uses_ = 0;
    std::int64_t brought_back_ = 0;
    std::vector<PageMove> moves_;
};

}  // namespace voltpile::llm

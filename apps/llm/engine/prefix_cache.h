// Pages of the cache by what is in them: a beginning of some text, kept as long as nothing else needs the
// page. Host-side state alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/ops/batch.h"

namespace voltpile::llm {

using PageTokens = std::span<const std::int32_t, kv_page_tokens>;

class PrefixCache {
  public:
    // Whole pages of tokens from position 0 on. Numbers are never given twice, so that tokens compared with
    // those of one beginning are compared with all before them.
    using Beginning = std::uint64_t;
    static constexpr Beginning nothing = 0;

    struct Kept {
        Beginning beginning = nothing;  // this page included
        std::int32_t page = -1;
        std::uint64_t pass = 0;  // in which it is computed
    };

    explicit PrefixCache(int pages) : pool_(pages), state_(static_cast<std::size_t>(pages)) {}

    int pages() const { return pool_.pages(); }
    // That no sequence uses, kept ones among them.
    int available() const { return pool_.free_pages() + static_cast<int>(unused_.size()); }
    int users(std::int32_t page) const;  // sequences

    // For one sequence; what was kept in it, the least recently used of what nobody uses, is forgotten.
    // Throws std::logic_error if none is available.
    std::int32_t take();
    void share(std::int32_t page);    // one more user of a page in use or kept
    void release(std::int32_t page);  // one user less

    std::optional<Kept> find(Beginning before, PageTokens tokens) const;
    // A page in use is found by its tokens from now on, and when nobody uses it any more. Returns the
    // beginning that ends with it; if those tokens are kept already, that one, and the page is not kept.
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
        std::optional<Key> key;      // it is kept, the pool counts one user for that
        std::uint64_t released = 0;  // when the last sequence did
    };
    static Key key_of(Beginning before, PageTokens tokens);
    State& state(std::int32_t page) { return state_[static_cast<std::size_t>(page)]; }

    PagePool pool_;
    std::vector<State> state_;  // of each page
    std::unordered_map<Key, Kept, Hash> kept_;
    std::set<std::pair<std::uint64_t, std::int32_t>> unused_;  // (released, page) of kept ones
    std::uint64_t releases_ = 0;
    Beginning beginnings_ = nothing;
};

}  // namespace voltpile::llm

// Beginning and ending lives (results/parts/life.h). Private to src/results.
#pragma once

#include <functional>
#include <vector>

#include "results/parts/life.h"

namespace voltpile {

// The folders of lives in a part folder. Throws FileError.
std::vector<LifeName> list_lives(const std::filesystem::path& parts);

// A life that has begun: its folder is there and those of its predecessors are not.
class ClaimedLife {
  public:
    // Begins a life of this shard. `after`: the greatest number known from elsewhere (the journal). `check`
    // is called as soon as others can see that it has begun, and throws if it may not begin any more. Ends
    // the earlier lives of the same shard, and all of those that it must not run beside: of the whole sweep
    // if this is a shard or the other way round, and of shards of another count. Throws TakenOverError if
    // another run does the same at this moment and prevails, FileError.
    ClaimedLife(const std::filesystem::path& result, const std::filesystem::path& parts, const Shard& shard,
                std::int64_t after, const std::function<void(const Life&)>& check);
    ~ClaimedLife();  // ends it
    ClaimedLife(const ClaimedLife&) = delete;
    ClaimedLife& operator=(const ClaimedLife&) = delete;

    const Life& life() const { return life_; }
    std::int64_t number() const { return name_.number; }

    // The result is there, so no other life has anything left to do.
    void end_all_others() const;

  private:
    void end_predecessors() const;
    void end_other(const LifeName& other) const;

    LifeName name_;
    Life life_;
};

}  // namespace voltpile

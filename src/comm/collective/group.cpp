#include "comm/collective/group.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/host_name.h"

namespace voltpile {

CollectiveGroup::CollectiveGroup(const Communicator& group)
    : rank_(group.rank()), hosts_(group.all_gather(host_name())), board_(group) {}

std::string CollectiveGroup::rank_text(int rank) const {
    return fmt::format("rank {} ({})", rank, hosts_[static_cast<std::size_t>(rank)]);
}

std::string CollectiveGroup::others_text() const {
    std::string text;
    for (int r = 0; r < size(); ++r)
        if (r != rank_) text += (text.empty() ? "" : ", ") + rank_text(r);
    return text;
}

bool CollectiveGroup::fail(const std::string& why) noexcept {
    board_.post(rank_, why);
    return !failed_.exchange(true);
}

std::string CollectiveGroup::failure_text() const {
    const int by = board_.rank();
    const std::string why = board_.why();
    std::string text = rank_text(rank_) + ": ";
    if (by == rank_ && !why.empty()) return text + why;
    text += "its group was called off";
    if (by >= 0 && by != rank_) text += " by " + rank_text(by);
    return why.empty() ? text : text + ": " + why;
}

bool CollectiveGroup::begin(std::int64_t count) const {
    strike(FaultPlace::Collective);
    if (failed()) throw CommError(failure_text());
    if (count < 0) throw CommError(fmt::format("{}: a collective of {} elements", rank_text(rank_), count));
    return count > 0;
}

bool CollectiveGroup::begin_reduction(std::int64_t count, ElementType type) const {
    if (type == ElementType::Byte)
        throw CommError(fmt::format("{}: bytes cannot be reduced", rank_text(rank_)));
    return begin(count);
}

bool CollectiveGroup::begin_with_peer(std::int64_t count, int peer) const {
    if (peer < 0 || peer >= size())
        throw CommError(
            fmt::format("{}: there is no rank {} in its group of {}", rank_text(rank_), peer, size()));
    return begin(count);
}

}  // namespace voltpile

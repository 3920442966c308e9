// How many requests each owner may have at once.
#include "llm/serve/request_room.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace voltpile::llm {
namespace {

std::vector<Request> requests_of(int owner, std::int64_t first, int count) {
    std::vector<Request> requests(static_cast<std::size_t>(count));
    for (Request& request : requests) {
        request.owner = owner;
        request.id = first++;
    }
    return requests;
}

TEST(RequestRoom, LimitsEachOwnerAlone) {
    RequestRoom room(3);
    EXPECT_EQ(room.take(requests_of(0, 0, 3)), std::nullopt);
    EXPECT_EQ(room.take(requests_of(0, 10, 1)), 3);
    EXPECT_EQ(room.take(requests_of(1, 20, 2)), std::nullopt);
    EXPECT_EQ(room.take(requests_of(1, 30, 2)), 2);  // all or none
    EXPECT_EQ(room.take(requests_of(1, 30, 1)), std::nullopt);
}

TEST(RequestRoom, ReturnsWithTheRequests) {
    RequestRoom room(2);
    EXPECT_EQ(room.take(requests_of(4, 0, 2)), std::nullopt);
    room.give_back(1);
    room.give_back(1);  // of no request
    room.give_back(99);
    EXPECT_EQ(room.take(requests_of(4, 2, 2)), 1);
    EXPECT_EQ(room.take(requests_of(4, 2, 1)), std::nullopt);
    std::vector<std::int64_t> ids = room.ids();
    std::ranges::sort(ids);
    EXPECT_EQ(ids, (std::vector<std::int64_t>{0, 2}));
}

}  // namespace
}  // namespace voltpile::llm

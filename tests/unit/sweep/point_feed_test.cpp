// Tests the feed of points and the storage of outcomes, with the point's number as its outcome.
#include "sweep/point_feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include "sweep/cpu_sweep.h"

using namespace voltpile;

namespace {

struct Named {
    std::int64_t unused = -1;
    double half = 0;
    std::int32_t number = 0;
};

std::vector<OutcomeField> fields_of_named() {
    OutcomeField half;
    half.spec.name = "half";
    half.spec.type = FieldType::Float64;
    half.offset = offsetof(Named, half);
    OutcomeField number;
    number.spec.name = "number";
    number.spec.type = FieldType::Int32;
    number.number = 1;
    number.offset = offsetof(Named, number);
    return {half, number};
}

}  // namespace

TEST(PointFeed, SubmitsEveryRangeOnceWithItsFields) {
    const std::vector<OutcomeField> fields = fields_of_named();
    WorkScheduler work;
    for (int begin = 0; begin < 100; begin += 7) work.offer({begin, std::min(100, begin + 7)});
    work.close();
    std::mutex mutex;
    std::map<std::int64_t, int> seen;
    const auto submit = [&](WorkRange range, std::vector<FieldBuffer> data) {
        const std::lock_guard lock(mutex);
        ASSERT_EQ(data.size(), 2u);
        for (std::int64_t point = range.begin; point < range.end; ++point) {
            const auto at = static_cast<std::size_t>(point - range.begin);
            double half = 0;
            std::int32_t number = 0;
            std::memcpy(&half, data[0].data() + at * sizeof half, sizeof half);
            std::memcpy(&number, data[1].data() + at * sizeof number, sizeof number);
            EXPECT_EQ(half, 0.5 * static_cast<double>(point));
            EXPECT_EQ(number, point);
            ++seen[point];
        }
    };
    const auto sweep = [](PointStream& stream) {
        Ticket ticket;
        while (stream.draw(ticket)) {
            Named outcome;
            outcome.half = 0.5 * static_cast<double>(ticket.point);
            outcome.number = static_cast<std::int32_t>(ticket.point);
            stream.finish(ticket, &outcome);
        }
        stream.report(1);
    };
    sweep_on_cpu(sweep, fields, {0, 0, 0}, work, submit);
    EXPECT_EQ(seen.size(), 100u);
    for (const auto& [point, times] : seen) EXPECT_EQ(times, 1) << point;
}

TEST(PointFeed, StopsAllThreadsWhenOneFails) {
    const std::vector<OutcomeField> fields = fields_of_named();
    WorkScheduler work;
    work.offer({0, 1000});
    work.close();
    const auto sweep = [](PointStream&) { throw std::runtime_error("this kernel fails"); };
    EXPECT_THROW(sweep_on_cpu(sweep, fields, {0, 0}, work, [](WorkRange, std::vector<FieldBuffer>) {}),
                 std::runtime_error);
}

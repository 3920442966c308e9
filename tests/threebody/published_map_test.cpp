// The published map's golden values, on every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "threebody/methods.h"
#include "threebody/reference_problems.h"

namespace voltpile::threebody {
namespace {

std::int64_t row_sum(const Processor& processor, std::int64_t row) {
    return sum_of_steps(processor.run(published_map(), consecutive(1000 * row, 992)));
}

TEST(PublishedMap, HasTheGoldenRows) {
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        EXPECT_EQ(row_sum(processor, 250), 42183566);
        if (!has_fma(processor.level)) continue;  // too slow for more
        EXPECT_EQ(row_sum(processor, 83), 49600000);
        EXPECT_EQ(row_sum(processor, 416), 37970734);
        EXPECT_EQ(row_sum(processor, 916), 49595958);
    }
}

TEST(PublishedMap, HasTheGoldenPoints) {
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const auto outcomes = processor.run(published_map(), {250 * 1000 + 500, 750 * 1000 + 630});
        EXPECT_EQ(outcomes[0].steps_together, 23022);
        EXPECT_EQ(outcomes[1].steps_together, 25404);
    }
}

// Every 61st point of each axis: 17 x 17 points from everywhere in the picture.
std::vector<std::int64_t> sample() {
    std::vector<std::int64_t> points;
    for (std::int64_t row = 5; row < 1000; row += 61) {
        for (std::int64_t column = 5; column < 1000; column += 61) points.push_back(1000 * row + column);
    }
    return points;
}

TEST(PublishedMap, IsBitIdenticalOnAllCpusWithFusedMultiplyAdd) {
    Problem problem = published_map();
    problem.want_state = problem.want_closest_approach = true;
    auto processors = cpu_processors();
    std::erase_if(processors, [](const Processor& each) { return !has_fma(each.level); });
    if (processors.size() < 2)
        GTEST_SKIP() << "AVX2 and AVX-512 are not compared: this processor has no "
                     << (processors.empty() ? "AVX2" : "AVX-512");
    problem.tolerance = 1e-9;
    problem.most_steps = 100000;
    for (std::size_t method = 0; method < methods().size(); ++method) {
        for (const bool single : {false, true}) {
            problem.method = static_cast<Method>(method);
            problem.single_precision = single;
            set_time(problem, 0.001, 2000);
            const auto expected = processors.front().run(problem, sample());
            for (std::size_t other = 1; other < processors.size(); ++other) {
                const auto outcomes = processors[other].run(problem, sample());
                for (std::size_t i = 0; i < outcomes.size(); ++i) {
                    ASSERT_EQ(outcomes[i].steps_together, expected[i].steps_together) << i;
                    ASSERT_EQ(outcomes[i].time_together, expected[i].time_together) << i;
                    ASSERT_EQ(outcomes[i].energy_error, expected[i].energy_error) << i;
                    ASSERT_EQ(outcomes[i].closest_approach, expected[i].closest_approach) << i;
                    for (int k = 0; k < 18; ++k) {
                        ASSERT_EQ(outcomes[i].final_state[k], expected[i].final_state[k]) << i << " " << k;
                    }
                }
            }
        }
    }
}

// Without fused multiply-add every rounding differs. Yet a point changes only if its separation passes the
// limit within a rounding error of a step, about one in 100,000, so none of 289 should.
TEST(PublishedMap, HasTheSamePointsWithoutFusedMultiplyAdd) {
    const auto processors = cpu_processors();
    if (processors.size() < 2)
        GTEST_SKIP() << "the baseline is not compared with AVX2 or AVX-512: this processor has neither";
    const auto expected = processors.front().run(published_map(), sample());
    const auto outcomes = processors.back().run(published_map(), sample());
    int different = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        different += outcomes[i].steps_together != expected[i].steps_together ? 1 : 0;
    }
    EXPECT_EQ(different, 0) << "of " << outcomes.size();
}

}  // namespace
}  // namespace voltpile::threebody

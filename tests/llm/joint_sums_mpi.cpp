// Sums joined with norms on several GPUs, one rank each (JointSums). Runs under mpirun; skips itself with
// fewer GPUs than ranks.
#include <gtest/gtest.h>

#include "device/device.h"
#include "unit/comm/mpi_tests.h"

#if VOLTPILE_CUDA

#include <algorithm>
#include <cmath>
#include <random>

#include "base/half.h"
#include "comm/collective/stream_communicator.h"
#include "llm/ops/cuda/cuda_ops.h"

using namespace voltpile;
using namespace voltpile::llm;
using test::world;

namespace {

constexpr int kMostRows = 1500;
constexpr float kEps = 1e-5F;
constexpr SentinelPlace kPlace{3, 1};

std::vector<float> random_numbers(std::int64_t count, unsigned seed, float deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& number : numbers) number = normal(random);
    return numbers;
}

// The operations of one rank, and the memory of a call.
class Side {
  public:
    explicit Side(std::int64_t columns, bool clamp = false)
        : columns_(columns),
          ops_(make_cuda_ops(world().rank(), settings(clamp))),
          group_(make_stream_communicator(world(), world().rank())),
          sums_(ops_->make_joint_sums(shared(*group_, columns), kMostRows, columns)),
          x_(ops_->allocate(bytes(kMostRows))),
          delta_(ops_->allocate(bytes(kMostRows))),
          bias_(ops_->allocate(bytes(1))),
          weight_(ops_->allocate(bytes(1))) {}

    bool splits(std::int64_t rows) const { return sums_->splits(rows); }
    Ops& ops() { return *ops_; }
    StreamCommunicator& group() { return *group_; }
    StreamRef stream() const { return ops_->stream(); }

    void set(std::span<const float> x, std::span<const float> delta, std::span<const float> bias,
             std::span<const float> weight) {
        rows_ = static_cast<std::int64_t>(x.size()) / columns_;
        ops_->upload(x_->data(), x.data(), x.size_bytes());
        ops_->upload(delta_->data(), delta.data(), delta.size_bytes());
        ops_->upload(bias_->data(), bias.data(), bias.size_bytes());
        ops_->upload(weight_->data(), weight.data(), weight.size_bytes());
    }
    void call(bool with_bias = true, bool with_weight = true) {
        sums_->add_rms_norm(rows(x_), {rows(delta_), with_bias ? floats(bias_) : nullptr},
                            with_weight ? floats(weight_) : nullptr, kEps, kPlace);
    }
    FloatRows delta() const { return rows(delta_); }
    std::vector<float> x() { return download<float>(x_->data()); }
    std::vector<std::uint16_t> out() { return download<std::uint16_t>(sums_->normed()); }

  private:
    static CudaOpsSettings settings(bool clamp) {
        CudaOpsSettings settings;
        settings.clamp = clamp;
        return settings;
    }
    static std::unique_ptr<PeerArea> shared(StreamCommunicator& group, std::int64_t columns) {
        auto area = group.share(joint_area_bytes(group.size(), kMostRows, columns));
        EXPECT_TRUE(area) << "the GPUs do not reach each other";
        return area;
    }
    std::size_t bytes(std::int64_t rows) const {
        return static_cast<std::size_t>(rows * columns_) * sizeof(float);
    }
    static float* floats(const std::unique_ptr<OpsMemory>& memory) {
        return static_cast<float*>(memory->data());
    }
    FloatRows rows(const std::unique_ptr<OpsMemory>& memory) const {
        return {floats(memory), rows_, columns_};
    }
    template <class Number>
    std::vector<Number> download(const void* from) {
        std::vector<Number> numbers(static_cast<std::size_t>(rows_ * columns_));
        ops_->download(numbers.data(), from, numbers.size() * sizeof(Number));
        return numbers;
    }

    std::int64_t columns_, rows_ = 0;
    std::unique_ptr<GpuOps> ops_;
    std::unique_ptr<StreamCommunicator> group_;
    std::unique_ptr<JointSums> sums_;
    std::unique_ptr<OpsMemory> x_, delta_, bias_, weight_;
};

// A call on random numbers, and its result in exact arithmetic.
struct Case {
    Case(std::int64_t rows, std::int64_t width, unsigned seed)
        : x(random_numbers(rows * width, seed, 2)),
          bias(random_numbers(width, seed + 1, 1)),
          weight(random_numbers(width, seed + 2, 1)),
          columns(width) {
        for (int rank = 0; rank < world().size(); ++rank)
            delta.push_back(random_numbers(rows * width, seed + 10 + static_cast<unsigned>(rank), 1));
    }
    const std::vector<float>& mine() const { return delta[static_cast<std::size_t>(world().rank())]; }

    std::vector<float> x;
    std::vector<std::vector<float>> delta;  // of each rank
    std::vector<float> bias, weight;
    std::int64_t columns;
};

void expect_result(const Case& c, Side& side, bool with_bias, bool with_weight) {
    const auto n = static_cast<std::size_t>(c.columns);
    const std::int64_t rows = std::ssize(c.x) / c.columns;
    const std::int64_t share = (rows + world().size() - 1) / world().size();
    const auto got_x = side.x();
    const auto got = side.out();
    for (std::int64_t row = 0; row < rows; ++row) {
        const bool own = !side.splits(rows) || row / share == world().rank();
        std::vector<double> sum(n), bound(n);
        double squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = static_cast<std::size_t>(row) * n + i;
            sum[i] = static_cast<double>(c.x[at]) + (with_bias ? static_cast<double>(c.bias[i]) : 0);
            for (const auto& delta : c.delta) {
                sum[i] += static_cast<double>(delta[at]);
                // fp16 has 11 bits; below 2^-14 * 16 it has steps of 2^-24 * 16.
                bound[i] += std::abs(static_cast<double>(delta[at])) * 0x1p-11 + 16 * 0x1p-25;
            }
            bound[i] += 1e-5;
            squares += sum[i] * sum[i];
            if (own)
                ASSERT_NEAR(static_cast<double>(got_x[at]), sum[i], bound[i])
                    << rows << " rows, row " << row << ", column " << i;
            else
                ASSERT_EQ(got_x[at], c.x[at]);
        }
        const double scale =
            with_weight ? 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(kEps)) : 1;
        for (std::size_t i = 0; i < n; ++i) {
            const double factor = scale * (with_weight ? static_cast<double>(c.weight[i]) : 1);
            const double wanted = sum[i] * factor;
            // The sum of squares differs by a part in a thousand at most.
            ASSERT_NEAR(static_cast<double>(float_from_half(got[static_cast<std::size_t>(row) * n + i])),
                        wanted, bound[i] * std::abs(factor) + std::abs(wanted) * 2e-3 + 1e-6)
                << rows << " rows, row " << row << ", column " << i;
        }
    }
}

void expect_same_on_all_ranks(const std::vector<std::uint16_t>& out) {
    const std::string mine(reinterpret_cast<const char*>(out.data()), out.size() * sizeof out[0]);
    for (const std::string& each : world().all_gather(mine)) ASSERT_TRUE(each == mine);
}

class JointSumsOnGpus : public testing::Test {
  protected:
    void SetUp() override {
        if (device_count() < world().size()) GTEST_SKIP() << "needs a GPU for each rank";
        if (world().size() == 1) GTEST_SKIP() << "needs several ranks";
    }
};

TEST_F(JointSumsOnGpus, AddAndNormalizeTheSum) {
    unsigned seed = 1;
    for (const std::int64_t columns : {8, 64, 1000, 4096, 5120, 16384}) {
        Side side(columns);
        for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 13, 16, 17, 33, 64, 65, 257, 300})
            for (const bool extras : {true, false}) {
                if (rows * columns > 2'000'000) continue;
                const Case c(rows, columns, seed += 100);
                side.set(c.x, c.mine(), c.bias, c.weight);
                side.call(extras, extras);
                expect_result(c, side, extras, extras);
                expect_same_on_all_ranks(side.out());
                if (testing::Test::HasFatalFailure()) return;
            }
        EXPECT_FALSE(side.ops().take_sentinel().tripped);
    }
}

TEST_F(JointSumsOnGpus, ARowDoesNotDependOnTheOthers) {
    constexpr std::int64_t columns = 4096;
    Side side(columns);
    const Case all(kMostRows, columns, 7);
    side.set(all.x, all.mine(), all.bias, all.weight);
    side.call();
    const auto wanted = side.out();
    for (const std::int64_t rows : {1, 5, 16, 17, 100, 1499}) {
        const auto count = static_cast<std::size_t>(rows * columns);
        side.set(std::span(all.x).first(count), std::span(all.mine()).first(count), all.bias, all.weight);
        side.call();
        ASSERT_TRUE(std::equal(wanted.begin(), wanted.begin() + rows * columns, side.out().begin()))
            << rows << " rows";
    }
}

TEST_F(JointSumsOnGpus, MixWithCollectivesInGraphs) {
    constexpr std::int64_t columns = 1024;
    Side side(columns);
    const auto counted = side.ops().allocate(sizeof(float));
    for (const std::int64_t rows : {1, 40, 700}) {
        const Case c(rows, columns, 11);
        const auto enqueue = [&] {
            for (int i = 0; i < 3; ++i) {
                side.call();
                side.group().all_reduce(counted->data(), counted->data(), 1, ElementType::Float32,
                                        Reduction::Sum, side.stream());
            }
        };
        side.set(c.x, c.mine(), c.bias, c.weight);
        enqueue();
        const auto wanted = side.out();
        const auto recording = side.ops().record(enqueue);
        for (int launch = 0; launch < 50; ++launch) {
            const float one = 1;
            side.ops().upload(counted->data(), &one, sizeof one);
            side.set(c.x, c.mine(), c.bias, c.weight);
            recording->replay();
            float count = 0;
            side.ops().download(&count, counted->data(), sizeof count);
            ASSERT_EQ(count, std::pow(static_cast<float>(world().size()), 3.0F));
            ASSERT_TRUE(side.out() == wanted) << "launch " << launch;
        }
    }
}

// Products send their results as they compute them. The sum is the same, to the bit, as of stored results.
TEST_F(JointSumsOnGpus, TakesWhatProductsSend) {
    constexpr std::int64_t inner = 96;
    for (const std::int64_t columns : {8, 64, 1000, 4096, 5120, 16384}) {
        Side side(columns);
        const Case c(1, columns, 21);
        const auto weights =
            random_numbers(columns * inner, 22 + static_cast<unsigned>(world().rank()), 0.1F);
        std::vector<std::uint16_t> halves(weights.size());
        std::ranges::transform(weights, halves.begin(), half_from_float);
        const auto matrix =
            side.ops().load_matrix({WeightFormat::F16, columns, inner, inner * sizeof halves[0],
                                    reinterpret_cast<const std::byte*>(halves.data()), false});
        std::vector<std::uint16_t> x(inner);
        std::ranges::transform(random_numbers(inner, 23, 1), x.begin(), half_from_float);
        x[0] = 0;
        const auto row = side.ops().allocate(x.size() * sizeof x[0]);
        side.ops().upload(row->data(), x.data(), x.size() * sizeof x[0]);
        const HiddenRows input{row->data(), 1, inner};

        side.set(c.x, c.mine(), c.bias, c.weight);
        side.ops().matmul(input, *matrix, side.delta());
        side.call();
        const auto wanted = side.out();
        const auto wanted_x = side.x();
        const auto enqueue = [&] {
            for (const JointPart part : {JointPart::Attention, JointPart::FeedForward}) {
                side.ops().matmul_part(input, *matrix, part, side.delta());
                side.call();
            }
        };
        std::vector<std::uint16_t> twice;
        for (int times = 0; times < 3; ++times) {
            side.set(c.x, c.mine(), c.bias, c.weight);
            side.ops().matmul_part(input, *matrix, JointPart::Attention, side.delta());
            side.call();
            ASSERT_TRUE(side.out() == wanted) << columns << " columns";
            ASSERT_TRUE(side.x() == wanted_x) << columns << " columns";
            side.call();  // of stored numbers, between the two
            side.set(c.x, c.mine(), c.bias, c.weight);
            side.ops().matmul_part(input, *matrix, JointPart::FeedForward, side.delta());
            side.call();
            ASSERT_TRUE(side.out() == wanted) << columns << " columns";
            side.set(c.x, c.mine(), c.bias, c.weight);
            enqueue();
            twice = side.out();
        }
        const auto recording = side.ops().record(enqueue);
        for (int launch = 0; launch < 50; ++launch) {
            side.set(c.x, c.mine(), c.bias, c.weight);
            recording->replay();
            ASSERT_TRUE(side.out() == twice) << columns << " columns, launch " << launch;
        }
    }
}

// One rank's part is not finite: all ranks report the row.
TEST_F(JointSumsOnGpus, TripTheSentinelOfAllRanks) {
    constexpr std::int64_t columns = 4096;
    Side side(columns);
    for (const std::int64_t rows : {3, 50})
        for (std::int64_t bad = 0; bad < rows; ++bad)
            for (const bool with_weight : {true, false}) {
                Case c(rows, columns, 5);
                auto mine = c.mine();
                if (world().rank() == bad % world().size())
                    mine[static_cast<std::size_t>(bad * columns + bad)] = bad % 2 ? INFINITY : NAN;
                side.set(c.x, mine, c.bias, c.weight);
                side.call(true, with_weight);
                const SentinelReport report = side.ops().take_sentinel();
                ASSERT_TRUE(report.tripped) << rows << " rows, row " << bad;
                EXPECT_EQ(report.row, bad);
                EXPECT_EQ(report.place.layer, kPlace.layer);
                EXPECT_EQ(report.place.operation, kPlace.operation);
            }
}

// Numbers above the largest that ranks can send, 65504 * 16: infinite, or limited with a clamp.
TEST_F(JointSumsOnGpus, LimitLargeSumsOnlyWithAClamp) {
    constexpr std::int64_t columns = 64;
    for (const bool clamp : {false, true}) {
        Side side(columns, clamp);
        Case c(2, columns, 5);
        std::vector<float> mine(c.x.size(), 0.0F);
        if (world().rank() == 1) mine[70] = 1e7F;
        side.set(c.x, mine, c.bias, c.weight);
        side.call(false);
        EXPECT_EQ(side.ops().take_sentinel().tripped, !clamp);
        if (clamp) {
            EXPECT_NEAR(side.x()[70], c.x[70] + 65504.0F * 16, 1);
        }
    }
}

}  // namespace

#endif

int main(int argc, char** argv) {
    return voltpile::test::run_mpi_tests(argc, argv);
}

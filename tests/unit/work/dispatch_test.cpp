#include "work/dispatch.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "base/error.h"

using namespace voltpile;

namespace {

// Simulates ranks in one process: messages arrive at random moments, apps compute in random order.
class Cluster {
  public:
    Cluster(int ranks, std::int64_t points, const RangeSet& completed, unsigned seed,
            std::int64_t max_points = 0)
        : random_(seed),
          server_({0, points}, completed, std::vector<double>(static_cast<std::size_t>(ranks), 100.0),
                  {2.0, max_points}) {
        for (int r = 0; r < ranks; ++r) {
            work_.push_back(std::make_unique<WorkScheduler>());
            clients_.push_back(std::make_unique<DispatchClient>(*work_.back(), 1));
        }
        computed_.resize(static_cast<std::size_t>(ranks));
    }

    // Until every rank has sent its last report, or `most` steps. stop_at: a rank gets a signal at that step.
    void run(int most, int stop_at = -1) {
        for (int step = 0; step < most && !server_.all_finished(); ++step) {
            now_s_ += 0.01;
            const std::size_t r = random_() % work_.size();
            if (random_() % 2) compute(r);
            const bool finished = work_[r]->exhausted() && work_[r]->progress().points == computed_[r];
            if (auto report = clients_[r]->report(now_s_, stop_at >= 0 && step >= stop_at, finished))
                server_.receive(static_cast<int>(r), RankReport::from_bytes(report->to_bytes()), now_s_);
            for (const auto& [to, grant] : server_.take_replies())
                clients_[static_cast<std::size_t>(to)]->receive(RankGrant::from_bytes(grant.to_bytes()));
        }
    }

    const DispatchServer& server() const { return server_; }
    const RangeSet& handed_out() const { return handed_out_; }

  private:
    void compute(std::size_t r) {
        const auto range = work_[r]->try_next();
        if (!range) return;
        EXPECT_FALSE(handed_out_.overlaps(*range)) << "a range was handed out twice";
        handed_out_.insert(*range);
        work_[r]->add_units(static_cast<double>(range->size()));
        work_[r]->committed(*range);
        computed_[r] += range->size();
    }

    std::mt19937 random_;
    double now_s_ = 0;
    DispatchServer server_;
    std::vector<std::unique_ptr<WorkScheduler>> work_;
    std::vector<std::unique_ptr<DispatchClient>> clients_;
    std::vector<std::int64_t> computed_;
    RangeSet handed_out_;
};

}  // namespace

TEST(Dispatch, HandsOutEveryPointOnceToAnyNumberOfRanks) {
    for (int ranks : {1, 2, 4, 17})
        for (unsigned seed = 0; seed < 20; ++seed) {
            Cluster cluster(ranks, 12'345, {}, seed);
            cluster.run(1'000'000);
            EXPECT_TRUE(cluster.server().all_finished());
            EXPECT_TRUE(cluster.server().complete());
            EXPECT_EQ(cluster.handed_out().size(), 12'345);
        }
}

TEST(Dispatch, ResumesWithMissingPoints) {
    RangeSet completed;
    completed.insert({100, 200});
    completed.insert({5000, 9000});
    Cluster cluster(3, 10'000, completed, 7);
    cluster.run(1'000'000);
    EXPECT_TRUE(cluster.server().complete());
    EXPECT_EQ(cluster.handed_out().size(), 10'000 - 100 - 4000);
    for (const WorkRange& range : completed.ranges()) EXPECT_FALSE(cluster.handed_out().overlaps(range));
}

TEST(Dispatch, EndsAtOnceWithoutWork) {
    Cluster cluster(4, 10, RangeSet({0, 10}), 1);
    cluster.run(10'000);
    EXPECT_TRUE(cluster.server().all_finished());
    EXPECT_TRUE(cluster.handed_out().empty());
}

TEST(Dispatch, HandlesMoreRanksThanPoints) {
    Cluster cluster(17, 3, {}, 1);
    cluster.run(100'000);
    EXPECT_TRUE(cluster.server().all_finished());
    EXPECT_TRUE(cluster.server().complete());
}

TEST(Dispatch, StopsAllRanksOnASignalWithoutLosingCommits) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        Cluster cluster(4, 1'000'000'000, {}, seed, 1000);
        cluster.run(1'000'000, 300);
        EXPECT_TRUE(cluster.server().all_finished());
        EXPECT_FALSE(cluster.server().complete());
        EXPECT_EQ(cluster.server().completed().ranges(), cluster.handed_out().ranges());
    }
}

TEST(Dispatch, RejectsTruncatedMessages) {
    RankReport report;
    report.committed = {{1, 2}};
    const std::string bytes = report.to_bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_THROW(RankReport::from_bytes(bytes.substr(0, length)), CommError);
    EXPECT_EQ(RankReport::from_bytes(bytes).committed, report.committed);
}

TEST(Dispatch, MergesGaugesOfReports) {
    WorkScheduler first, second;
    DispatchClient clients[] = {{first, 1}, {second, 1}};
    first.set_gauges({{"in", "tok/s", Gauge::Kind::Rate, 100}, {"cache", "%", Gauge::Kind::Mean, 50}});
    second.set_gauges({{"in", "tok/s", Gauge::Kind::Rate, 20},
                       {"cache", "%", Gauge::Kind::Mean, 70},
                       {"batch", "", Gauge::Kind::Sum, 8}});
    DispatchServer server({0, 10}, {}, {1, 1, 0}, {});
    for (int rank : {0, 1})
        server.receive(rank, RankReport::from_bytes(clients[rank].report(0, false, false)->to_bytes()), 0);
    EXPECT_EQ(merged(server.gauges()), (std::vector<Gauge>{{"in", "tok/s", Gauge::Kind::Rate, 120},
                                                           {"cache", "%", Gauge::Kind::Mean, 60},
                                                           {"batch", "", Gauge::Kind::Sum, 8}}));
}

TEST(Dispatch, GivesNoRangesToRanksThatLeadNoTeam) {
    WorkScheduler leader, follower;
    follower.close();
    DispatchClient asks(leader, 1), silent(follower, 1);
    DispatchServer server({0, 4}, {}, {1, 0}, {});
    server.receive(0, *asks.report(0, false, false), 0);
    const auto quiet = silent.report(0, false, false);
    if (quiet) {
        EXPECT_EQ(quiet->wanted, 0);
        server.receive(1, *quiet, 0);
    }
    for (const auto& [rank, grant] : server.take_replies()) EXPECT_EQ(rank, 0);
    EXPECT_FALSE(follower.stopping());
    server.stop();
    for (const auto& [rank, grant] : server.take_replies()) (rank == 0 ? asks : silent).receive(grant);
    EXPECT_TRUE(leader.stopping());
    EXPECT_FALSE(server.all_finished());
    server.receive(0, *asks.report(1, false, true), 1);
    server.receive(1, *silent.report(1, false, true), 1);
    EXPECT_TRUE(server.all_finished());
}

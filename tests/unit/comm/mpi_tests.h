// The main function of test programs that run under mpirun.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "comm/mpi/session.h"

namespace voltpile::test {

inline const MpiSession& session(const MpiSession* started = nullptr) {
    static const MpiSession* kept = started;
    return *kept;
}
inline const Communicator& world() {
    return session().world();
}

// A rank whose test fails prints that and ends the program, because the others would wait for it in the next
// collective.
class EndsWithTheFirstFailure : public ::testing::EmptyTestEventListener {
  public:
    explicit EndsWithTheFirstFailure(const MpiSession& session) : session_(session) {}

  private:
    void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (!result.failed()) return;
        failed_ = true;
        std::fprintf(stderr, "rank %d: %s:%d: %s\n", world().rank(),
                     result.file_name() ? result.file_name() : "", result.line_number(), result.summary());
        if (result.fatally_failed()) session_.abort(1);
    }
    void OnTestEnd(const ::testing::TestInfo&) override {
        if (failed_) session_.abort(1);
    }
    const MpiSession& session_;
    bool failed_ = false;
};

inline int run_mpi_tests(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    const MpiSession started(argc, argv);
    session(&started);
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    if (world().rank() != 0) delete listeners.Release(listeners.default_result_printer());
    if (world().size() > 1) listeners.Append(new EndsWithTheFirstFailure(started));
    return RUN_ALL_TESTS();
}

}  // namespace voltpile::test

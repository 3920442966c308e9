// MPI at a lower thread level than voltpile needs, as an MPI built without threads offers it.
#include <gtest/gtest.h>
#include <mpi.h>

#include "base/error.h"
#include "comm/mpi/session.h"

// Replaces the library's function, as a profiling tool does.
extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int code = PMPI_Init_thread(argc, argv, required, provided);
    *provided = MPI_THREAD_SERIALIZED;
    return code;
}

namespace {

int argument_count = 0;
char** arguments = nullptr;

}  // namespace

TEST(MpiSession, RejectsALowerThreadLevel) {
    try {
        const voltpile::MpiSession session(argument_count, arguments);
        FAIL() << "started at MPI_THREAD_SERIALIZED";
    } catch (const voltpile::MachineError& error) {
        EXPECT_EQ(error.exit_code(), voltpile::ExitCode::CannotRun);
        const std::string text = error.what();
        EXPECT_NE(text.find("provides only MPI_THREAD_SERIALIZED"), std::string::npos) << text;
        EXPECT_NE(text.find("MPI_THREAD_MULTIPLE"), std::string::npos) << text;
    }
    int finalized = 0;
    MPI_Finalized(&finalized);
    EXPECT_EQ(finalized, 1);  // else the launcher would report a crash
}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    argument_count = argc;
    arguments = argv;
    return RUN_ALL_TESTS();
}

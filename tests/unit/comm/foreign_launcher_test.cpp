#include "comm/mpi/launch_check.h"

#include <gtest/gtest.h>

using namespace voltpile;

namespace {

using Environment = std::map<std::string, std::string>;

const MpiLibrary open_mpi{"Open MPI", "4.1.4", "/usr/lib/libmpi.so.40", "/usr/bin/mpirun", false};

std::string problem(const Environment& environment, const std::vector<std::string>& ancestors = {},
                    const MpiLibrary& library = open_mpi) {
    return launch_problem(read_launch(environment, ancestors), library);
}

std::string wrong_size(const Environment& environment, int size) {
    return size_problem(read_launch(environment, {}), open_mpi, size);
}

// The environments that these launchers really set.
const Environment by_mpirun_4{{"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_RANK", "0"},
                              {"PMIX_RANK", "0"},
                              {"PMIX_NAMESPACE", "782499841"}};
const Environment by_mpirun_5{{"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_RANK", "0"},
                              {"OMPI_VERSION", "5.0.11"},
                              {"PMIX_NAMESPACE", "prterun-vm-16914@1"},
                              {"PRTE_LAUNCHED", "1"}};
const Environment by_mpich{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", "6"}, {"HYDI_CONTROL_FD", "7"}};
const Environment by_intel{{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"I_MPI_MPIRUN", "mpirun"}};
const Environment by_srun{
    {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_NTASKS", "6"}};

Environment with(Environment environment, const Environment& more) {
    environment.insert(more.begin(), more.end());
    return environment;
}

}  // namespace

TEST(ForeignLauncher, AcceptsLaunchersThatWork) {
    EXPECT_EQ(problem({}), "");
    EXPECT_EQ(problem({{"HOME", "/root"}}, {"bash", "sshd"}), "");
    EXPECT_EQ(problem(by_mpirun_4, {"orted"}), "");
    EXPECT_EQ(problem(by_mpirun_5, {"prterun"}), "");
    EXPECT_EQ(problem(with(by_srun, {{"PMIX_NAMESPACE", "slurm.pmix.7.0"}, {"PMIX_RANK", "0"}})), "");
    // mpirun inside an allocation starts its daemons by srun.
    EXPECT_EQ(problem(with(by_mpirun_4, by_srun)), "");
    // A batch script has no step.
    EXPECT_EQ(problem({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "6"}, {"SLURM_PROCID", "0"}}), "");
    EXPECT_EQ(problem({{"FLUX_JOB_ID", "f1"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "");
}

TEST(ForeignLauncher, RejectsMpich) {
    const std::string expected =
        "started by MPICH's mpiexec as one of 2 processes, but this voltpile was built with Open MPI 4.1.4: "
        "each "
        "process would run alone; use /usr/bin/mpirun (Open MPI's)";
    EXPECT_EQ(problem(by_mpich), expected);
    EXPECT_EQ(problem({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, {"hydra_pmi_proxy", "mpiexec.mpich"}),
              expected);
}

TEST(ForeignLauncher, RejectsIntelMpi) {
    EXPECT_NE(problem(by_intel).find("started by Intel MPI's mpiexec as one of 4"), std::string::npos);
}

TEST(ForeignLauncher, RejectsAnUnknownMpirun) {
    EXPECT_NE(problem({}, {"mpirun"}).find("started by mpirun, but this voltpile was built with Open MPI"),
              std::string::npos);
}

TEST(ForeignLauncher, RejectsSrunWithoutPmix) {
    EXPECT_EQ(
        problem(by_srun),
        "started by srun as one of 6 processes without PMIx, by which alone Open MPI 4.1.4 finds the other "
        "processes: use srun --mpi=pmix (srun --mpi=list says whether this Slurm has it), or /usr/bin/mpirun "
        "inside the allocation");
    const Environment pmi2 = with(by_srun, {{"PMI_RANK", "0"}, {"PMI_SIZE", "6"}, {"PMI_FD", "11"}});
    EXPECT_NE(problem(pmi2).find("srun --mpi=pmix"), std::string::npos);
    // An Open MPI built with Slurm's PMI can start this way.
    MpiLibrary with_pmi = open_mpi;
    with_pmi.speaks_pmi = true;
    EXPECT_EQ(problem(pmi2, {}, with_pmi), "");
    EXPECT_NE(problem(by_srun, {}, with_pmi), "");
}

TEST(ForeignLauncher, AcceptsASingleProcess) {
    EXPECT_EQ(problem({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, {"hydra_pmi_proxy"}), "");
    EXPECT_EQ(problem({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "");
}

TEST(ForeignLauncher, AcceptsUnknownMpiLibraries) {
    const MpiLibrary mpich{"MPICH", "4.0.2", "", "", true};
    EXPECT_EQ(problem(by_mpich, {}, mpich), "");
    EXPECT_EQ(problem(by_srun, {}, mpich), "");
}

TEST(ForeignLauncher, RejectsAWorldThatIsTooSmall) {
    EXPECT_EQ(wrong_size(by_mpirun_4, 2), "");
    EXPECT_EQ(wrong_size({}, 1), "");
    EXPECT_EQ(wrong_size(by_srun, 6), "");
    EXPECT_EQ(wrong_size(by_srun, 12), "");  // two components of one job
    EXPECT_EQ(
        wrong_size(by_mpirun_5, 1),
        "started by mpirun of Open MPI 5.0.11 as one of 2 processes, but Open MPI 4.1.4, with which this "
        "voltpile was built, found only 1 of them; use /usr/bin/mpirun (Open MPI's)");
    EXPECT_NE(wrong_size(by_srun, 1).find("srun --mpi=pmix"), std::string::npos);
}

TEST(MpiLibrary, ReportsTheLinkedLibrary) {
    const MpiLibrary library = mpi_library();
    EXPECT_FALSE(library.name.empty());
    ASSERT_FALSE(library.version.empty());
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(library.version[0])));
    EXPECT_EQ(library.path.find('/'), 0u);
}

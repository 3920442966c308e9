// Runs the instances of a program on several ranks at the same time, as one unit of work: the first rank
// starts them, collects their records and ends all when one fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"
#include "command/program_run.h"
#include "command/run_record.h"
#include "job/job_spec.h"
#include "results/result_writer.h"
#include "run/rank_context.h"
#include "work/work_scheduler.h"

namespace voltpile::command {

class InstanceRun {
  public:
    // Keeps references to all arguments. `ranks`: a communicator of the ranks of the job, in their order.
    InstanceRun(const JobSpec& job, const RankContext& rank, const Communicator& ranks,
                ProgramRunner& runner);

    // On rank 0: runs all instances and submits their records, unless the job stops. Throws Error if one
    // fails and the job is to fail then.
    void lead(WorkScheduler& work, ResultWriter& results);

    // On the other ranks: runs the instance of this rank, if it has one, when rank 0 says so.
    void follow(WorkScheduler& work);

  private:
    struct Order;
    RunOrder order_of(const Order& order) const;
    Order start(bool go);
    void receive();
    void note(std::size_t instance, std::optional<RunRecord> record);
    void end_others();
    void require_outputs();
    bool all_known() const;
    void drop_log(const RunRecord& record, bool keep);
    std::string name_of(int rank) const;
    std::string failure_text(std::size_t instance) const;

    const JobSpec& job_;
    const RankContext& rank_;
    const Communicator& ranks_;
    ProgramRunner& runner_;
    bool per_instance_;      // one record for each
    std::vector<int> runs_;  // the ranks with an instance
    // On rank 0.
    std::vector<std::optional<RunRecord>> records_;  // by instance
    std::vector<bool> known_;                        // its instance has ended, with or without a record
    std::optional<std::size_t> failed_;              // the first instance that failed
    bool told_end_ = false;
    bool keep_logs_ = false;  // no instance has printed all outputs
};

}  // namespace voltpile::command

// Checks a complete result: computes a random sample of its points again, more exactly, and stores the
// agreement in the result.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"
#include "job/job_spec.h"
#include "run/app.h"

namespace voltpile {

// The check that a job asks for, prepared on every rank alike.
class ResultCheckTask {
  public:
    // Returns nothing if the job asks for no check. Throws AgreedError.
    static std::optional<ResultCheckTask> make(const App& app, const JobSpec& job,
                                               const std::filesystem::path& result);

    // The app that computes the sampled points, and where its result goes until it is in the checked result:
    // "map.check-0123abcd.h5" beside it. An interrupted check resumes from there.
    std::unique_ptr<App> take_app() { return std::move(app_); }
    const std::filesystem::path& place() const { return place_; }

    // Collective: every rank calls. Returns whether the result is complete and lacks this check.
    bool is_due(const Communicator& world) const;

    // Collective: every rank calls. Rank 0 stores the check in the result, prints it, and removes the file at
    // place(). Throws AgreedError.
    void store(const Communicator& world) const;

  private:
    ResultCheckTask() = default;

    CheckPlan plan_;
    std::vector<std::int64_t> sample_;
    std::filesystem::path result_, place_;
    std::string result_fingerprint_, fingerprint_;
    std::unique_ptr<App> app_;
};

}  // namespace voltpile

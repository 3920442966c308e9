// A language model behind an HTTP server: what `voltpile serve` and jobs of the app serve run.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "comm/mpi/session.h"
#include "http/api_keys.h"
#include "job/watchdog_keys.h"
#include "llm/replica/replica_plan.h"
#include "llm/serve/serve.h"
#include "llm/serve/serve_fields.h"
#include "llm/session/language_model.h"
#include "machine/node_watch.h"
#include "run/service.h"
#include "run/stop_signals.h"

namespace voltpile::llm {

// Tokens of a sequence unless the settings say otherwise; a longer context that the model supports could fill
// its GPUs.
inline constexpr int longest_usual_context = 8192;

// Returns the settings of the replicas of a server before users change them.
ReplicaRequest usual_serve_request();

struct ServeRequest {
    ModelChoice model;  // without chat_template
    std::string draft;  // the path of a draft model; empty: none
    ServeOptions options;
    ReplicaRequest replica = usual_serve_request();
    double time_limit_s = std::numeric_limits<double>::infinity();  // then it stops as after a signal
    WatchdogDeadlines watchdog;
    // Returns how messages name the field of this name, in kServeFields: "--port", "job.toml:3: serve.port".
    std::function<std::string(std::string_view field)> place;
};

class ModelServer {
  public:
    // Opens the model and reads the files that the settings name. Collective over `world`; nullptr: one
    // process without MPI, which only plans. Throws AgreedError, or any Error without `world`.
    ModelServer(ServeRequest request, const Communicator* world);

    const LanguageModel& model() const { return *model_; }
    const ReplicaRequest& replica() const { return request_.replica; }
    const ServeOptions& options() const { return request_.options; }

    // Serves until a stop signal or the time limit, see serve(). watch: samples this node; nullptr: a rank
    // that reads GPUs starts its own once somebody asks. Collective over the world, with the same plan of
    // replica() on all ranks. Returns, on rank 0, what it did. Throws AgreedError; an error on a single rank
    // ends all ranks.
    ServedWork run(const MpiSession& mpi, StopSignals& signals, ReplicaPlan plan, NodeWatch* watch) const;

  private:
    void warn() const;
    void read_files();
    ServeSettings settings() const;
    // Calls `function`; an Error gets the place of the field in front.
    template <class Function>
    auto blaming(std::string_view field, Function&& function) const;

    ServeRequest request_;
    std::unique_ptr<LanguageModel> model_, draft_;
    http::ApiKeys keys_;  // on rank 0
};

}  // namespace voltpile::llm

#include "run/watched_service.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/format.h"
#include "base/seconds_since.h"
#include "base/standard_streams.h"
#include "results/parts/durable_file.h"
#include "results/telemetry_log.h"
#include "run/agreement.h"
#include "run/server_status.h"
#include "run/status_board.h"

namespace voltpile {
namespace {

constexpr std::chrono::seconds kTick{1};

// The folder of the samples, on rank 0, and the life in it, on all ranks; without a file, if nothing is kept.
class ServiceLog {
  public:
    ServiceLog(const Communicator& world, const std::filesystem::path& file) : file_(file) {
        const std::string answer = world.broadcast(world.rank() == 0 ? begin() : std::string(), 0);
        if (answer.empty()) return;
        const auto end = answer.find('\n');
        const std::filesystem::path result = answer.substr(end + 1);
        life_ = Life{result, telemetry_samples(result), answer.substr(0, end)};
        std::error_code error;
        if (!std::filesystem::exists(life_->folder(), error))
            life_->name.clear();  // it is on another host's disk
    }

    const Life* life() const { return life_ ? &*life_ : nullptr; }

    void finish(const ServedWork& work) {
        if (!log_) return;
        try {
            if (log_->finish(work.tokens, work.prompt_tokens))
                print_error(fmt::format("telemetry: {}", file_.string()));
        } catch (const Error& error) {
            spdlog::warn("telemetry: {}", error.what());
        }
    }

  private:
    std::string begin() {
        if (file_.empty()) return "";
        try {
            log_ = std::make_unique<TelemetryLog>(file_);
            return log_->life().name + '\n' + std::filesystem::absolute(log_->life().result).string();
        } catch (const Error& error) {
            spdlog::warn("telemetry: {}; the server keeps none", error.what());
            return "";
        }
    }

    std::filesystem::path file_;
    std::unique_ptr<TelemetryLog> log_;
    std::optional<Life> life_;
};

// Commits samples while the main thread serves.
class TelemetryThread {
  public:
    explicit TelemetryThread(TelemetryRecorder& recorder)
        : thread_([this, &recorder](const std::stop_token& stop) {
              std::unique_lock lock(mutex_);
              while (!never_.wait_for(lock, stop, kTick, [&] { return stop.stop_requested(); }))
                  recorder.tick();
          }) {}

  private:
    std::mutex mutex_;
    std::condition_variable_any never_;
    std::jthread thread_;
};

std::string work_text(const ServedWork& work, double seconds) {
    return fmt::format("served {} request{} in {}: {} tokens of prompts, {} generated",
                       count_text(work.requests), work.requests == 1 ? "" : "s", duration_text(seconds),
                       count_text(work.prompt_tokens), count_text(work.tokens));
}

}  // namespace

void watch_service(const Communicator& world, const Plan& plan, const TelemetryRequest& request,
                   const std::filesystem::path& address_file, NodeMonitor* monitor, PowerGuard* guard,
                   const std::function<ServedWork(NodeWatch*)>& serve) {
    const StatusBoard board(request, address_file, monitor);
    std::filesystem::path file = request.file;
    if (file.empty() && !address_file.empty()) file = telemetry_log_file(address_file);
    if (!monitor || request.record == "no") file.clear();
    ServiceLog log(world, file);
    TelemetryRequest kept = request;
    kept.outlives_fence = true;
    TelemetryRecorder recorder(world, plan, kept, log.life(), monitor, guard);
    const auto begin = std::chrono::steady_clock::now();
    ServedWork work;
    {
        const TelemetryThread thread(recorder);
        work = serve(monitor ? monitor->watch() : nullptr);
    }
    const double seconds = seconds_since(begin);
    const GpuPower power = recorder.finish();
    if (world.rank() != 0) return;
    print_error(work_text(work, seconds));
    if (power.gpus > 0)
        print_error(energy_text(power, seconds, static_cast<double>(work.tokens), "generated token"));
    log.finish(work);
}

}  // namespace voltpile

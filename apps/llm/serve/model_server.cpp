#include "llm/serve/model_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/unix_time.h"
#include "http/listener.h"
#include "http/server.h"
#include "llm/grammar/harmony.h"
#include "llm/grammar/tool_format.h"
#include "llm/replica/replica_fields.h"
#include "llm/serve/gpu_reports.h"
#include "llm/session/draft_model.h"
#include "llm/session/serve_replicas.h"
#include "machine/node_watch.h"
#include "machine/probe.h"
#include "run/agreement.h"

namespace voltpile::llm {
namespace {

// "models/Qwen3-8B-Q4_K_M.gguf": "Qwen3-8B-Q4_K_M"
std::string name_of(const ModelChoice& model) {
    if (model.path.empty()) return model.shape;
    std::filesystem::path name = std::filesystem::path(model.path).lexically_normal();
    if (!name.has_filename()) name = name.parent_path();
    return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

}  // namespace

ReplicaRequest usual_serve_request() {
    ReplicaRequest request;
    request.replicas = 0;
    request.sequences = replica_field("sequences").usual;
    request.shrinks = true;
    return request;
}

template <class Function>
auto ModelServer::blaming(std::string_view field, Function&& function) const {
    try {
        return function();
    } catch (const Error& error) {
        throw Error(error.exit_code(), fmt::format("{}: {}", request_.place(field), error.what()));
    }
}

ModelServer::ModelServer(ServeRequest request, const Communicator* world) : request_(std::move(request)) {
    ReplicaRequest& replica = request_.replica;
    replica.logits = replica.sequences;
    ModelChoice choice = request_.model;
    choice.chat_template = request_.options.chat_template;
    model_ = world ? LanguageModel::open(*world, choice) : std::make_unique<LanguageModel>(choice);
    if (replica.context == 0)
        replica.context =
            static_cast<int>(std::min<std::int64_t>(model_->config().context, longest_usual_context));
    if (!request_.draft.empty()) draft_ = open_draft(world, {.path = request_.draft}, *model_, replica);
    open_prediction_layers(world, *model_, replica);
    const auto check = [&] {
        model_->tokenizer();
        if (model_->has_chat_template()) blaming("template", [&] { model_->chat_template(); });
        const std::string name =
            request_.options.name.empty() ? name_of(request_.model) : request_.options.name;
        for (const std::string& adapter : model_->adapter_names())
            if (adapter == name)
                throw JobError(fmt::format("an adapter has the name of the model, {}", name));
        const std::string& format = request_.options.tool_format;
        if (!format.empty() && !tool_format_named(format))
            blaming("tool_format", [&] {
                throw JobError(
                    fmt::format("\"{}\" is none of {}", format, fmt::join(tool_format_names(), ", ")));
            });
        if (format == llm::name(ToolFormat::Harmony) &&
            harmony_tokens(model_->tokenizer()).ids.size() < kHarmonyTokens.size())
            blaming("tool_format", [&] {
                throw JobError(fmt::format("the model's vocabulary lacks special tokens of {}: it needs {}",
                                           format, fmt::join(kHarmonyTokens, ", ")));
            });
        if (request_.options.log_prompts && request_.options.log_format == "none")
            blaming("log_prompts", [&] {
                throw JobError(fmt::format("{} must be text or json", request_.place("log_format")));
            });
        return true;
    };
    if (!world) {
        check();
        warn();
        read_files();
        return;
    }
    agreed(check);
    decide_on_root(*world, [&] {
        warn();
        read_files();
        return std::string();
    });
}

// Warns of options that have no effect with this model, or a bad one.
void ModelServer::warn() const {
    if (!model_->has_chat_template()) return;
    if (const std::string problem = model_->template_problem(); !problem.empty()) spdlog::warn("{}", problem);
    if (!request_.options.tool_format.empty() && !model_->chat_template().takes_tools())
        spdlog::warn("{} {} has no effect: the chat template has no place for tools",
                     request_.place("tool_format"), request_.options.tool_format);
}

void ModelServer::read_files() {
    const ServeOptions& options = request_.options;
    if (!options.api_key_file.empty())
        blaming("api_key_file", [&] { keys_ = http::ApiKeys::from_file(options.api_key_file); });
    if (!options.tls_cert.empty())
        blaming("tls_cert", [&] { http::check_tls_files(options.tls_cert, options.tls_key); });
}

ServeSettings ModelServer::settings() const {
    const ServeOptions& options = request_.options;
    ServeSettings settings;
    settings.http.host = options.host;
    settings.http.port = options.port;
    settings.http.tls_certificate = options.tls_cert;
    settings.http.tls_key = options.tls_key;
    settings.http.connections = options.connections;
    settings.http.body_bytes = static_cast<std::size_t>(options.body_mb) << 20;
    settings.http.cors_origins = options.cors_origin;
    settings.api.model = {options.name.empty() ? name_of(request_.model) : options.name,
                          model_->config().vocab, request_.replica.context,
                          static_cast<std::int64_t>(unix_time())};
    if (model_->has_chat_template()) {
        const ChatTemplate& chat_template = model_->chat_template();
        settings.api.model.takes_tools = chat_template.takes_tools();
        settings.api.model.takes_effort = chat_template.takes_effort();
        settings.api.model.tool_format = options.tool_format.empty() ? tool_format_of(chat_template.source())
                                                                     : tool_format_named(options.tool_format);
    }
    settings.api.model.adapters = model_->adapter_names();
    settings.api.grace_seconds = options.grace;
    settings.api.keys = keys_;
    settings.api.log = log_format_named(options.log_format);
    settings.api.log_prompts = options.log_prompts;
    settings.address_file = options.address_file;
    settings.time_limit_s = request_.time_limit_s;
    return settings;
}

ServedWork ModelServer::run(const MpiSession& mpi, StopSignals& signals, ReplicaPlan plan,
                            NodeWatch* watch) const {
    // Loading a large model takes minutes, so a port that is taken is found before.
    decide_on_root(mpi.world(), [&] {
        const ServeOptions& options = request_.options;
        try {
            http::check_address(options.host, options.port);
        } catch (const Error& error) {
            const auto field = error.exit_code() == ExitCode::BadInput ? "host" : "port";
            throw Error(error.exit_code(), fmt::format("{}: {}", request_.place(field), error.what()));
        }
        return std::string();
    });
    const auto replicas = static_cast<int>(plan.plan.teams.teams.size());
    // Without a watch of the job: samples from the first time that somebody asks, on the ranks that read.
    std::unique_ptr<NodeWatch> own;
    GpuReports gpus(mpi.world(), find_gpus(mpi.world(), plan.plan), [&own, watch] {
        if (!watch && !own) own = std::make_unique<NodeWatch>(GpuReports::period);
        const NodeWatch& samples = watch ? *watch : *own;
        samples.await_first(kProbeDeadline);
        return samples.latest().gpus;
    });
    ServedWork work;
    serve_replicas(mpi, *model_, std::move(plan), request_.watchdog, [&](SharedQueue& queue) {
        ServeSettings settings = this->settings();
        settings.api.gpus = &gpus;
        settings.api.requests = replicas * request_.replica.sequences + request_.options.queue;
        work = serve(std::move(settings), *model_, queue, signals);
    });
    gpus.finish();
    return work;
}

}  // namespace voltpile::llm

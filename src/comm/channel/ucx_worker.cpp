#if VOLTPILE_UCX

#include "comm/channel/ucx_worker.h"

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/link_fault.h"
#include "comm/channel/path.h"

namespace voltpile {
namespace {

void check(ucs_status_t status, const char* call) {
    if (status != UCS_OK) throw CommError(fmt::format("UCX: {} failed: {}", call, ucs_status_string(status)));
}

void finish(UcxOperation& operation, ucs_status_t status, std::size_t bytes) {
    operation.request = nullptr;
    operation.error = status == UCS_OK ? nullptr : ucs_status_string(status);
    operation.bytes = bytes;
    operation.done = true;
}

void on_sent(void* request, ucs_status_t status, void* operation) {
    finish(*static_cast<UcxOperation*>(operation), status, 0);
    ucp_request_free(request);
}

void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* operation) {
    finish(*static_cast<UcxOperation*>(operation), status, info->length);
    ucp_request_free(request);
}

void started(UcxOperation& operation, ucs_status_ptr_t request) {
    if (operation.done) return;  // its callback has run already
    if (request == nullptr)
        finish(operation, UCS_OK, 0);
    else if (UCS_PTR_IS_ERR(request))
        finish(operation, UCS_PTR_STATUS(request), 0);
    else
        operation.request = request;
}

ucs_memory_type_t memory_type(bool gpu) {
    return gpu ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
}

// Within the limits of the user's setting.
bool may_use_shared_memory() {
    const char* setting = std::getenv("UCX_TLS");
    if (setting == nullptr) return true;
    const std::string tls = fmt::format(",{},", setting);
    if (tls.starts_with(",^"))
        return tls.find("sm,") == std::string::npos && tls.find("mm,") == std::string::npos;
    for (const char* each : {",all,", ",sm,", ",shm,", ",mm,", ",posix,", ",sysv,"})
        if (tls.find(each) != std::string::npos) return true;
    return false;
}

// Returns what UCX prints about an object.
template <class Print>
std::string printed(Print print) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* stream = open_memstream(&text, &size);
    if (stream == nullptr) return "";
    print(stream);
    std::fclose(stream);
    std::string out(text, size);
    std::free(text);
    return out;
}

}  // namespace

std::string UcxWorker::version() {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return fmt::format("{}.{}.{}", major, minor, release);
}

UcxWorker::UcxWorker(const std::string& net_devices, double keepalive_seconds) {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> config_owner(config,
                                                                                    ucp_config_release);
    const auto set = [&](const char* name, const std::string& value) {
        check(ucp_config_modify(config, name, value.c_str()),
              fmt::format("setting {}={}", name, value).c_str());
    };
    if (!net_devices.empty()) set("NET_DEVICES", net_devices);
    set("KEEPALIVE_INTERVAL", fmt::format("{:.3f}s", keepalive_seconds));
    // Without this UCX leaves shared memory out wherever it must report errors. UCX warns of settings without
    // effect.
    if (may_use_shared_memory()) set("MM_ERROR_HANDLING", "y");

    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    params.mt_workers_shared = 0;
    check(ucp_init(&params, config, &context_), "ucp_init");
    try {
        ucp_context_attr_t attributes = {};
        attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
        check(ucp_context_query(context_, &attributes), "ucp_context_query");
        takes_gpu_memory_ = (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;

        ucp_worker_params_t worker_params = {};
        worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
        check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create");
        check(ucp_worker_get_efd(worker_, &wake_fd_), "ucp_worker_get_efd");
        ucp_address_t* address = nullptr;
        std::size_t length = 0;
        check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
        address_.assign(reinterpret_cast<const char*>(address), length);
        ucp_worker_release_address(worker_, address);
    } catch (...) {
        if (worker_ != nullptr) ucp_worker_destroy(worker_);
        ucp_cleanup(context_);
        throw;
    }
}

UcxWorker::~UcxWorker() {
    // UCX warns of messages that were never received; failures leave some, and are reported elsewhere.
    ucp_tag_recv_info_t info = {};
    while (const ucp_tag_message_h message = ucp_tag_probe_nb(worker_, 0, 0, 1, &info)) {
        const ucp_request_param_t param = {};
        const ucs_status_ptr_t request = ucp_tag_msg_recv_nbx(worker_, nullptr, 0, message, &param);
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
}

std::vector<std::string> UcxWorker::transports() const {
    return transports_in(printed([&](std::FILE* stream) { ucp_context_print_info(context_, stream); }));
}

bool UcxWorker::progress() {
    return ucp_worker_progress(worker_) != 0;
}

bool UcxWorker::arm() {
    return ucp_worker_arm(worker_) != UCS_ERR_BUSY;
}

void UcxWorker::send(const UcxConnection& to, const void* data, std::size_t bytes, std::uint64_t tag,
                     bool gpu, UcxOperation& operation) {
    if (message_lost()) return finish(operation, UCS_OK, 0);
    ucp_request_param_t param = {};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.cb.send = on_sent;
    param.user_data = &operation;
    param.memory_type = memory_type(gpu);
    started(operation, to.kind() == UcxConnection::Kind::Watched
                           ? ucp_tag_send_nbx(to.endpoint_, data, bytes, tag, &param)
                           : ucp_tag_send_sync_nbx(to.endpoint_, data, bytes, tag, &param));
}

void UcxWorker::receive(void* data, std::size_t bytes, std::uint64_t tag, bool gpu, UcxOperation& operation) {
    ucp_request_param_t param = {};
    // Only the callback tells how much arrived, so it must run in any case.
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = on_received;
    param.user_data = &operation;
    param.memory_type = memory_type(gpu);
    started(operation, ucp_tag_recv_nbx(worker_, data, bytes, tag, ~std::uint64_t{0}, &param));
}

void UcxWorker::cancel(UcxOperation& receive) {
    if (receive.request != nullptr) ucp_request_cancel(worker_, receive.request);
}

void UcxWorker::abandon(std::unique_ptr<UcxOperation> operation) {
    abandoned_.push_back(std::move(operation));
}

UcxConnection::UcxConnection(UcxWorker& worker, const std::string& address, Kind kind)
    : worker_(worker), kind_(kind) {
    error_ = worker.connection_errors_.emplace_back(std::make_unique<std::string>()).get();
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = kind == Kind::Watched ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
    params.err_handler.cb = [](void* error, ucp_ep_h, ucs_status_t status) {
        *static_cast<std::string*>(error) = ucs_status_string(status);
    };
    params.err_handler.arg = error_;
    check(ucp_ep_create(worker_.worker_, &params, &endpoint_), "ucp_ep_create");
}

UcxConnection::~UcxConnection() {
    if (close_ == nullptr) close(true);
    if (!close_->done) worker_.abandon(std::move(close_));
}

std::vector<std::string> UcxConnection::transports() const {
    if (close_ == nullptr)
        transports_ =
            transports_in(printed([&](std::FILE* stream) { ucp_ep_print_info(endpoint_, stream); }));
    return transports_;
}

void UcxConnection::close(bool by_force) {
    if (close_ != nullptr) return;
    transports();
    close_ = std::make_unique<UcxOperation>();
    if (by_force && kind_ == Kind::Fast) {  // UCX cannot close it by force; the worker's end does
        close_->done = true;
        return;
    }
    ucp_request_param_t param = {};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.cb.send = on_sent;
    param.user_data = close_.get();
    param.flags = by_force ? static_cast<std::uint32_t>(UCP_EP_CLOSE_FLAG_FORCE) : 0U;
    started(*close_, ucp_ep_close_nbx(endpoint_, &param));
}

}  // namespace voltpile

#endif

// UCX behind RAII: a worker, messages by tag, connections. UCX's own header stays in ucx_worker.cpp. Not
// thread-safe: all calls come with the group's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct ucp_context;
struct ucp_ep;
struct ucp_worker;

namespace voltpile {

// A posted send or receive (or the closing of a connection). It must live until done.
struct UcxOperation {
    bool done = false;
    const char* error = nullptr;  // UCX's text, once done; nullptr: went well
    std::size_t bytes = 0;        // that arrived, of a receive
    void* request = nullptr;      // UCX's, until done
};

class UcxConnection;

class UcxWorker {
  public:
    // net_devices: as UCX_NET_DEVICES; empty: UCX's choice. keepalive_seconds: how often UCX asks whether an
    // idle peer still exists. Throws CommError.
    UcxWorker(const std::string& net_devices, double keepalive_seconds);
    // Everything posted must be done or abandoned.
    ~UcxWorker();
    UcxWorker(const UcxWorker&) = delete;
    UcxWorker& operator=(const UcxWorker&) = delete;

    static std::string version();  // of the library, "1.13.1"

    bool takes_gpu_memory() const { return takes_gpu_memory_; }
    std::vector<std::string> transports() const;  // that this process can use: "tcp/eth0", "cuda_ipc/cuda"
    const std::string& address() const { return address_; }  // for connections from others; binary

    bool progress();  // true: something moved
    int wake_fd() const { return wake_fd_; }
    bool arm();  // false: there is something already

    // gpu: the buffer is GPU memory. The operation may be done on return.
    void send(const UcxConnection& to, const void* data, std::size_t bytes, std::uint64_t tag, bool gpu,
              UcxOperation& operation);
    void receive(void* data, std::size_t bytes, std::uint64_t tag, bool gpu, UcxOperation& operation);
    void cancel(UcxOperation& receive);  // it will be done soon, unless its message is already arriving

    // Keeps what UCX may still refer to, with the memory that it needs, until the worker ends.
    void abandon(std::unique_ptr<UcxOperation> operation);

  private:
    friend class UcxConnection;
    ucp_context* context_ = nullptr;
    ucp_worker* worker_ = nullptr;
    bool takes_gpu_memory_ = false;
    std::string address_;
    int wake_fd_ = -1;
    std::vector<std::unique_ptr<UcxOperation>> abandoned_;
    std::vector<std::unique_ptr<std::string>> connection_errors_;  // UCX may tell them until it ends
};

// A way to one peer. Errors of it are told by error().
class UcxConnection {
  public:
    // Watched: UCX looks after the peer, and what is under way can be taken back. Fast: it does not, and so
    // uses ways that are quicker for large messages (over TCP and through shared memory); a send is done when
    // the peer has it.
    enum class Kind { Watched, Fast };

    // Throws CommError if no transport leads to that address.
    UcxConnection(UcxWorker& worker, const std::string& address, Kind kind);
    ~UcxConnection();  // closed by force, unless close() is done
    UcxConnection(const UcxConnection&) = delete;
    UcxConnection& operator=(const UcxConnection&) = delete;

    Kind kind() const { return kind_; }
    const std::string& error() const { return *error_; }  // empty: none
    std::vector<std::string> transports() const;          // that it uses, or did until it was closed

    // Starts closing; closed() tells when it is done. by_force: what is under way fails; else it is sent
    // first.
    void close(bool by_force);
    bool closed() const { return close_ != nullptr && close_->done; }

  private:
    friend class UcxWorker;
    UcxWorker& worker_;
    Kind kind_;
    ucp_ep* endpoint_ = nullptr;
    std::string* error_ = nullptr;  // the worker's
    std::unique_ptr<UcxOperation> close_;
    mutable std::vector<std::string> transports_;
};

}  // namespace voltpile

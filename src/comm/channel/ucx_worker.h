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
    const char* error = nullptr;  // UCX's text once done; nullptr: success
    std::size_t bytes = 0;        // received bytes
    void* request = nullptr;      // UCX's, until done
};

class UcxConnection;

class UcxWorker {
  public:
    // net_devices: as UCX_NET_DEVICES; empty: UCX chooses. keepalive_seconds: how often UCX checks that an
    // idle peer still exists. Throws CommError.
    UcxWorker(const std::string& net_devices, double keepalive_seconds);
    // Everything posted must be done or abandoned.
    ~UcxWorker();
    UcxWorker(const UcxWorker&) = delete;
    UcxWorker& operator=(const UcxWorker&) = delete;

    static std::string version();  // of the library: "1.13.1"

    bool takes_gpu_memory() const { return takes_gpu_memory_; }
    std::vector<std::string> transports() const;  // those this process can use: "tcp/eth0", "cuda_ipc/cuda"
    const std::string& address() const { return address_; }  // for connections from others; binary

    bool progress();  // true: something moved
    int wake_fd() const { return wake_fd_; }
    bool arm();  // false: something is there already

    // gpu: the buffer is GPU memory. The operation may be done on return.
    void send(const UcxConnection& to, const void* data, std::size_t bytes, std::uint64_t tag, bool gpu,
              UcxOperation& operation);
    void receive(void* data, std::size_t bytes, std::uint64_t tag, bool gpu, UcxOperation& operation);
    void cancel(UcxOperation& receive);  // it is done soon, unless its message is already arriving

    // Keeps what UCX may still refer to, and its memory, until the worker ends.
    void abandon(std::unique_ptr<UcxOperation> operation);

  private:
    friend class UcxConnection;
    ucp_context* context_ = nullptr;
    ucp_worker* worker_ = nullptr;
    bool takes_gpu_memory_ = false;
    std::string address_;
    int wake_fd_ = -1;
    std::vector<std::unique_ptr<UcxOperation>> abandoned_;
    std::vector<std::unique_ptr<std::string>> connection_errors_;  // UCX may report them until it ends
};

// A connection to one peer. error() reports its errors.
class UcxConnection {
  public:
    // Watched: UCX watches the peer, and transfers can be canceled. Fast: UCX does not, and so uses paths
    // that are quicker for large messages (over TCP and through shared memory); a send is done when the peer
    // has it.
    enum class Kind { Watched, Fast };

    // Throws CommError if no transport leads to that address.
    UcxConnection(UcxWorker& worker, const std::string& address, Kind kind);
    ~UcxConnection();  // closes by force unless close() is done
    UcxConnection(const UcxConnection&) = delete;
    UcxConnection& operator=(const UcxConnection&) = delete;

    Kind kind() const { return kind_; }
    const std::string& error() const { return *error_; }  // empty: no error
    std::vector<std::string> transports() const;          // those it uses, or used until it was closed

    // Starts closing; closed() returns true when done. by_force: transfers in flight fail; else they are sent
    // first.
    void close(bool by_force);
    bool closed() const { return close_ != nullptr && close_->done; }

  private:
    friend class UcxWorker;
    UcxWorker& worker_;
    Kind kind_;
    ucp_ep* endpoint_ = nullptr;
    std::string* error_ = nullptr;  // owned by the worker
    std::unique_ptr<UcxOperation> close_;
    mutable std::vector<std::string> transports_;
};

}  // namespace voltpile

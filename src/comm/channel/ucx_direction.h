// One direction of a channel over UCX: its transfers in order, each as one message, or in pieces if GPU
// buffers are staged. A staged piece is copied to or from pinned memory while others travel. All calls come
// with the lock held.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "comm/channel/transfer.h"
#include "comm/channel/ucx_worker.h"

namespace voltpile {

class UcxDirection {
  public:
    struct Route {
        UcxWorker& worker;
        const UcxConnection* connection;  // of sends
        const UcxConnection* fast;        // for large sends; nullptr: the same connection
        std::uint64_t tag;                // the sequence number is added
        ChannelGpu* gpu;                  // nullptr: none
        bool in_pieces;                   // transfers are cut, at both ends alike
        bool stages;                      // this rank's GPU buffers go through pinned memory
        bool flushes;                     // received GPU data must be made visible
        std::size_t piece_bytes;
        int window;  // pieces in flight
    };

    UcxDirection(const Route& route, bool sends) : route_(route), sends_(sends) {}
    ~UcxDirection();
    UcxDirection(const UcxDirection&) = delete;
    UcxDirection& operator=(const UcxDirection&) = delete;

    void accept(std::shared_ptr<TransferState> transfer);

    // Moves what can be moved; returns true if something moved. Errors: DeviceError, or the text of
    // problem().
    bool advance();
    const std::string& problem() const { return problem_; }

    // Returns the transfer that in a time `ahead` will have been next in order, with its data ready, for
    // longer than its deadline; else nullptr.
    TransferState* overdue(ChannelClock::time_point now, ChannelClock::duration ahead);

    // Starts nothing new and cancels what it can. All transfers fail with this text; those that UCX holds
    // fail once it returns them (advance()) or when release() is called.
    void fail(const std::string& why);
    void release();

    bool busy() const { return !transfers_.empty() || !pieces_.empty(); }
    bool polls() const;                                  // true while it waits for the GPU
    bool gpu_memory_with_ucx() const;                    // true while UCX itself transfers GPU memory
    std::int64_t accepted() const { return accepted_; }  // number of transfers
    std::int64_t finished() const { return finished_; }
    std::size_t unfinished_bytes() const { return unfinished_bytes_; }

  private:
    struct Piece {
        std::shared_ptr<TransferState> transfer;
        std::size_t offset = 0, bytes = 0;
        std::uint64_t tag = 0;
        void* staging = nullptr;        // nullptr: not staged
        std::unique_ptr<GpuMark> copy;  // in flight
        std::unique_ptr<UcxOperation> operation;
        bool done = false;
    };

    bool start_piece();
    void post(Piece& piece);
    bool advance(Piece& piece);
    void* take_staging();
    void finish(Piece& piece);
    void drop_finished();

    Route route_;
    bool sends_;
    std::deque<std::shared_ptr<TransferState>> transfers_;  // unfinished ones, and finished ones behind them
    std::size_t next_ = 0;  // index into transfers_: to be started, or started in part
    std::deque<Piece> pieces_;
    std::vector<void*> staging_, free_staging_;
    std::uint64_t sequence_ = 0;
    std::int64_t accepted_ = 0, finished_ = 0;
    std::size_t unfinished_bytes_ = 0;
    std::string problem_, failure_;
};

}  // namespace voltpile

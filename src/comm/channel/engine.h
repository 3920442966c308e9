// Keeps a group's transfers moving. One lock guards all state of a group, so one thread at a time enters UCX
// and the GPU. Two kinds of threads move transfers: a thread that waits for one moves it itself, without a
// hand-over between threads, at the latency of the bare library; the engine's own thread moves them while no
// thread waits. It sleeps in the kernel until the network has data, because it shares the cores with the
// application's computing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "comm/channel/transfer.h"

namespace voltpile {

// What the engine moves. It calls with the lock held.
class EngineWork {
  public:
    virtual ~EngineWork() = default;

    // Moves what can be moved without waiting and returns whether anything moved. Does not throw: an error
    // fails the transfers it concerns.
    virtual bool progress(ChannelClock::time_point now) = 0;

    struct Outlook {
        bool busy = false;              // transfers are in flight: spinning briefly pays
        bool polls = false;             // some wait for the GPU, which wakes no thread
        ChannelClock::time_point next;  // when to look again even if nothing happens
    };
    virtual Outlook outlook(ChannelClock::time_point now) = 0;

    // Readable when the network has something, after arm(); -1: there is none.
    virtual int wake_fd() const = 0;
    virtual bool arm() = 0;  // false: the network has something already

    virtual ChannelGpu* gpu() const = 0;  // nullptr: none
};

class ChannelEngine {
  public:
    // patience: ChannelOptions::patience.
    ChannelEngine(EngineWork& work, std::chrono::nanoseconds patience);
    ~ChannelEngine();  // ends its thread
    ChannelEngine(const ChannelEngine&) = delete;
    ChannelEngine& operator=(const ChannelEngine&) = delete;

    // Guards all that touches the group's state, and comes before the engine's own thread if both want the
    // lock. While it is held the group's GPU is the thread's device.
    class Lock {
      public:
        explicit Lock(ChannelEngine& engine);
        ~Lock();
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;

      private:
        friend class ChannelEngine;
        ChannelEngine& engine_;
        std::unique_lock<std::mutex> lock_;
        int previous_device_ = -1;
    };

    // Moves transfers until met() holds. met() is called with the lock held, and must come true by itself in
    // the end (deadlines). Do not call this with the lock held.
    void wait(const std::function<bool()>& met);

    // The clock of deadlines. It stands still while the whole process does (stopped by a signal, suspended by
    // Slurm), so no peer counts as lost afterwards. Call it with the lock held.
    ChannelClock::time_point time();

    // Call it with the lock held after starting something that the engine's thread must move, or ending
    // something that others wait for.
    void changed();

  private:
    void stop_thread();
    void run();
    bool driven(ChannelClock::time_point now) const;
    bool sleep(std::chrono::nanoseconds limit, bool network_too);  // true: woken

    EngineWork& work_;
    const std::chrono::nanoseconds patience_;
    std::mutex mutex_;
    std::condition_variable moved_;
    std::atomic<int> wanted_{0};   // threads about to take the lock
    std::atomic<int> drivers_{0};  // threads that move transfers in wait()
    ChannelClock::time_point last_driven_{};
    ChannelClock::time_point last_time_{};
    ChannelClock::duration stood_still_{0};
    bool asleep_ = false;  // the engine's thread is in a sleep that changed() must end
    bool stopping_ = false;
    int wake_fd_ = -1;
    std::thread thread_;
};

}  // namespace voltpile

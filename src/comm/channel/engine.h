// Keeps a group's transfers moving. One lock guards all of a group's state, so that UCX and the GPU are
// entered by one thread at a time. Two kinds of threads move transfers: those that wait for one, themselves
// (no hand-over between threads, hence the latency of the bare library), and, when nobody waits, a thread of
// the engine's own. That one sleeps in the kernel until the network has something, for it shares the cores
// with the application's computing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "comm/channel/transfer.h"

namespace voltpile {

// What is kept moving. All calls come with the lock held.
class EngineWork {
  public:
    virtual ~EngineWork() = default;

    // Moves what can be moved without waiting; returns whether anything moved. Does not throw: what goes
    // wrong fails the transfers that it concerns.
    virtual bool progress(ChannelClock::time_point now) = 0;

    struct Outlook {
        bool busy = false;              // transfers are under way: worth a moment's spinning
        bool polls = false;             // some wait for the GPU, which wakes nobody
        ChannelClock::time_point next;  // when to look again even if nothing happens
    };
    virtual Outlook outlook(ChannelClock::time_point now) = 0;

    // Readable when the network has something, once arm() was called; -1: none.
    virtual int wake_fd() const = 0;
    virtual bool arm() = 0;  // false: there is something already

    virtual ChannelGpu* gpu() const = 0;  // nullptr: none
};

class ChannelEngine {
  public:
    // patience: ChannelOptions::patience.
    ChannelEngine(EngineWork& work, std::chrono::nanoseconds patience);
    ~ChannelEngine();  // ends its thread
    ChannelEngine(const ChannelEngine&) = delete;
    ChannelEngine& operator=(const ChannelEngine&) = delete;

    // Needed for whatever touches the group's state. Comes before the engine's own thread if that wants the
    // lock too. While it is held the group's GPU is the thread's device.
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

    // Moves transfers until met() holds, which is asked with the lock held and must come true by itself in
    // the end (deadlines). Not to be called with the lock held.
    void wait(const std::function<bool()>& met);

    // The clock of deadlines: it stands still while the whole process does (stopped by a signal, suspended by
    // Slurm), so that nobody is thought lost afterwards. With the lock held.
    ChannelClock::time_point time();

    // To be called with the lock held, after something was started that the engine's thread must move, or
    // ended that others wait for.
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
    bool asleep_ = false;  // the engine's thread, in a sleep that changed() must end
    bool stopping_ = false;
    int wake_fd_ = -1;
    std::thread thread_;
};

}  // namespace voltpile

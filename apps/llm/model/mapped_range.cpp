#include "llm/model/mapped_range.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace voltpile::llm {

// `data` is set last and cleared first, so that whoever sees it sees the other members too.
struct MappedSlot {
    std::atomic<bool> taken = false;
    std::atomic<const std::byte*> data = nullptr;
    std::size_t size = 0;
    const char* path = nullptr;
};

namespace {

// Global, because a signal handler gets no argument and may neither lock nor allocate.
struct Watch {
    std::array<MappedSlot, 4096> slots;
    std::atomic_flag reported;
    struct sigaction before;
};
constinit Watch watch{};

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const std::byte*>::is_always_lock_free);

void print(const char* text) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nothing else can be done
}

[[noreturn]] void report(const MappedSlot& slot) {
    if (watch.reported.test_and_set())
        for (;;) ::pause();  // another thread prints the message and ends the process
    struct stat now {};
    const bool shorter = ::stat(slot.path, &now) == 0 && static_cast<std::size_t>(now.st_size) < slot.size;
    print("error: ");
    print(slot.path);
    print(shorter ? " was truncated while in use\n" : " can no longer be read\n");
    ::_exit(static_cast<int>(ExitCode::Failed));
}

// Calls only async-signal-safe functions (signal-safety(7)).
void on_bus_error(int signal, siginfo_t* info, void*) {
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    const bool fault = info->si_code > 0;  // otherwise another process sent the signal
    for (const MappedSlot& slot : watch.slots)
        if (const std::byte* data = slot.data.load();
            fault && data != nullptr && at >= data && at < data + slot.size)
            report(slot);
    // Not one of our mappings: restores the previous handler. A fault then happens again by itself.
    ::sigaction(SIGBUS, &watch.before, nullptr);
    if (!fault) ::raise(signal);
}

bool install() {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &watch.before) == 0;
}

}  // namespace

MappedRange::MappedRange(const std::byte* data, std::size_t size, const std::string& path) {
    [[maybe_unused]] static const bool installed = install();
    for (MappedSlot& slot : watch.slots) {
        if (slot.taken.exchange(true)) continue;
        slot.size = size;
        slot.path = path.c_str();
        slot.data = data;
        slot_ = &slot;
        return;
    }
}

MappedRange::~MappedRange() {
    if (slot_ == nullptr) return;
    slot_->data = nullptr;
    slot_->taken = false;
}

}  // namespace voltpile::llm

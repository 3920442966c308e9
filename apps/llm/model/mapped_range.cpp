#include "llm/model/mapped_range.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace voltpile::llm {

// data is set last and cleared first: whoever sees it sees the rest.
struct MappedSlot {
    std::atomic<bool> taken = false;
    std::atomic<const std::byte*> data = nullptr;
    std::size_t size = 0;
    const char* path = nullptr;
};

namespace {

// A signal handler can be handed nothing, and may neither lock nor allocate: hence what it looks at lies
// here.
struct Watch {
    std::array<MappedSlot, 4096> slots;
    std::atomic_flag reported;
    struct sigaction before;
};
constinit Watch watch{};

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const std::byte*>::is_always_lock_free);

void print(const char* text) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // there is nobody to tell
}

[[noreturn]] void report(const MappedSlot& slot) {
    if (watch.reported.test_and_set())
        for (;;) ::pause();  // another thread says it, and ends this one too
    struct stat now {};
    const bool shorter = ::stat(slot.path, &now) == 0 && static_cast<std::size_t>(now.st_size) < slot.size;
    print("error: ");
    print(slot.path);
    print(shorter ? " has become shorter while it was in use\n" : " can no longer be read\n");
    ::_exit(static_cast<int>(ExitCode::Failed));
}

// Calls only what is safe in a handler (signal-safety(7)).
void on_bus_error(int signal, siginfo_t* info, void*) {
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    const bool fault = info->si_code > 0;  // else sent by a process
    for (const MappedSlot& slot : watch.slots)
        if (const std::byte* data = slot.data.load();
            fault && data != nullptr && at >= data && at < data + slot.size)
            report(slot);
    // Not ours: as if this had never been here. A fault comes again by itself.
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

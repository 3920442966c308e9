// Remembers what the GPUs of this host were set to before a run changed it, so that the next run can restore
// it if this one is killed. The record is a file on a local disk, one for each user and host:
// $XDG_STATE_HOME/voltpile/gpus-HOST.json, or /var/tmp/voltpile-UID/gpus-HOST.json. The driver forgets
// settings at a restart, so a record of before the last one counts as none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu_settings.h"

namespace voltpile {

// Returns the folder of this user's records.
std::filesystem::path state_folder();

// The record of this host, locked until the object or the process ends.
class SettingsRecord {
  public:
    // Returns nothing if another run holds it. Throws FileError if the folder cannot be used, or belongs to
    // another user.
    static std::optional<SettingsRecord> open();
    ~SettingsRecord();
    SettingsRecord(SettingsRecord&& other) noexcept;
    SettingsRecord& operator=(SettingsRecord&& other) noexcept;

    // Returns what a run that was killed has left to restore; empty: nothing.
    std::vector<GpuSettings> left() const;

    // Replaces the record, durably. An empty list removes it. Throws FileError.
    void write(const std::vector<GpuSettings>& to_restore) const;

  private:
    SettingsRecord(std::filesystem::path file, int lock) : file_(std::move(file)), lock_(lock) {}

    std::filesystem::path file_;
    int lock_;
};

// What became of a GPU that a killed run had changed.
struct RestoredGpu {
    bool restored = false;
    std::string text;  // "GPU 0000:15:00.0: restored what a killed run had changed: power limit 300 W"
};

// Restores what a killed run of this user has left on this host, and keeps the record of what could not be
// restored. Returns nothing while another run uses the record. Throws FileError and MachineError.
std::vector<RestoredGpu> restore_left_settings();

}  // namespace voltpile

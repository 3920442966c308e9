// Records every call that changes files while a job begins, commits, writes its result and removes its parts.
// Then makes what the disk may hold after a power cut behind each call, and resumes the job from there, as
// the tests of SQLite and RocksDB do. No file system needs to be mounted for this: what a disk may hold
// follows from what was flushed.
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "results/open_result.h"
#include "results/parts/file_calls.h"
#include "results/parts/lives_journal.h"
#include "results/parts/part_listing.h"
#include "results/telemetry.h"
#include "results/verify.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;
namespace fs = std::filesystem;

// A file, wherever its names are.
struct DiskFile {
    std::string flushed;  // what an fsync has made durable
    std::string written;  // what was written, perhaps only to memory
};

struct DiskCall {
    FileCall call{};
    fs::path path, to;
    std::shared_ptr<DiskFile> file;  // of Create, Rename, Link: what gets a name
    std::string content;             // of Write, Sync: of the file after it
};

class Recorder : public FileWatcher {
  public:
    std::vector<DiskCall> calls;

    void after(FileCall call, const fs::path& path, const fs::path& to) override {
        DiskCall made{call, path, to, nullptr, ""};
        if (call == FileCall::Write || call == FileCall::Sync) made.content = file_text(path);
        if (call == FileCall::Create) files_[path] = std::make_shared<DiskFile>();
        if (!files_[path]) files_[path] = std::make_shared<DiskFile>();  // HDF5 has created it
        made.file = files_[path];
        if (call == FileCall::Rename || call == FileCall::Link) files_[to] = files_[path];
        if (call == FileCall::Rename || call == FileCall::Unlink) files_.erase(path);
        calls.push_back(std::move(made));
    }

  private:
    std::map<fs::path, std::shared_ptr<DiskFile>> files_;
};

enum class Cut {
    NamesKept,  // all names are there, files have what was flushed
    Torn,       // all names are there, unflushed files have half of what was written
    NamesLost,  // only names whose folder was flushed since are there
};

// What the disk holds if the power fails after the first `count` calls.
class Disk {
  public:
    Disk(const std::vector<DiskCall>& calls, std::size_t count, Cut cut) : cut_(cut) {
        for (std::size_t i = 0; i < count; ++i) {
            const DiskCall& made = calls[i];
            DiskFile& file = data_[made.file.get()];
            if (made.call == FileCall::Create) file = {};
            if (made.call == FileCall::Write) file.written = made.content;
            if (made.call == FileCall::Sync) file.written = file.flushed = made.content;
            if (made.call == FileCall::SyncAll)
                for (auto& [_, each] : data_) each.flushed = each.written;
            if (cut == Cut::NamesLost && !is_flushed(calls, i, count)) continue;
            apply(made);
        }
    }

    void write_to(const fs::path& from, const fs::path& to) const {
        for (const fs::path& folder : folders_) fs::create_directories(to / folder.lexically_relative(from));
        for (const auto& [path, file] : names_) {
            const fs::path here = to / path.lexically_relative(from);
            fs::create_directories(here.parent_path());
            const auto found = data_.find(file);
            const DiskFile& content = found->second;
            std::string text = content.flushed;
            if (cut_ == Cut::Torn && text != content.written)
                text = content.written.substr(0, content.written.size() / 2);
            write_text_file(here, text);
        }
    }

  private:
    static bool is_flushed(const std::vector<DiskCall>& calls, std::size_t at, std::size_t count) {
        const DiskCall& made = calls[at];
        const fs::path name = made.to.empty() ? made.path : made.to;
        for (std::size_t i = at; i < count; ++i) {
            if (calls[i].call == FileCall::SyncAll) return true;
            if (calls[i].call == FileCall::SyncFolder && calls[i].path == name.parent_path()) return true;
        }
        return false;
    }

    void apply(const DiskCall& made) {
        switch (made.call) {
            case FileCall::Create:
                names_[made.path] = made.file.get();
                break;
            case FileCall::Rename:
                rename(made);
                break;
            case FileCall::Link:
                names_[made.to] = made.file.get();
                break;
            case FileCall::Unlink:
                names_.erase(made.path);
                break;
            case FileCall::MakeFolder:
                folders_.insert(made.path);
                break;
            case FileCall::RemoveAll:
                remove_below(made.path);
                break;
            case FileCall::Sync:
                // HDF5 created this file.
                if (cut_ != Cut::NamesLost) names_[made.path] = made.file.get();
                break;
            default:
                break;
        }
    }

    void rename(const DiskCall& made) {
        if (folders_.contains(made.path)) {
            folders_.erase(made.path);
            folders_.insert(made.to);
            return;
        }
        names_.erase(made.path);
        names_[made.to] = made.file.get();
    }

    void remove_below(const fs::path& folder) {
        const std::string begin = folder.string() + "/";
        std::erase_if(names_, [&](const auto& each) {
            return each.first == folder || each.first.string().starts_with(begin);
        });
        std::erase_if(folders_, [&](const fs::path& each) {
            return each == folder || each.string().starts_with(begin);
        });
    }

    Cut cut_;
    std::map<const DiskFile*, DiskFile> data_;
    std::map<fs::path, const DiskFile*> names_;
    std::set<fs::path> folders_;
};

class PowerCut : public testing::Test {
  protected:
    ~PowerCut() override { watch_files(nullptr); }

    // A whole run, as the program performs it. acknowledged: after how many calls each range was committed.
    void record() {
        watch_files(&recorder);
        const auto parts = open_result(result, layout, false, {});
        parts->record_life(0);
        for (const WorkRange& range : {WorkRange{0, 40}, WorkRange{40, 41}, WorkRange{41, 90}}) {
            voltpile::commit_part(parts->life(), layout, range, data_of(layout, range));
            acknowledged.emplace_back(recorder.calls.size(), range);
        }
        NodeTelemetry node;
        node.host = "node1";
        node.times_s = {1, 2};
        node.columns = {{"cpu_percent", "percent", "", {1, 2}}};
        write_telemetry_file(parts->life(), 0, 0, telemetry_csv(node));
        voltpile::consolidate(parts->life(), layout,
                              voltpile::scan_parts(parts->life(), layout, layout.whole()).parts,
                              some_provenance());
        finished = recorder.calls.size();
        parts->remove();
        watch_files(nullptr);
    }

    void resume(const fs::path& there, std::size_t cut_at) {
        const fs::path resumed = there / "map.h5";
        if (fs::exists(resumed)) {
            const ResultFile file = read_result_file(resumed, CheckDepth::SmallValues);
            ASSERT_EQ(file.state, ResultState::Complete) << file.problem;
        }
        ASSERT_TRUE(cut_at < finished || fs::exists(resumed)) << "the finished result is lost";
        if (const auto parts = open_result(resumed, layout, false, {})) {
            const PartScan scan = voltpile::scan_parts(parts->life(), layout, layout.whole());
            ASSERT_TRUE(scan.rejected.empty())
                << scan.rejected.front().path << ": " << scan.rejected.front().reason;
            for (const auto& [calls, range] : acknowledged)
                ASSERT_TRUE(calls > cut_at || scan.completed.contains(range)) << "a committed range is lost";
            for (const WorkRange& range : scan.completed.complement(layout.whole()).ranges())
                voltpile::commit_part(parts->life(), layout, range, data_of(layout, range));
            voltpile::consolidate(parts->life(), layout,
                                  voltpile::scan_parts(parts->life(), layout, layout.whole()).parts,
                                  some_provenance());
            parts->remove();
        }
        ASSERT_EQ(read_result_file(resumed, CheckDepth::SmallValues).state, ResultState::Complete);
        ASSERT_EQ(names_in(there), std::vector<std::string>{"map.h5"});
        const FieldBuffer values = data_of(layout, layout.whole()).at(3);
        ASSERT_NE(
            file_text(resumed).find(std::string(reinterpret_cast<const char*>(values.data()), values.size())),
            std::string::npos);
    }

    TemporaryFolder folder{memory_path()};
    fs::path result = folder.path() / "original" / "map.h5";
    ResultLayout layout = layout_of(some_axes({10, 9}), all_kinds_of_fields());  // 90 points
    Recorder recorder;
    std::vector<std::pair<std::size_t, WorkRange>> acknowledged;
    std::size_t finished = 0;
};

TEST_F(PowerCut, AfterAnyCallLosesNoCommittedRange) {
    record();
    const std::size_t count = recorder.calls.size();
    ASSERT_GT(count, 40u) << "not all calls are recorded";
    for (std::size_t at = 0; at <= count; ++at)
        for (const Cut cut : {Cut::NamesKept, Cut::Torn, Cut::NamesLost}) {
            const fs::path there = folder.path() / "cut";
            fs::remove_all(there);
            fs::create_directories(there);
            Disk(recorder.calls, at, cut).write_to(result.parent_path(), there);
            resume(there, at);
            ASSERT_FALSE(HasFailure())
                << "after " << at << " of " << count << " calls, cut " << static_cast<int>(cut);
        }
    std::printf("%zu calls, %zu power cuts\n", count, 3 * (count + 1));
}

}  // namespace
}  // namespace voltpile

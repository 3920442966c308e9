// Decides whether a run may create, resume or must not touch the result at a path. The one place for this
// decision: `run`, `submit`, `plan`, `status` and `list` ask here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "results/parts/part_adoption.h"
#include "results/parts/part_folder.h"
#include "results/result_state.h"
#include "work/range_set.h"

namespace voltpile {

struct AdmissionRequest {
    bool fresh = false;  // --fresh: replace what earlier runs have left
    Claim claim{};
};

// Everything that the decision depends on, as found at the path of a result and beside it.
struct ResultSituation {
    std::filesystem::path result;
    std::filesystem::path parts;  // the part folder, which may not exist
    std::string place_problem;    // why no file of this name can be written; empty: it can
    ResultFile file;
    std::optional<PartOwner> owner;    // of the part folder; nothing: there is no folder
    bool marked_to_replace = false;    // the parts are those of a --fresh run: they replace a finished result
    RangeSet committed;                // the points that have parts, by the names of the parts
    std::string busy;                  // which live run holds a lock that this run needs; empty: none
    std::filesystem::path disk;        // the folder whose file system the result goes to
    std::optional<double> free_bytes;  // there, as far as known
    double bytes_of_lives = 0;         // temporary files of earlier runs, which the next run removes
    double bytes_of_parts = 0;
};

struct Admission {
    enum class Verdict {
        Create,
        Resume,    // parts of this job exist
        Complete,  // nothing is left to do
        Refuse,
    };
    enum class Cause { None, Arguments, Place, File, Parts, Room };  // of a refusal

    Verdict verdict = Verdict::Create;
    Cause cause = Cause::None;
    std::string message{};  // Complete, Refuse: for the user, one sentence
    // Create, Resume: another run holds the lock at this moment. Only taking the lock decides, so `run` tries
    // it.
    std::string busy{};

    ExitCode exit_code() const;
    void throw_if_refused() const;  // JobError, MachineError
};

// Looks, and changes nothing. Throws FileError if it cannot look.
ResultSituation look_at_result(const std::filesystem::path& result, const AdmissionRequest& request);

// Pure: the same situation gives the same answer.
Admission decide(const ResultSituation& found, const ResultLayout& layout, const AdmissionRequest& request);

// Looks and decides. Throws FileError if it cannot look; a refusal is an answer and not an exception.
Admission admit(const std::filesystem::path& result, const ResultLayout& layout,
                const AdmissionRequest& request);

// Returns what the job takes on the disk of its result, and what is free there; of lists and texts only where
// they begin. Empty if that is unknown.
std::string room_text(const ResultSituation& found, const ResultLayout& layout,
                      const AdmissionRequest& request);

// "results/x.h5 is complete already; ..."
std::string complete_text(const std::filesystem::path& result);

// What readers of a result read, such as `show`: the finished file, or the parts where there is no file yet
// or where they are to replace it (--fresh).
enum class ResultSource { None, File, Parts };
ResultSource result_source(const std::filesystem::path& result);

}  // namespace voltpile

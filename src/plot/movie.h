// Draws a movie: a picture for each point of the last axis of a result. `voltpile plot --movie`.
#pragma once

#include <cstdint>
#include <filesystem>

#include "plot/plot.h"

namespace voltpile {

struct MovieOptions {
    std::filesystem::path
        output{};             // a folder of pictures, or NAME.mp4, whose pictures are in the folder NAME
    double fps = 30;          // pictures a second in the MP4 file
    bool own_scales = false;  // each picture has colors for its own values
    int threads = 0;          // 0: as many as this process may use
};

struct MovieReport {
    std::filesystem::path folder;
    std::int64_t frames = 0;   // of the movie
    std::int64_t drawn = 0;    // now
    std::int64_t missing = 0;  // not drawn, since points of them are not computed
    bool has_mp4 = false;      // written now; never while frames are missing
};

// Draws the frames as frame_000000.png and so on, several at the same time, each under a temporary name
// first. A picture that is there already is drawn again only if it would be another one: what is drawn, the
// range of the colors and the version are a text in the file. All frames share one color scale, over the
// values of all. Frames of an unfinished result are drawn as soon as all of their points are computed. An MP4
// file is made by ffmpeg. look: no `output`, `against` and `crop`; `at` without the last axis. Throws
// JobError for results with fewer than three axes, for a folder or a file that this program did not write,
// and if ffmpeg is wanted and missing, before it draws; MachineError if ffmpeg fails; FileError.
MovieReport draw_movie(const ResultReader& result, const PlotOptions& look, const MovieOptions& options);

}  // namespace voltpile

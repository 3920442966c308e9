#include "plot/movie_file.h"

#include <fmt/format.h>

#include <fstream>

#include "base/build_info.h"
#include "base/error.h"
#include "base/process.h"
#include "results/output_file.h"

namespace voltpile {
namespace {

constexpr const char* mark = "voltpile plot ";  // in the file's comment; the version follows
constexpr const char* name_pattern = "frame_%06d.png";

// The comment stands before the pictures.
bool has_mark(const std::filesystem::path& path) {
    constexpr std::size_t searched_bytes = std::size_t{16} << 20;
    std::ifstream file(path, std::ios::binary);
    std::string text(searched_bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text.find(mark) != std::string::npos;
}

// ffmpeg reads a % of a name as the place of a number.
std::string escaped(const std::string& path) {
    std::string text;
    for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
    return text;
}

}  // namespace

std::string frame_name(std::int64_t frame) {
    return fmt::format("frame_{:06}.png", frame);
}

void check_mp4_place(const std::filesystem::path& path, const std::vector<std::filesystem::path>& kept) {
    if (!find_program("ffmpeg"))
        throw JobError(
            fmt::format("--movie {}: ffmpeg is not installed, which makes MP4 files; --movie {} draws "
                        "the pictures alone",
                        path.string(), std::filesystem::path(path).replace_extension().string()));
    check_output_file(path, "--movie", {"voltpile plot", has_mark}, kept);
}

void write_mp4(const std::filesystem::path& path, const std::filesystem::path& folder, std::int64_t frames,
               double fps) {
    const std::filesystem::path unfinished = folder / ".unfinished.mp4";
    ProcessRequest request;
    request.timeout = std::chrono::hours(24);
    // Encoders need even sides.
    request.command = {"ffmpeg",
                       "-nostdin",
                       "-loglevel",
                       "error",
                       "-y",
                       "-framerate",
                       fmt::format("{}", fps),
                       "-start_number",
                       "0",
                       "-i",
                       escaped(absolute(folder).string()) + "/" + name_pattern,
                       "-frames:v",
                       fmt::format("{}", frames),
                       "-vf",
                       "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white",
                       "-c:v",
                       "libx264",
                       "-pix_fmt",
                       "yuv420p",
                       "-metadata",
                       "comment=" + (mark + build_info().version),
                       "-movflags",
                       "+faststart",
                       absolute(unfinished).string()};
    const ProcessResult made = run_process(request);
    std::error_code error;
    if (!made.succeeded()) {
        std::filesystem::remove(unfinished, error);
        throw MachineError(fmt::format(
            "ffmpeg ended with exit code {} and made no {}; the pictures are in {}{}{}", made.exit_code,
            path.string(), folder.string(), made.err.empty() ? "" : ":\n", made.err));
    }
    std::filesystem::rename(unfinished, path);
}

}  // namespace voltpile

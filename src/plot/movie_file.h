// Makes an MP4 file from numbered pictures, with ffmpeg.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace voltpile {

// Returns the name of the picture of a frame: frame_000012.png.
std::string frame_name(std::int64_t frame);

// Checks that ffmpeg is installed and that an MP4 file can be written to `path`, where it would replace
// nothing but one that write_mp4 wrote. kept: as in check_output_file. Throws JobError.
void check_mp4_place(const std::filesystem::path& path, const std::vector<std::filesystem::path>& kept);

// Encodes the frames 0 to frames - 1 in `folder` as H.264 that every player shows, and gives the file its
// name when it is whole. Throws MachineError with what ffmpeg says if it fails.
void write_mp4(const std::filesystem::path& path, const std::filesystem::path& folder, std::int64_t frames,
               double fps);

}  // namespace voltpile

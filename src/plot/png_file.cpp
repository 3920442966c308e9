#include "plot/png_file.h"

#include <png.h>

#include <array>
#include <bit>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "results/parts/durable_file.h"

namespace voltpile {
namespace {

// libpng reports errors by longjmp, which must not skip a destructor. So each libpng call that can fail is in
// a function that owns nothing.
bool write_header(png_structp png, png_infop info, std::FILE* file, png_uint_32 width, png_uint_32 height,
                  int bits, png_textp texts, int text_count) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_set_IHDR(png, info, width, height, bits, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_text(png, info, texts, text_count);
    png_write_info(png, info);
    if (bits == 16 && std::endian::native == std::endian::little) png_set_swap(png);
    return true;
}

bool write_one_row(png_structp png, png_const_bytep row) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_write_row(png, row);
    return true;
}

bool write_end(png_structp png, png_infop info) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_write_end(png, info);
    return true;
}

std::string latin1(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool is_latin = (byte == 0xc2 || byte == 0xc3) && i + 1 < text.size();
        if (byte < 0x80) {
            out += text[i];
        } else if (is_latin) {
            const auto next = static_cast<unsigned char>(text[++i]);
            out += static_cast<char>(static_cast<unsigned char>((byte & 0x03) << 6 | (next & 0x3f)));
        } else if ((byte & 0xc0) == 0xc0) {
            out += '?';  // the first byte of a longer character; the loop skips the others
        }
    }
    return out;
}

void keep_silent(png_structp, png_const_charp) {}

void jump_back(png_structp png, png_const_charp) {
    png_longjmp(png, 1);
}

}  // namespace

struct PngFile::Impl {
    std::filesystem::path path;
    std::filesystem::path temporary;
    std::FILE* file = nullptr;
    png_structp png = nullptr;
    png_infop info = nullptr;

    ~Impl() {
        png_destroy_write_struct(&png, &info);
        if (file) {
            std::fclose(file);
            discard_file(temporary);
        }
    }
    void check(bool succeeded) const {
        if (!succeeded) throw FileError("write", path.string(), errno ? errno : EIO);
    }
};

PngFile::PngFile(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                 const PngTexts& texts, int bits)
    : impl_(std::make_unique<Impl>()) {
    impl_->path = path;
    impl_->temporary = temporary_name(path);
    impl_->file = std::fopen(impl_->temporary.c_str(), "wbe");
    if (!impl_->file) throw FileError("create", path.string(), errno, ExitCode::BadInput);
    impl_->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, jump_back, keep_silent);
    impl_->info = impl_->png ? png_create_info_struct(impl_->png) : nullptr;
    if (!impl_->info) throw std::bad_alloc();

    PngTexts encoded;
    for (const auto& [key, text] : texts) encoded.emplace_back(key, latin1(text));
    std::vector<png_text> chunks(encoded.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        chunks[i].compression = PNG_TEXT_COMPRESSION_NONE;
        chunks[i].key = encoded[i].first.data();
        chunks[i].text = encoded[i].second.data();
        chunks[i].text_length = encoded[i].second.size();
    }
    errno = 0;
    impl_->check(write_header(impl_->png, impl_->info, impl_->file, static_cast<png_uint_32>(width),
                              static_cast<png_uint_32>(height), bits, chunks.data(),
                              static_cast<int>(chunks.size())));
}

PngFile::~PngFile() = default;

void PngFile::write_row(std::span<const std::uint8_t> rgb) {
    errno = 0;
    impl_->check(write_one_row(impl_->png, rgb.data()));
}

void PngFile::write_row(std::span<const std::uint16_t> rgb) {
    errno = 0;
    impl_->check(write_one_row(impl_->png, reinterpret_cast<png_const_bytep>(rgb.data())));
}

void PngFile::finish() {
    errno = 0;
    impl_->check(write_end(impl_->png, impl_->info));
    impl_->check(std::fflush(impl_->file) == 0);
    publish_file(impl_->temporary, impl_->path);
    std::fclose(std::exchange(impl_->file, nullptr));
}

bool has_png_text(const std::filesystem::path& path, std::string_view keyword, std::string_view beginning) {
    constexpr std::uint32_t longest_text =
        1 << 16;  // of the chunks that this program writes, with room to spare
    std::ifstream file(path, std::ios::binary);
    std::array<char, 8> bytes{};
    const auto read = [&] { return static_cast<bool>(file.read(bytes.data(), bytes.size())); };
    if (!read() || std::string_view(bytes.data(), bytes.size()) != "\x89PNG\r\n\x1a\n") return false;
    const std::string wanted = std::string(keyword) + '\0' + std::string(beginning);
    while (read()) {
        std::uint32_t length = 0;
        for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
        const std::string_view type(bytes.data() + 4, 4);
        if (type == "IDAT" || type == "IEND") return false;
        std::string text(type == "tEXt" && length <= longest_text ? length : 0, '\0');
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        if (file && text.starts_with(wanted)) return true;
        constexpr std::streamoff checksum_bytes = 4;
        file.seekg(static_cast<std::streamoff>(length - text.size()) + checksum_bytes, std::ios::cur);
    }
    return false;
}

}  // namespace voltpile

// Compiling kernels while the program runs, and keeping them.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "device/kernel_cache.h"
#include "device/nvrtc.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

std::string message_without(const char* file) {
    ::setenv("VOLTPILE_NVRTC", file, 1);
    std::string message = "loaded";
    try {
        const Nvrtc compiler;
    } catch (const MachineError& error) {
        message = error.what();
    }
    ::unsetenv("VOLTPILE_NVRTC");
    return message;
}

TEST(NvrtcLibrary, SaysWhatToInstall) {
    const std::string message = message_without("/nonexistent/libnvrtc.so.13");
    EXPECT_NE(message.find("/nonexistent/libnvrtc.so.13 cannot be loaded"), std::string::npos) << message;
    EXPECT_NE(message.find("package cuda-nvrtc-"), std::string::npos) << message;
}

TEST(NvrtcLibrary, RefusesALibraryThatIsAnother) {
    EXPECT_NE(message_without("libc.so.6").find("lacks functions"), std::string::npos);
}

class NvrtcCompiler : public testing::Test {
  protected:
    void SetUp() override {
        try {
            compiler_.emplace();
        } catch (const MachineError& error) {
            GTEST_SKIP() << error.what();
        }
        char name[] = "/tmp/voltpile_kernels_XXXXXX";
        folder_ = ::mkdtemp(name);
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }

    KernelSource source() const {
        static constexpr SourceHeader headers[] = {{"half.h", "#define HALF 0.5"}};
        KernelSource source;
        source.text =
            "#include \"half.h\"\ntemplate <int n> __global__ void scale(double* x) { x[n] *= HALF; }\n";
        source.headers = headers;
        source.kernel = "scale<3>";
        return source;
    }
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
        return found;
    }

    std::optional<Nvrtc> compiler_;
    fs::path folder_;
};

TEST_F(NvrtcCompiler, MakesMachineCodeForGpusThatItKnows) {
    const CompiledKernel kernel = compiler_->compile(source(), compiler_->capabilities().front());
    EXPECT_EQ(kernel.image.substr(1, 3), "ELF");
    EXPECT_NE(kernel.name.find("scale"), std::string::npos);
}

TEST_F(NvrtcCompiler, MakesPtxForNewerGpus) {
    EXPECT_NE(compiler_->compile(source(), 999).image.find(".version"), std::string::npos);
}

TEST_F(NvrtcCompiler, RefusesGpusThatAreTooOld) {
    EXPECT_THROW(compiler_->compile(source(), 10), MachineError);
}

TEST_F(NvrtcCompiler, ShowsTheLogOfWrongSource) {
    KernelSource wrong = source();
    wrong.text += "double f() { return missing_name; }\n";
    try {
        compiler_->compile(wrong, 80);
        FAIL();
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find("missing_name"), std::string::npos) << error.what();
    }
}

TEST_F(NvrtcCompiler, KeepsKernelsBySourceAndCapability) {
    const CompiledKernel first = compile_once(*compiler_, source(), 80, folder_);
    const CompiledKernel again = compile_once(*compiler_, source(), 80, folder_);
    EXPECT_EQ(files().size(), 1u);
    EXPECT_EQ(again.name, first.name);
    EXPECT_EQ(again.image, first.image);
    compile_once(*compiler_, source(), 90, folder_);
    KernelSource other = source();
    other.text += "\n";
    compile_once(*compiler_, other, 80, folder_);
    EXPECT_EQ(files().size(), 3u);
}

TEST_F(NvrtcCompiler, CompilesAgainInsteadOfAFileThatOthersMayWrite) {
    using std::filesystem::perms;
    const perms own = perms::owner_read | perms::owner_write;
    compile_once(*compiler_, source(), 80, folder_);
    const std::filesystem::path file = files().at(0);
    EXPECT_EQ(std::filesystem::status(file).permissions(), own);
    std::filesystem::permissions(file, own | perms::group_write);
    compile_once(*compiler_, source(), 80, folder_);
    EXPECT_EQ(std::filesystem::status(file).permissions(), own);
}

TEST_F(NvrtcCompiler, CompilesAgainInsteadOfADamagedFile) {
    const CompiledKernel first = compile_once(*compiler_, source(), 80, folder_);
    for (const char* damage : {"", "nothing like a kernel"}) {
        std::ofstream(files().at(0)) << damage;
        EXPECT_EQ(compile_once(*compiler_, source(), 80, folder_).image, first.image);
    }
    std::string text;
    {
        std::ifstream stream(files().at(0), std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    text.back() ^= 1;
    std::ofstream(files().at(0), std::ios::binary) << text;
    EXPECT_EQ(compile_once(*compiler_, source(), 80, folder_).image, first.image);
}

TEST_F(NvrtcCompiler, RemovesTheOldestOfManyKernels) {
    const auto now = fs::file_time_type::clock::now();
    for (std::size_t i = 0; i < kMostKernels; ++i) {
        const fs::path file = folder_ / ("old" + std::to_string(i) + ".kernel");
        std::ofstream(file) << "old";
        fs::last_write_time(file, now - std::chrono::hours(kMostKernels - i));
    }
    const CompiledKernel first = compile_once(*compiler_, source(), 80, folder_);
    EXPECT_EQ(files().size(), kMostKernels + 1 - (kMostKernels + 1) / 2);
    EXPECT_FALSE(fs::exists(folder_ / "old0.kernel"));
    EXPECT_TRUE(fs::exists(folder_ / ("old" + std::to_string(kMostKernels - 1) + ".kernel")));
    EXPECT_EQ(compile_once(*compiler_, source(), 80, folder_).image, first.image);
    EXPECT_EQ(files().size(), kMostKernels + 1 - (kMostKernels + 1) / 2);
}

TEST_F(NvrtcCompiler, CompilesWithoutAFolder) {
    EXPECT_FALSE(compile_once(*compiler_, source(), 80, {}).image.empty());
    EXPECT_FALSE(compile_once(*compiler_, source(), 80, "/proc/no_such_folder").image.empty());
}

}  // namespace
}  // namespace voltpile

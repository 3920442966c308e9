#include "plan/machine_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/xml_text.h"
#include "plan/device_paths.h"
#include "plan/machine_tree.h"

namespace voltpile {
namespace {

constexpr double kBoxWidth = 136, kBoxHeight = 40, kColumn = 152, kRow = 76, kMargin = 16;

std::string shortened(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : text.substr(0, most - 2) + "..";
}

const char* fill_of(TreeItem::Kind kind) {
    switch (kind) {
        case TreeItem::Kind::Gpu:
            return "#d5ebc9";
        case TreeItem::Kind::Nic:
            return "#cfe2f7";
        case TreeItem::Kind::Switch:
            return "#fbe6c2";
        case TreeItem::Kind::Root:
            return "#e7e3f4";
        default:
            return "#eeeeee";
    }
}

// Places the leaves of the tree side by side and every other item above the middle of its children.
class MachinePicture {
  public:
    explicit MachinePicture(const Host& host) : host_(host), tree_(machine_tree(host)) {
        depth_ = depth_of(tree_);
        draw(tree_, 0);
        draw_nvlinks();
    }

    std::string text() const {
        const double width = std::max(leaves_, 1) * kColumn + 2 * kMargin;
        const double height = bottom_ + kMargin;
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
            "{0:.0f} "
            "{1:.0f}\" font-family=\"DejaVu Sans, sans-serif\">\n<rect width=\"100%\" height=\"100%\" "
            "fill=\"white\"/>\n{2}{3}</svg>\n",
            width, height, lines_, boxes_);
    }

  private:
    static bool is_device(const TreeItem& item) {
        return item.kind == TreeItem::Kind::Gpu || item.kind == TreeItem::Kind::Nic;
    }
    static int depth_of(const TreeItem& item) {
        int below = 0;
        for (const TreeItem& child : item.children) below = std::max(below, 1 + depth_of(child));
        return below;
    }

    // Returns the x of the item's middle.
    double draw(const TreeItem& item, int level) {
        const bool device = is_device(item);
        const double y = kMargin + (device ? depth_ : level) * kRow;
        std::vector<double> below;
        for (const TreeItem& child : item.children) below.push_back(draw(child, level + 1));
        const double x =
            below.empty() ? kMargin + kColumn * (leaves_++ + 0.5) : (below.front() + below.back()) / 2;
        for (std::size_t i = 0; i < below.size(); ++i) {
            const int at = is_device(item.children[i]) ? depth_ : level + 1;
            connect(x, y + kBoxHeight, below[i], kMargin + at * kRow, item.children[i]);
        }
        box(item, x, y);
        if (item.kind == TreeItem::Kind::Gpu) gpu_x_[item.index] = x;
        bottom_ = std::max(bottom_, y + kBoxHeight);
        return x;
    }

    void connect(double x1, double y1, double x2, double y2, const TreeItem& child) {
        const double middle = y1 + (kRow - kBoxHeight) / 2;
        const bool narrow = child.detail.find(" in an x") != std::string::npos;
        lines_ += fmt::format(
            "<path d=\"M{:.1f} {:.1f} V{:.1f} H{:.1f} V{:.1f}\" fill=\"none\" stroke=\"{}\" "
            "stroke-width=\"1.5\"/>\n",
            x1, y1, middle, x2, y2, narrow ? "#c0392b" : "#777777");
    }

    void box(const TreeItem& item, double x, double y) {
        // The whole detail of a device is too long for its box: it is in the title.
        std::string second = item.detail;
        if (item.kind == TreeItem::Kind::Gpu) second = host_.gpus[item.index].name;
        if (item.kind == TreeItem::Kind::Nic)
            second = fmt::format("{:g} Gb/s", host_.nics[item.index].gbit_per_s);
        boxes_ += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
            "stroke=\"#555555\"><title>{}</title></rect>\n<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12\" "
            "text-anchor=\"middle\">{}</text>\n<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"9.5\" "
            "fill=\"#444444\" text-anchor=\"middle\">{}</text>\n",
            x - kBoxWidth / 2, y, kBoxWidth, kBoxHeight, fill_of(item.kind), xml_text(item.detail), x, y + 17,
            xml_text(shortened(item.name, 20)), x, y + 32, xml_text(shortened(second, 26)));
    }

    void draw_nvlinks() {
        if (gpu_x_.empty()) return;
        const double y = bottom_;
        if (host_.nvswitch) return draw_nvswitch(y);
        double lowest = 0;
        for (std::size_t a = 0; a < host_.nvlinks.size(); ++a)
            for (std::size_t b = a + 1; b < host_.nvlinks.size(); ++b) {
                const int links = host_.nvlinks[a][b];
                if (links == 0) continue;
                const double drop = 24 + 0.16 * std::abs(gpu_x_.at(b) - gpu_x_.at(a));
                lowest = std::max(lowest, drop);
                lines_ += fmt::format(
                    "<path d=\"M{0:.1f} {1:.1f} C{0:.1f} {2:.1f} {3:.1f} {2:.1f} {3:.1f} {1:.1f}\" "
                    "fill=\"none\" "
                    "stroke=\"#5b9c3c\" stroke-width=\"{4}\"><title>GPU {5} and {6}: {7}</title></path>\n",
                    gpu_x_.at(a), y, y + drop * 4 / 3, gpu_x_.at(b), 1 + links, a, b,
                    long_text({PathKind::NvLink, links}));
            }
        if (lowest == 0) return;
        bottom_ += lowest + 20;
        caption("NVLink (the thicker, the more links)");
    }

    void draw_nvswitch(double y) {
        const double left = gpu_x_.begin()->second, right = gpu_x_.rbegin()->second;
        for (const auto& [gpu, x] : gpu_x_)
            lines_ +=
                fmt::format("<path d=\"M{0:.1f} {1:.1f} V{2:.1f}\" stroke=\"#5b9c3c\" stroke-width=\"5\"/>\n",
                            x, y, y + 30);
        boxes_ += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"26\" rx=\"4\" fill=\"#d5ebc9\" "
            "stroke=\"#5b9c3c\"/>\n",
            left - kBoxWidth / 2, y + 30, right - left + kBoxWidth);
        const DevicePath path = gpu_path(host_, 0, host_.gpus.size() - 1);
        boxes_ += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12\" text-anchor=\"middle\">NVSwitch, {} a "
            "GPU</text>\n",
            (left + right) / 2, y + 47, long_text(path));
        bottom_ += 60;
    }

    void caption(const std::string& text) {
        boxes_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" font-size=\"11\" fill=\"#444444\">{}</text>\n",
                              kMargin, bottom_, xml_text(text));
        bottom_ += 4;
    }

    const Host& host_;
    TreeItem tree_;
    int depth_ = 0, leaves_ = 0;
    double bottom_ = 0;
    std::map<std::size_t, double> gpu_x_;
    std::string lines_, boxes_;
};

}  // namespace

std::string machine_svg(const Host& host) {
    return MachinePicture(host).text();
}

}  // namespace voltpile

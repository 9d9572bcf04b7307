// kreisel view: a result as a page with plots and animation, served to the browser or written to a file.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "base/text.hpp"
#include "browser.hpp"
#include "command.hpp"
#include "io/report/report.hpp"
#include "kreisel/error.hpp"
#include "page_server.hpp"
#include "pdf.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* view_examples =
    "Without a file or --terminal the page is served on 127.0.0.1 until Ctrl-C, and opened in a browser if there is "
    "one.\n"
    "Examples:\n"
    "  kreisel view results/heavy-top\n"
    "  kreisel view results/heavy-top --html heavy-top.html\n"
    "  kreisel view results/coarse results/fine\n"
    "      two results in the same plots and the same picture\n"
    "  kreisel view results/heavy-top --svg figures\n"
    "      every plot as SVG\n"
    "  kreisel view results/heavy-top --pdf figures\n"
    "      every plot as PDF, by rsvg-convert, inkscape or chromium\n"
    "  kreisel view results/heavy-top --glb heavy-top.glb\n"
    "      the motion as animated glTF, for Blender, browsers and phones\n"
    "  kreisel view results/heavy-top --video heavy-top.webm --size 640x480 --seconds 5\n"
    "      a video; --png FILE is a still. Both need chromium\n"
    "  kreisel view results/heavy-top --terminal --columns z,lambda3\n"
    "      columns as text, where there is no browser\n"
    "  kreisel view results/reproduce/wieloch2022-fig-6.10 --tex figures\n"
    "      plots of a study for pgfplots, its tables for LaTeX\n"
    "  kreisel view results/whip --vtk paraview\n"
    "      surfaces of bodies and rods, with section forces, for ParaView";

io::ReportData read(const std::string& result, const std::string& other, bool is_served) {
  io::ReportData data = io::read_report_data(result, is_served);
  data.is_served = is_served;
  if (other.empty()) return data;
  data.overlay.push_back(io::read_report_data(other, is_served));
  data.overlay.back().is_served = is_served;
  return data;
}

/// Characters per line of standard output; 100 if it is not a terminal.
int terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    return std::min<int>(size.ws_col, 200);
  return 100;
}

/// Changes when a file of the folder does.
std::string stamp_of(const std::string& folder) {
  std::string stamp;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto size = entry.file_size(error);
    const auto time = entry.last_write_time(error).time_since_epoch().count();
    stamp += fmt::format("{} {} {}\n", entry.path().string(), size, time);
  }
  return stamp;
}

/// Pages are rebuilt when the result has changed: reloading follows a running simulation.
class PageCache {
 public:
  PageCache(std::string result, std::string other) : result_(std::move(result)), other_(std::move(other)) {}

  const std::string& page() {
    const std::string stamp = stamp_of(result_) + (other_.empty() ? "" : stamp_of(other_));
    if (stamp != stamp_ || page_.empty()) {
      data_ = io::ReportData();  // frees the old data before the new data are read
      data_ = read(result_, other_, true);
      page_ = io::report_page(data_);
      stamp_ = stamp;
    }
    return page_;
  }
  const io::ReportData& data() const { return data_; }

 private:
  std::string result_, other_, stamp_, page_;
  io::ReportData data_;
};

/// Points of one column in the visible range, as pairs of doubles.
Response series_response(const io::ReportData& shown, const Request& request) {
  const bool is_second = request.number("result", 0.0) == 1.0;
  if (is_second && shown.overlay.empty()) return {404, "text/plain; charset=utf-8", "there is only one result\n", {}};
  const io::ReportData& data = is_second ? shown.overlay.front() : shown;
  std::string bytes;
  for (const auto& [t, y] :
       io::points_between(data, static_cast<int>(request.number("column", -1.0)), request.number("from", 0.0),
                          request.number("to", 0.0), static_cast<Eigen::Index>(request.number("points", 2000.0)) / 2))
    for (const double value : {t, y}) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>(bits >> (8U * i) & 255U);
    }
  return {200, "application/octet-stream", std::move(bytes), {}};
}

std::string type_of(const io::Path& file) {
  const std::string end = file.extension().string();
  if (end == ".json") return "application/json";
  if (end == ".csv" || end == ".txt" || end == ".log") return "text/plain; charset=utf-8";
  if (end == ".svg") return "image/svg+xml";
  return "application/octet-stream";
}

void make_parent(const io::Path& file, const char* option) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InvalidInput(fmt::format("--{} {}: is a folder, expected a file", option, file.string()));
  const io::Path folder = file.parent_path();
  if (folder.empty()) return;
  std::filesystem::create_directories(folder, error);
  if (error) io::throw_file_error("cannot make the folder", folder, error.value());
}

class View final : public Command {
 public:
  explicit View(CLI::App& parser) : Command(parser) {
    parser
        .add_option("RESULT", results_, "folder written by a run or a study; a second one is shown in the same plots")
        ->type_name("");
    parser.add_option("--html", html_, "write the page to a file")->type_name("FILE");
    parser.add_option("--svg", svg_, "write every plot as SVG")->type_name("DIR");
    parser.add_option("--pdf", pdf_, "write every plot as PDF")->type_name("DIR");
    parser.add_option("--tex", tex_, "write every plot of a study for pgfplots, its tables for LaTeX")
        ->type_name("DIR");
    parser.add_option("--vtk", vtk_, "write the motion for ParaView: a .pvd with files of surfaces")->type_name("DIR");
    parser.add_option("--glb", glb_, "write the motion as animated glTF 2.0, for Blender, browsers and phones")
        ->type_name("FILE");
    parser.add_option("--video", video_, "write a video of the whole run (WebM); needs chromium")->type_name("FILE");
    parser.add_option("--png", png_, "write a picture of the bodies; needs chromium")->type_name("FILE");
    at_option_ = parser.add_option("--at", at_, "time of the picture (default: the start)")->type_name("T");
    parser.add_option("--size", size_, "size of video and picture in pixels (default 960x720)")->type_name("WxH");
    parser.add_option("--seconds", seconds_, "length of the video (default 6)")->type_name("S");
    parser.add_option("--rate", rate_, "frames per second of the video (default 30)")->type_name("N");
    parser.add_flag("--terminal", is_text_, "plot columns as text, for terminals");
    parser
        .add_option("--columns", columns_,
                    "what --terminal plots: columns, bodies or titles of plots (default: the first plots)")
        ->type_name("NAME,...")
        ->delimiter(',');
    port_option_ = parser.add_option("--port", port_, "serve at this port")->type_name("P");
    parser.add_flag("--no-browser", is_alone_, "do not open a browser");
    parser.footer(view_examples);
  }

  int execute(const Invocation&) override {
    if (results_.empty())
      throw InvalidInput("view: RESULT is missing: the folder of a result, as 'kreisel run' prints it");
    if (results_.size() > 2)
      throw InvalidInput(fmt::format("view: at most two results can be shown together, {} are given", results_.size()));
    if (results_.size() == 2) other_ = results_.back();
    if (!html_.empty() && port_option_->count() > 0)
      throw InvalidInput("--port serves the page, --html writes it: choose one");
    const Film film = film_asked();
    if (port_option_->count() > 0 && port_ < 1)
      throw InvalidInput(fmt::format("--port {}: expected 1 to 65535", port_));
    if (!columns_.empty() && !is_text_) throw InvalidInput("--columns chooses what --terminal plots: add --terminal");
    const std::initializer_list<const std::string*> files{&html_, &svg_, &pdf_, &tex_, &vtk_, &glb_, &video_, &png_};
    if (!is_text_ && std::ranges::all_of(files, [](const std::string* file) { return file->empty(); })) return serve();
    const io::ReadingList inputs;
    const io::ReportData data = read(results_.front(), other_, false);
    const auto write = [&](const std::string& file, const char* option, const std::function<void()>& writes) {
      if (file.empty()) return;
      make_parent(file, option);
      io::refuse_to_overwrite(inputs.files(), file, option);
      writes();
      fmt::print("{}\n", file);
      std::fflush(stdout);
    };
    if (is_text_) fmt::print("{}", io::report_text(data, columns_, terminal_width(), 10));
    write(html_, "html", [&] { io::write_report(data, html_); });
    write(glb_, "glb", [&] {
      std::vector<std::string> notes;
      io::write_atomically(glb_, io::report_glb(data, notes));
      for (const std::string& note : notes) print_warning(note);
    });
    write(png_, "png", [&] { take_picture(data, film, true, png_); });
    write(video_, "video", [&] { take_picture(data, film, false, video_); });
    if (!svg_.empty())
      for (const io::Path& file : io::write_pictures(data, svg_)) fmt::print("{}\n", file.string());
    if (!pdf_.empty())
      for (const io::Path& file : pdf_of(io::write_pictures(data, pdf_))) fmt::print("{}\n", file.string());
    if (!tex_.empty())
      for (const io::Path& file : io::write_tex(data, tex_)) fmt::print("{}\n", file.string());
    if (!vtk_.empty())
      for (const io::Path& file : io::write_vtk(data, vtk_)) fmt::print("{}\n", file.string());
    return success;
  }

 private:
  Film film_asked() const {
    Film film;
    const auto positive = [](const std::string& text, const char* option, double least, double most) {
      const std::optional<double> value = number_in(text);
      if (!value || !(*value >= least) || !(*value <= most))
        throw InvalidInput(fmt::format("--{} {}: expected a number from {} to {}", option, text, least, most));
      return *value;
    };
    if (!seconds_.empty()) film.seconds = positive(seconds_, "seconds", 0.1, 600.0);
    if (!rate_.empty()) film.rate = positive(rate_, "rate", 1.0, 120.0);
    if (at_option_->count() > 0) film.at = at_;
    if (size_.empty()) return film;
    const std::size_t cross = size_.find('x');
    const std::string after = cross == std::string::npos ? "" : size_.substr(cross + 1);
    const double width = number_in(size_.substr(0, cross)).value_or(0.0), height = number_in(after).value_or(0.0);
    const auto fits = [](double edge) { return edge >= 64.0 && edge <= 4096.0 && edge == std::floor(edge); };
    if (!fits(width) || !fits(height))
      throw InvalidInput(fmt::format("--size {}: expected WxH in pixels, each from 64 to 4096, as in 960x720", size_));
    // Video encoders need even numbers of pixels.
    film.width = static_cast<int>(width) / 2 * 2;
    film.height = static_cast<int>(height) / 2 * 2;
    return film;
  }

  int serve() const {
    const std::string& folder = results_.front();
    PageCache cache(folder, other_);
    cache.page();  // throws errors before the browser opens
    PageServer server(port_);
    fmt::print("{} (Ctrl-C ends)\n", server.address());
    std::fflush(stdout);
    if (!is_alone_ && has_screen()) open_browser(server.address());
    server.serve([&](const Request& request) {
      const std::string& path = request.path;
      if (path == "/" || path == "/index.html") return Response{200, "text/html; charset=utf-8", cache.page(), {}};
      if (path == "/series" && server.is_known(request)) return series_response(cache.data(), request);
      const io::Path file = file_below(folder, path);
      if (file.empty()) return Response{404, "text/plain; charset=utf-8", "not found\n", {}};
      return Response{200, type_of(file), {}, file};
    });
    return success;
  }

  std::vector<std::string> results_;
  std::string other_, html_, svg_, pdf_, tex_, vtk_, glb_, video_, png_, size_, seconds_, rate_;
  std::vector<std::string> columns_;
  double at_ = 0.0;
  int port_ = 0;
  CLI::Option *port_option_ = nullptr, *at_option_ = nullptr;
  bool is_text_ = false;
  bool is_alone_ = false;
};

}  // namespace

std::unique_ptr<Command> make_view(CLI::App& program) {
  return std::make_unique<View>(*program.add_subcommand("view", "Show a result: plots and animation in the browser"));
}

}  // namespace kreisel::apps

// kreisel view: a result as a page with plots and animation, served to the browser or written to a file.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cstdlib>

#include "command.hpp"
#include "io/report/report.hpp"
#include "kreisel/error.hpp"
#include "page_server.hpp"
#include "pdf.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* examples =
    "Without --html, --svg, --pdf, --tex and --vtk the page is served on 127.0.0.1 until Ctrl-C, and a browser opens "
    "where "
    "there is "
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
    "  kreisel view results/reproduce/wieloch2022-fig-6.10 --tex figures\n"
    "      plots of a study for pgfplots, its tables for LaTeX\n"
    "  kreisel view results/whip --vtk paraview\n"
    "      surfaces of bodies and rods, with section forces, for ParaView";

io::ReportData read(const std::string& result, const std::string& other) {
  io::ReportData data = io::read_report_data(result);
  if (!other.empty()) data.overlay.push_back(io::read_report_data(other));
  return data;
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
      page_ = io::report_page(read(result_, other_));
      stamp_ = stamp;
    }
    return page_;
  }

 private:
  std::string result_, other_, stamp_, page_;
};

std::string type_of(const io::Path& file) {
  const std::string end = file.extension().string();
  if (end == ".json") return "application/json";
  if (end == ".csv" || end == ".txt" || end == ".log") return "text/plain; charset=utf-8";
  if (end == ".svg") return "image/svg+xml";
  return "application/octet-stream";
}

void make_parent(const io::Path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw InvalidInput(fmt::format("--html {}: is a folder, expected a file", file.string()));
  const io::Path folder = file.parent_path();
  if (folder.empty()) return;
  std::filesystem::create_directories(folder, error);
  if (error) io::throw_file_error("cannot make the folder", folder, error.value());
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool has_screen() {
#ifdef __APPLE__
  return true;
#else
  return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
#endif
}

/// Hands the address to the desktop; whether a browser opens is not checked.
void open_browser(const std::string& address) {
#ifdef __APPLE__
  const char* const opener = "open";
#else
  const char* const opener = "xdg-open";
#endif
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);  // the grandchild is adopted by init and leaves no zombie
    ::setsid();
    if (std::freopen("/dev/null", "r", stdin) == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen("/dev/null", "w", stderr) == nullptr)
      ::_exit(1);
    ::execlp(opener, opener, address.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

class View final : public Command {
 public:
  explicit View(CLI::App& parser) : Command(parser) {
    parser.add_option("RESULT", results_, "folder that a run or a study has written; a second one is laid over it")
        ->type_name("");
    parser.add_option("--html", html_, "write the page to a file")->type_name("FILE");
    parser.add_option("--svg", svg_, "write every plot as SVG")->type_name("DIR");
    parser.add_option("--pdf", pdf_, "write every plot as PDF")->type_name("DIR");
    parser.add_option("--tex", tex_, "write every plot of a study for pgfplots, its tables for LaTeX")
        ->type_name("DIR");
    parser.add_option("--vtk", vtk_, "write the motion for ParaView: a .pvd with files of surfaces")->type_name("DIR");
    port_option_ = parser.add_option("--port", port_, "serve at this port")->type_name("P");
    parser.add_flag("--no-browser", is_alone_, "open no browser");
    parser.footer(examples);
  }

  int execute(const Invocation&) override {
    if (results_.empty())
      throw InvalidInput("view: RESULT is missing: the folder of a result, as 'kreisel run' prints it");
    if (results_.size() > 2)
      throw InvalidInput(
          fmt::format("view: at most two results can be laid over each other, {} are given", results_.size()));
    if (results_.size() == 2) other_ = results_.back();
    if (!html_.empty() && port_option_->count() > 0)
      throw InvalidInput("--port serves the page, --html writes it: choose one");
    if (port_option_->count() > 0 && port_ < 1)
      throw InvalidInput(fmt::format("--port {}: expected 1 to 65535", port_));
    if (html_.empty() && svg_.empty() && pdf_.empty() && tex_.empty() && vtk_.empty()) return serve();
    const io::ReadingList inputs;
    const io::ReportData data = read(results_.front(), other_);
    if (!html_.empty()) {
      make_parent(html_);
      io::refuse_to_overwrite(inputs.files(), html_, "html");
      io::write_report(data, html_);
      fmt::print("{}\n", html_);
    }
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
  int serve() const {
    const std::string& folder = results_.front();
    PageCache cache(folder, other_);
    cache.page();  // complaints before the browser opens
    PageServer server(port_);
    fmt::print("{} (Ctrl-C ends)\n", server.address());
    std::fflush(stdout);
    if (!is_alone_ && has_screen()) open_browser(server.address());
    server.serve([&](std::string_view path) {
      if (path == "/" || path == "/index.html") return Response{200, "text/html; charset=utf-8", cache.page(), {}};
      const io::Path file = file_below(folder, path);
      if (file.empty()) return Response{404, "text/plain; charset=utf-8", "not found\n", {}};
      return Response{200, type_of(file), {}, file};
    });
    return success;
  }

  std::vector<std::string> results_;
  std::string other_, html_, svg_, pdf_, tex_, vtk_;
  int port_ = 0;
  CLI::Option* port_option_ = nullptr;
  bool is_alone_ = false;
};

}  // namespace

std::unique_ptr<Command> make_view(CLI::App& program) {
  return std::make_unique<View>(*program.add_subcommand("view", "Show a result: plots and animation in the browser"));
}

}  // namespace kreisel::apps

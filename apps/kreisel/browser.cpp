#include "browser.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include "kreisel/error.hpp"
#include "page_server.hpp"
#include "terminal.hpp"

namespace kreisel::apps {

std::string program_named(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const io::Path file = io::Path(folder) / name; ::access(file.c_str(), X_OK) == 0) return file.string();
  return {};
}

std::string chromium() {
  if (is_set("CHROMIUM")) return std::getenv("CHROMIUM");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "chrome"})
    if (std::string found = program_named(name); !found.empty()) return found;
  return {};
}

namespace {

/// A temporary folder, removed by the destructor.
class ProfileFolder {
 public:
  ProfileFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kreisel-browser-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw EnvironmentError("cannot make a folder for the browser");
    path_ = name;
  }
  ~ProfileFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ProfileFolder(const ProfileFolder&) = delete;
  ProfileFolder& operator=(const ProfileFolder&) = delete;
  const io::Path& path() const { return path_; }

 private:
  io::Path path_;
};

void silence(int descriptor, int flags) {
  const int nothing = ::open("/dev/null", flags);
  if (nothing >= 0) ::dup2(nothing, descriptor);
}

/// Chromium in its own process group, which ends with this object.
class Headless {
 public:
  Headless(const std::string& program, const std::string& address, int width, int height) {
    std::vector<std::string> words{program,
                                   "--headless=new",
                                   "--disable-gpu",
                                   "--use-gl=angle",
                                   "--use-angle=swiftshader",
                                   "--enable-unsafe-swiftshader",
                                   "--disable-background-networking",
                                   "--disable-component-update",
                                   "--disable-sync",
                                   "--no-first-run",
                                   "--disable-dev-shm-usage",
                                   "--hide-scrollbars",
                                   "--user-data-dir=" + profile_.path().string(),
                                   fmt::format("--window-size={},{}", width, height)};
    // The sandbox does not work for root, as in containers. It is not needed: only our own page is shown.
    if (::geteuid() == 0) words.emplace_back("--no-sandbox");
    words.push_back(address);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = ::fork();
    if (child_ < 0) throw EnvironmentError("cannot start the browser");
    if (child_ == 0) {
      ::setpgid(0, 0);
      silence(0, O_RDONLY);
      silence(1, O_WRONLY);
      silence(2, O_WRONLY);
      ::execv(program.c_str(), arguments.data());
      ::_exit(127);
    }
    ::setpgid(child_, child_);
  }
  ~Headless() {
    if (!has_ended()) {
      ::kill(-child_, SIGTERM);
      for (int i = 0; i < 40 && !has_ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (!has_ended()) {
        ::kill(-child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
      }
    }
  }
  Headless(const Headless&) = delete;
  Headless& operator=(const Headless&) = delete;

  bool has_ended() {
    if (!ended_ && ::waitpid(child_, nullptr, WNOHANG) == child_) ended_ = true;
    return ended_;
  }

 private:
  ProfileFolder profile_;
  pid_t child_ = -1;
  bool ended_ = false;
};

/// Time without an answer before we give up [s].
constexpr int film_patience = 120;

}  // namespace

bool has_screen() {
#ifdef __APPLE__
  return true;
#else
  return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
#endif
}

void open_browser(const std::string& address) {
#ifdef __APPLE__
  const char* const opener = "open";
#else
  const char* const opener = "xdg-open";
#endif
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);  // the grandchild has no parent to wait for it and leaves no zombie
    ::setsid();
    silence(0, O_RDONLY);
    silence(1, O_WRONLY);
    silence(2, O_WRONLY);
    ::execlp(opener, opener, address.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

void take_picture(const io::ReportData& data, const Film& film, bool is_still, const io::Path& file) {
  const char* const option = is_still ? "--png" : "--video";
  if (data.bodies.empty()) throw InvalidInput(fmt::format("{}: the result has no bodies to show", option));
  if (!io::has_viewer()) throw EnvironmentError(fmt::format("{}: this kreisel was built without the viewer", option));
  const std::string program = chromium();
  if (program.empty())
    throw EnvironmentError(fmt::format(
        "{} needs chromium, which draws the pictures: install it (apt install chromium) or set CHROMIUM to its path; "
        "--glb needs no browser",
        option));
  const std::string page = io::report_page(data);
  PageServer server(PageServer::any_port);
  server.accept_posts({"/take"});
  std::string taken;
  std::atomic<bool> is_over = false;
  std::thread watch;
  {
    std::string address = server.address();
    address += fmt::format("&take={}&width={}&height={}&seconds={}&rate={}", is_still ? "png" : "video", film.width,
                           film.height, film.seconds, film.rate);
    if (std::isfinite(film.at)) address += fmt::format("&at={}", film.at);
    Headless browser(program, address, std::max(film.width, 500), std::max(film.height, 400));
    watch = std::thread([&] {
      const double limit = film_patience + 4.0 * film.seconds * film.rate;
      const auto begin = std::chrono::steady_clock::now();
      while (!is_over && !browser.has_ended() &&
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      server.stop();
    });
    server.serve([&](const Request& request) {
      if (request.path == "/") return Response{200, "text/html; charset=utf-8", page, {}};
      if (request.path == "/take" && request.method == "POST") {
        taken = request.body;
        is_over = true;
        return Response{200, "text/plain; charset=utf-8", "thanks\n", {}};
      }
      return Response{404, "text/plain; charset=utf-8", "not found\n", {}};
    });
    is_over = true;
    watch.join();
  }
  if (taken.empty()) throw EnvironmentError(fmt::format("{}: the browser sent no picture ({})", option, program));
  if (taken.front() == '!') throw EnvironmentError(fmt::format("{}: the browser reports: {}", option, taken.substr(1)));
  io::write_atomically(file, taken);
}

}  // namespace kreisel::apps

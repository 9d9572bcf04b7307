#include "pdf.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "browser.hpp"
#include "kreisel/error.hpp"

namespace kreisel::apps {
namespace {

namespace fs = std::filesystem;

bool succeeds(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, words.front().c_str(), &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  return error == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A page of the size of the picture: browsers would print it on their default paper size.
fs::path page_around(const fs::path& picture) {
  std::ifstream in(picture);
  std::stringstream text;
  text << in.rdbuf();
  std::smatch found;
  const std::string svg = text.str();
  std::string width = "640", height = "400";
  if (std::regex_search(svg, found, std::regex("viewBox=\"[-0-9.]+ [-0-9.]+ ([0-9.]+) ([0-9.]+)\""))) {
    width = found[1];
    height = found[2];
  }
  const fs::path page = fs::path(picture).replace_extension(".page.html");
  std::ofstream(page) << fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><style>@page{{size:{0}px {1}px;margin:0}}html,body{{margin:0}}"
      "svg{{display:block;width:{0}px;height:{1}px}}</style>{2}",
      width, height, svg);
  return page;
}

}  // namespace

std::vector<io::Path> pdf_of(const std::vector<io::Path>& pictures) {
  const std::string rsvg = program_named("rsvg-convert"), inkscape = program_named("inkscape");
  const std::string browser = chromium();
  if (rsvg.empty() && inkscape.empty() && browser.empty())
    throw EnvironmentError(
        "--pdf: no program that converts SVG to PDF was found; install librsvg2-bin (rsvg-convert), inkscape or "
        "chromium, or use --svg or --tex");
  std::vector<io::Path> files;
  for (const io::Path& picture : pictures) {
    const fs::path in = picture, out = fs::path(in).replace_extension(".pdf");
    bool is_done = false;
    if (!rsvg.empty()) {
      is_done = succeeds({rsvg, "-f", "pdf", "-o", out.string(), in.string()});
    } else if (!inkscape.empty()) {
      is_done = succeeds({inkscape, "--export-type=pdf", "--export-filename=" + out.string(), in.string()});
    } else {
      const fs::path page = page_around(in);
      is_done = succeeds({browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                          "--print-to-pdf=" + fs::absolute(out).string(), "file://" + fs::absolute(page).string()});
      std::error_code ignored;
      fs::remove(page, ignored);
    }
    std::error_code missing;
    if (!is_done || fs::file_size(out, missing) == 0 || missing)
      throw EnvironmentError(fmt::format("--pdf: {} could not write '{}'; use --svg or --tex",
                                         !rsvg.empty()       ? rsvg
                                         : !inkscape.empty() ? inkscape
                                                             : browser,
                                         out.string()));
    fs::remove(in, missing);
    files.emplace_back(out);
  }
  return files;
}

}  // namespace kreisel::apps

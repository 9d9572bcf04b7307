#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace kreisel::apps {
namespace {

constexpr double patience = 0.5, interval = 0.1;  // s
constexpr int bar_width = 30;

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The first characters of UTF-8 text.
std::string_view first(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && count-- == 0) break;
  return text.substr(0, at);
}

std::size_t width_of_line() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col - 1u : 79u;
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::red:
      return "\033[31m";
    case Colour::yellow:
      return "\033[33m";
    case Colour::green:
      return "\033[32m";
    case Colour::bold:
      return "\033[1m";
  }
  return "";
}

volatile std::sig_atomic_t stop_was_asked = 0;
extern "C" void ask_to_stop(int) { stop_was_asked = 1; }
constexpr int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::string duration(double s) {
  if (s < 100.0) return fmt::format("{:.0f} s", s);
  if (s < 6000.0) return fmt::format("{:.0f} min", s / 60.0);
  return fmt::format("{:.1f} h", s / 3600.0);
}

bool is_terminal(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::string coloured(std::string_view text, Colour colour, std::FILE* stream) {
  if (!is_terminal(stream) || is_set("NO_COLOR")) return std::string(text);
  return fmt::format("{}{}\033[0m", code_of(colour), text);
}

void print_error(std::string_view text) {
  fmt::print(stderr, "kreisel: {} {}\n", coloured("error:", Colour::red, stderr), text);
}

void print_warning(std::string_view text) {
  fmt::print(stderr, "kreisel: {} {}\n", coloured("warning:", Colour::yellow, stderr), text);
}

void draw_line(std::string_view name, std::string_view words) {
  const std::size_t room = width_of_line();
  fmt::print(stderr, "\r\033[K{}{}", first(name, room - std::min(room, words.size())), first(words, room));
  std::fflush(stderr);
}

Progress::Progress(double t0, double t_end, bool is_wanted, std::string what)
    : t0_(t0),
      t_end_(t_end),
      what_(std::move(what)),
      is_active_(is_wanted && is_terminal(stderr)),
      begin_(seconds()),
      next_(begin_ + patience) {}

Progress::~Progress() {
  if (is_drawn_) fmt::print(stderr, "\r\033[K");
}

bool Progress::goes_on(double t, long steps) {
  if (!is_active_) return true;
  const double now = seconds();
  if (now < next_) return true;
  next_ = now + interval;
  draw(t, steps, now - begin_);
  return true;
}

void Progress::draw(double t, long steps, double elapsed) {
  const double share = std::clamp((t - t0_) / (t_end_ - t0_), 0.0, 1.0);
  const std::string left = share > 0.0 ? duration(elapsed * (1.0 - share) / share) : "?";
  const std::string rest = fmt::format(" t = {:.4g} of {:.4g}, {} steps, {} left", t, t_end_, steps, left);
  // The bar takes what the words leave.
  const std::size_t words = what_.size() + std::string_view("100 % []").size() + rest.size(), room = width_of_line();
  const std::size_t bar = room > words ? std::min<std::size_t>(room - words, bar_width) : 0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar));
  draw_line(what_, fmt::format("{:3.0f} % [{}{}]{}", 100.0 * share, std::string(filled, '='),
                               std::string(bar - filled, ' '), rest));
  is_drawn_ = true;
}

Interruption::Interruption() {
  for (const int signal : stop_signals) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (const int signal : stop_signals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == ask_to_stop) std::signal(signal, SIG_DFL);
  }
}

bool Interruption::goes_on(double, long) { return !was_asked(); }

bool Interruption::was_asked() const { return stop_was_asked != 0; }

}  // namespace kreisel::apps

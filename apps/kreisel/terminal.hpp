// Terminal output while the program runs, and signals that stop it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "kreisel/observer.hpp"

namespace kreisel::apps {

enum class Colour { red, yellow, green, bold };

/// Whether an environment variable is set and not empty.
bool is_set(const char* variable);
/// A terminal that understands escape sequences.
bool is_terminal(std::FILE* stream);
/// Coloured when the stream is a terminal and NO_COLOR is unset or empty.
std::string coloured(std::string_view text, Colour colour, std::FILE* stream);

/// Draws a line of progress over the last one. Cut to the width of the terminal, the name first: a line that wraps cannot be
/// drawn over.
void draw_line(std::string_view name, std::string_view words);

/// "kreisel: error: text" on standard error.
void print_error(std::string_view text);
void print_warning(std::string_view text);

/// "40 s", "3 min", "1.5 h".
std::string duration(double seconds);

/// A bar on standard error, from half a second on, ten times a second; nothing when that is not a terminal.
class Progress final : public run::Observer {
 public:
  /// `what` is shown before the bar.
  Progress(double t0, double t_end, bool is_wanted, std::string what = {});
  ~Progress() override;
  bool goes_on(double t, long steps) override;

 private:
  void draw(double t, long steps, double elapsed);

  double t0_, t_end_;
  std::string what_;
  bool is_active_, is_drawn_ = false;
  double begin_ = 0.0, next_ = 0.0;
};

/// Turns SIGINT, SIGTERM and SIGHUP into the end of the run at the next accepted point; a second signal ends the program
/// at once. Signals that the parent process has set to be ignored stay ignored.
class Interruption final : public run::Observer {
 public:
  Interruption();
  ~Interruption() override;
  bool goes_on(double t, long steps) override;
  bool was_asked() const;
};

}  // namespace kreisel::apps

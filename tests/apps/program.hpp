// Runs the built program as a user would.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/places.hpp"

namespace kreisel::test {

struct Outcome {
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string out, err;
};

/// A started program; standard output and error are collected.
class Process {
 public:
  using Words = std::vector<std::string>;

  /// `prepare` works in the child before the program starts; `error_terminal` replaces standard error by that descriptor.
  explicit Process(
      const Words& words, const std::filesystem::path& folder, const std::function<void()>& prepare = [] {},
      int error_terminal = -1) {
    std::array<int, 2> out{}, err{};
    if (::pipe(out.data()) != 0 || ::pipe(err.data()) != 0) return;
    const std::string& program = support::program_path();
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(error_terminal >= 0 ? error_terminal : err[1], STDERR_FILENO);
      for (const int descriptor : {out[0], out[1], err[0], err[1]}) ::close(descriptor);
      if (::chdir(folder.c_str()) != 0) ::_exit(127);
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
      prepare();
      std::vector<char*> arguments{const_cast<char*>("kreisel")};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(program.c_str(), arguments.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const { ::kill(child_, signal); }

  Outcome wait() {
    Outcome outcome;
    std::array<pollfd, 2> sources{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
    std::array<std::string*, 2> targets{&outcome.out, &outcome.err};
    for (int open = 2; open > 0;) {
      ::poll(sources.data(), sources.size(), -1);
      for (std::size_t i = 0; i < 2; ++i) {
        if (sources[i].fd < 0 || sources[i].revents == 0) continue;
        std::array<char, 4096> piece{};
        const ssize_t count = ::read(sources[i].fd, piece.data(), piece.size());
        if (count > 0) {
          targets[i]->append(piece.data(), static_cast<std::size_t>(count));
        } else {
          ::close(sources[i].fd);
          sources[i].fd = -1;
          --open;
        }
      }
    }
    int status = 0;
    ::waitpid(child_, &status, 0);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }

 private:
  pid_t child_ = -1;
  int out_ = -1, err_ = -1;
};

/// True as soon as `condition` holds, false after `seconds`.
inline bool wait_until(const std::function<bool()>& condition, double seconds = 30.0) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace kreisel::test

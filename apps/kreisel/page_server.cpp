#include "page_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <random>
#include <thread>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::apps {
namespace {

constexpr int usual_port = 8017;
constexpr std::size_t head_limit = 16'384;
constexpr std::size_t body_limit = 512'000'000;  // a film of some minutes
constexpr std::size_t connection_limit = 64;
constexpr long reader_patience = 20;  // s, for a client that neither sends nor reads

bool send_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Internal Server Error";
  }
}

/// Only the page made by kreisel may run scripts; it has its own policy. Other files in the folder may come from
/// anywhere.
constexpr std::string_view policy_of_files =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; sandbox\r\n";

/// no-store: otherwise a browser could show the page of an earlier server on the same port.
std::string head_of(const Response& response, std::size_t length) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: "
      "no-referrer\r\n{}{}\r\n",
      response.status, reason_of(response.status), response.type, length,
      response.type.starts_with("text/html") ? "" : policy_of_files,
      response.status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

/// Sends exactly the bytes announced in Content-Length, even if the file grows meanwhile.
void send_file(int socket, int file, std::size_t length) {
  std::array<char, 65'536> piece{};
  while (length > 0) {
    const ssize_t count = ::read(file, piece.data(), std::min(piece.size(), length));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || !send_all(socket, {piece.data(), static_cast<std::size_t>(count)})) return;
    length -= static_cast<std::size_t>(count);
  }
}

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](unsigned char x, unsigned char y) {
           return std::tolower(x) == std::tolower(y);
         });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Empty when the text has a broken escape or a zero byte.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1,
              low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return {};
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out;
}

}  // namespace

/// Signals end the loop through a pipe, so that none is lost between two calls.
class PageServer::StopSignals {
 public:
  StopSignals() {
    if (::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0)
      throw EnvironmentError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    writer = ends_[1];
    struct sigaction action {};
    action.sa_handler = [](int) {
      const int kept = errno;
      [[maybe_unused]] const ssize_t ignored = ::write(writer, "x", 1);
      errno = kept;
    };
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &old_[i]);
  }
  ~StopSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &old_[i], nullptr);
    for (const int end : ends_) ::close(end);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  int descriptor() const { return ends_[0]; }
  void raise() const { [[maybe_unused]] const ssize_t ignored = ::write(ends_[1], "x", 1); }

 private:
  static constexpr std::array<int, 3> signals{SIGINT, SIGTERM, SIGHUP};
  static inline volatile int writer = -1;
  std::array<int, 2> ends_{};
  std::array<struct sigaction, 3> old_{};
};

namespace {

/// 128 random bits.
std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  std::random_device source;
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(source());
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

std::string Request::word(std::string_view key) const {
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string_view pair = std::string_view(query).substr(at, end - at);
    if (const std::size_t equals = pair.find('='); pair.substr(0, equals) == key && equals != std::string_view::npos) {
      std::string value(pair.substr(equals + 1));
      std::ranges::replace(value, '+', ' ');
      return percent_decoded(value);
    }
    at = end + 1;
  }
  return {};
}

double Request::number(std::string_view key, double otherwise) const {
  const std::optional<double> value = number_in(word(key));
  return value && std::isfinite(*value) ? *value : otherwise;
}

io::Path file_below(const io::Path& folder, std::string_view request_path) {
  namespace fs = std::filesystem;
  const std::string decoded = percent_decoded(request_path);
  if (decoded.size() < 2 || decoded.front() != '/') return {};
  std::error_code error;
  const io::Path root = fs::canonical(folder, error);
  if (error) return {};
  const io::Path wanted = fs::canonical(root / io::Path(decoded.substr(1)).relative_path(), error);
  if (error || !fs::is_regular_file(wanted, error)) return {};
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), wanted.begin(), wanted.end());
  return end == root.end() ? wanted : io::Path();
}

bool parse_request(std::string_view head, Request& request) {
  const std::size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (line_end == std::string_view::npos || first == std::string_view::npos || last == first) return false;
  if (!line.substr(last + 1).starts_with("HTTP/1.")) return false;
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  request.path = target.substr(0, target.find('?'));
  if (const std::size_t mark = target.find('?'); mark != std::string_view::npos)
    request.query = target.substr(mark + 1);
  if (!request.path.starts_with('/')) return false;
  for (std::size_t at = line_end + 2; at < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string_view field = head.substr(at, end - at);
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos && is_same(field.substr(0, colon), "host"))
      request.host = trimmed(field.substr(colon + 1));
    if (colon != std::string_view::npos && is_same(field.substr(0, colon), "content-length")) {
      const std::optional<double> length = number_in(trimmed(field.substr(colon + 1)));
      if (!length || *length < 0.0 || *length > static_cast<double>(body_limit)) return false;
      request.body_length = static_cast<std::size_t>(*length);
    }
    at = end + 2;
  }
  return true;
}

/// A connection and the thread that serves it.
struct PageServer::Visitor {
  int descriptor = -1;
  std::atomic<bool> has_left = false;
  std::thread thread;
};

PageServer::PageServer(int port) : stop_(std::make_unique<StopSignals>()), token_(random_token()) {
  if (port == any_port && listen_at(0)) return;
  if (port < 0 || port > 65'535) throw InvalidInput(fmt::format("--port {}: expected 1 to 65535", port));
  if (port != 0 ? listen_at(port) : listen_at(usual_port) || listen_at(0)) return;
  const int error_number = errno;
  throw InvalidInput(fmt::format("cannot listen at 127.0.0.1:{}: {}; choose another --port or leave it out", port,
                                 std::strerror(error_number)));
}

PageServer::~PageServer() {
  dismiss(true);
  if (listener_ >= 0) ::close(listener_);
}

bool PageServer::listen_at(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return false;
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(descriptor, generic, size) != 0 || ::listen(descriptor, 16) != 0 ||
      ::getsockname(descriptor, generic, &size) != 0) {
    const int error_number = errno;
    ::close(descriptor);
    errno = error_number;
    return false;
  }
  listener_ = descriptor;
  port_ = ntohs(address.sin_port);
  return true;
}

std::string PageServer::address() const { return fmt::format("http://127.0.0.1:{}/?token={}", port_, token_); }

bool PageServer::is_known(const Request& request) const {
  // Compared in constant time, so that timing does not reveal the token.
  const std::string given = request.word("token");
  unsigned difference = given.size() == token_.size() ? 0U : 1U;
  for (std::size_t i = 0; i < std::min(given.size(), token_.size()); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token_[i]);
  return difference == 0;
}

void PageServer::stop() { stop_->raise(); }

void PageServer::serve(const Answer& answer) {
  for (;;) {
    std::array<pollfd, 2> watched{{{stop_->descriptor(), POLLIN, 0}, {listener_, POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), 1000) < 0 && errno != EINTR) {
      const int error_number = errno;
      dismiss(true);
      throw EnvironmentError(fmt::format("cannot wait for connections: {}", std::strerror(error_number)));
    }
    if (watched[0].revents != 0) return dismiss(true);
    dismiss(false);
    if (watched[1].revents != 0) accept(answer);
  }
}

/// Closes the connections that have ended, or all.
void PageServer::dismiss(bool all) {
  for (Visitor& visitor : visitors_)
    if (all) ::shutdown(visitor.descriptor, SHUT_RDWR);
  for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
    if (!all && !visitor->has_left) {
      ++visitor;
      continue;
    }
    visitor->thread.join();
    ::close(visitor->descriptor);
    visitor = visitors_.erase(visitor);
  }
}

void PageServer::accept(const Answer& answer) {
  const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) return;
  if (visitors_.size() >= connection_limit) {
    ::close(descriptor);
    return;
  }
  const timeval limit{reader_patience, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  Visitor& visitor = visitors_.emplace_back();
  visitor.descriptor = descriptor;
  visitor.thread = std::thread([this, &visitor, &answer] {
    attend(visitor, answer);
    visitor.has_left = true;
  });
}

void PageServer::attend(Visitor& visitor, const Answer& answer) {
  std::string head;
  const std::time_t begin = std::time(nullptr);
  while (head.find("\r\n\r\n") == std::string::npos) {
    std::array<char, 4096> piece{};
    const ssize_t count = ::recv(visitor.descriptor, piece.data(), piece.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || head.size() >= head_limit || std::time(nullptr) - begin > reader_patience) {
      ::shutdown(visitor.descriptor, SHUT_RDWR);
      return;
    }
    head.append(piece.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = head.find("\r\n\r\n");
  std::string body = head.substr(end + 4);
  head.resize(end + 2);
  Request request;
  const bool is_request = parse_request(head, request);
  if (is_request && request.method == "POST" && std::ranges::count(posts_, request.path) > 0 && is_known(request)) {
    while (body.size() < request.body_length) {
      std::array<char, 65'536> piece{};
      const ssize_t count = ::recv(visitor.descriptor, piece.data(), piece.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      body.append(piece.data(), static_cast<std::size_t>(count));
    }
    body.resize(std::min(body.size(), request.body_length));
    request.body = std::move(body);
  }
  respond(visitor.descriptor, is_request ? &request : nullptr, answer);
  ::shutdown(visitor.descriptor, SHUT_WR);
}

void PageServer::respond(int connection, const Request* request, const Answer& answer) {
  Response response = request != nullptr ? response_to(*request, answer)
                                         : Response{400, "text/plain; charset=utf-8", "bad request\n", {}};
  int file = -1;
  std::size_t length = response.body.size();
  if (!response.file.empty()) {
    file = ::open(response.file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0)
      response = {404, "text/plain; charset=utf-8", "not found\n", {}}, length = response.body.size();
    else
      length = static_cast<std::size_t>(status.st_size);
  }
  const bool wants_body = request == nullptr || request->method != "HEAD";
  if (send_all(connection, head_of(response, length)) && wants_body) {
    if (file >= 0 && response.body.empty())
      send_file(connection, file, length);
    else
      send_all(connection, response.body);
  }
  if (file >= 0) ::close(file);
}

Response PageServer::response_to(const Request& request, const Answer& answer) {
  const auto plain = [](int status, std::string text) {
    return Response{status, "text/plain; charset=utf-8", std::move(text), {}};
  };
  const bool is_post = request.method == "POST" && std::ranges::count(posts_, request.path) > 0;
  if (request.method != "GET" && request.method != "HEAD" && !is_post) return plain(405, "only GET and HEAD\n");
  // Another host name means that a foreign page has sent the browser here.
  const std::string host = request.host.substr(0, request.host.rfind(':'));
  if (host != "127.0.0.1" && !is_same(host, "localhost")) return plain(403, "unknown host\n");
  if (is_post && !is_known(request)) return plain(403, "missing or wrong token\n");
  if (is_post && request.body.size() < request.body_length) return plain(400, "the request ended early\n");
  const std::lock_guard lock(answering_);
  try {
    return answer(request);
  } catch (const std::exception& error) {
    return plain(500, fmt::format("{}\n", error.what()));
  }
}

}  // namespace kreisel::apps

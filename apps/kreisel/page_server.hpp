// A web server on 127.0.0.1 for browsers on this machine: GET and HEAD, and POST where a page may change something. One
// request and one thread per connection, so that a slow client delays no other.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/files.hpp"

namespace kreisel::apps {

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  io::Path file;  ///< unless empty, its content is the body
};

/// A file below `folder` for the path of a request ("/summary.json"), percent-decoded. Empty when there is no such
/// regular file, or when the path or a symbolic link leads out of the folder.
io::Path file_below(const io::Path& folder, std::string_view request_path);

/// The parts of a request that are used.
struct Request {
  std::string method, path, host;
  std::string query{};          ///< after the '?', as it was sent
  std::size_t body_length = 0;  ///< as the head says
  std::string body{};

  /// A word of the query, percent-decoded; empty: absent.
  std::string word(std::string_view key) const;
  double number(std::string_view key, double otherwise) const;
};
/// False when the text is not an HTTP/1 request head.
bool parse_request(std::string_view head, Request& request);

class PageServer {
 public:
  using Answer = std::function<Response(const Request&)>;

  static constexpr int any_port = -1;  ///< a free one, for a browser that we start
  /// Listens at once; while it exists, SIGINT, SIGTERM and SIGHUP end `serve`. Port 0: the default one, or a free one
  /// if that is in use. InvalidInput when the given port is not available.
  explicit PageServer(int port);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const { return port_; }
  /// With the token that `is_known` checks.
  std::string address() const;
  /// Whether a request has the token: other programs on this machine do not know it.
  bool is_known(const Request& request) const;
  /// Paths that accept POST requests with the token.
  void accept_posts(std::vector<std::string> paths) { posts_ = std::move(paths); }
  /// Ends `serve`; from any thread.
  void stop();
  /// Answers until a signal ends it; `answer` is called by several threads, one at a time.
  void serve(const Answer& answer);

 private:
  struct Visitor;

  bool listen_at(int port);
  void accept(const Answer& answer);
  void attend(Visitor& visitor, const Answer& answer);
  void respond(int connection, const Request* request, const Answer& answer);
  Response response_to(const Request& request, const Answer& answer);
  void dismiss(bool all);

  class StopSignals;
  std::unique_ptr<StopSignals> stop_;
  int listener_ = -1;
  int port_ = 0;
  std::string token_;
  std::vector<std::string> posts_;
  std::mutex answering_;  ///< answers are made one at a time, and sent in parallel
  std::list<Visitor> visitors_;
};

}  // namespace kreisel::apps

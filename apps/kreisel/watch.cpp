#include "watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "browser.hpp"
#include "io/report/report.hpp"
#include "io/result/prepare.hpp"
#include "io/result/scene.hpp"
#include "kreisel/error.hpp"
#include "kreisel/simulation.hpp"
#include "page_server.hpp"
#include "solve/formulation.hpp"

namespace kreisel::apps {
namespace {

using io::Json;
using SteadyClock = std::chrono::steady_clock;

/// The points of a run in memory, thinned by half when they become many.
class LiveRows final : public run::Observer {
 public:
  explicit LiveRows(const io::PreparedRun& run)
      : system_(run.model.system),
        layout_(run.model.system->result_layout(),
                solve::info_of(run::formulation_in_use(run.options, *run.model.system)).has_eta),
        row_(layout_.columns()) {}

  bool accept(const run::Point& point) override {
    if (point.number % every_ != 0) return !is_stopped_;
    const system::System& in_force = point.system != nullptr ? *point.system : *system_;
    const std::lock_guard lock(access_);
    layout_.fill(point.entry, point.residual,
                 point.energy != nullptr ? *point.energy : run::energy_of(in_force, point.entry.motion), point.work,
                 in_force, row_);
    values_.insert(values_.end(), row_.begin(), row_.end());
    if (++rows_ >= most) thin();
    last_ = point.entry.motion.t;
    return !is_stopped_;
  }
  bool goes_on(double, long) override { return !is_stopped_; }

  void stop() { is_stopped_ = true; }
  bool is_stopped() const { return is_stopped_; }
  long rows() const {
    const std::lock_guard lock(access_);
    return rows_;
  }
  double last() const {
    const std::lock_guard lock(access_);
    return last_;
  }
  std::shared_ptr<const io::Trajectory> trajectory() const {
    auto out = std::make_shared<io::Trajectory>();
    for (const io::Quantity& quantity : layout_.quantities())
      out->columns.insert(out->columns.end(), quantity.columns.begin(), quantity.columns.end());
    const std::lock_guard lock(access_);
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    out->values = Eigen::Map<const RowMajor>(values_.data(), rows_, layout_.columns());
    return out;
  }

 private:
  static constexpr long most = 20'000;

  void thin() {
    const auto width = static_cast<std::size_t>(layout_.columns());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows_); i += 2, ++kept)
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                  values_.begin() + static_cast<std::ptrdiff_t>(kept * width));
    values_.resize(kept * width);
    rows_ = static_cast<long>(kept);
    every_ *= 2;
  }

  std::shared_ptr<const system::System> system_;
  io::TrajectoryLayout layout_;
  Vector row_;
  mutable std::mutex access_;
  std::vector<double> values_;
  long rows_ = 0, every_ = 1;
  double last_ = 0.0;
  std::atomic<bool> is_stopped_ = false;
};

/// A run in its own thread.
class LiveRun {
 public:
  /// With inputs it is steered: it runs in real time and writes nothing to disk.
  LiveRun(std::shared_ptr<const io::PreparedRun> run, const io::ResultRequest& result, int number,
          std::map<std::string, double> inputs)
      : run_(std::move(run)), number_(number), is_steered_(!inputs.empty()), rows_(*run_), wanted_(std::move(inputs)) {
    summary_ = io::summarize(io::label_of(*run_), "running", "", result.command);
    if (Json scene = io::scene_of(run_->model); !scene.is_null()) scene_ = std::move(scene);
    thread_ = std::thread([this, result] {
      try {
        if (is_steered_)
          steer(result);
        else
          integrate(result);
      } catch (const std::exception& error) {
        const std::lock_guard lock(access_);
        summary_["status"] = "failed";
        summary_["message"] = error.what();
      }
      is_over_ = true;
    });
  }
  ~LiveRun() { finish(); }
  /// Interrupts the run unless it has ended.
  void finish() {
    rows_.stop();
    if (thread_.joinable()) thread_.join();
  }
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  const io::PreparedRun& prepared() const { return *run_; }
  std::shared_ptr<const io::PreparedRun> shared() const { return run_; }
  bool is_over() const { return is_over_; }
  bool is_steered() const { return is_steered_; }
  bool has_points() const { return rows_.rows() > 0; }
  double t() const { return rows_.last(); }
  /// Changes when there is something new.
  long version() const { return 1'000'000'000L * number_ + 2 * rows_.rows() + (is_over_ ? 1 : 0); }
  std::string status() const {
    const std::lock_guard lock(access_);
    return summary_.value("status", "running");
  }
  void set_input(const std::string& name, double value) {
    const std::lock_guard lock(access_);
    wanted_[name] = value;
  }
  std::optional<io::RunResult> take_result() {
    const std::lock_guard lock(access_);
    return std::move(result_);
  }
  io::ReportData data() const {
    Json summary;
    {
      const std::lock_guard lock(access_);
      summary = summary_;
    }
    if (!scene_.is_null()) summary["scene"] = scene_;
    io::ReportData data = io::report_data_of(rows_.trajectory(), summary);
    if (is_steered_) data.notes.push_back("This run was steered from the page: it is not in the result folder.");
    return data;
  }

 private:
  void integrate(const io::ResultRequest& request) {
    io::RunResult done = io::run_to_folder(*run_, request, rows_);
    const std::lock_guard lock(access_);
    summary_ = done.summary;
    result_ = std::move(done);
  }

  /// In real time; inputs change between two advances.
  void steer(const io::ResultRequest& request) {
    run::Options options = run_->options;
    options.output_step = 0.0;
    run::Simulation simulation({run_->model.system, run_->model.start}, options, &rows_);
    std::map<std::string, double> in_force;
    const auto begin = SteadyClock::now();
    const double t0 = simulation.time();
    while (!rows_.is_stopped() && !simulation.has_ended()) {
      std::map<std::string, double> wanted;
      {
        const std::lock_guard lock(access_);
        wanted = wanted_;
      }
      for (const auto& [name, value] : wanted) {
        const auto old = in_force.find(name);
        if (old == in_force.end() || old->second != value) simulation.set(name, value);
      }
      in_force = std::move(wanted);
      const double elapsed = std::chrono::duration<double>(SteadyClock::now() - begin).count();
      // A model slower than real time falls behind; it does not take longer steps.
      const double until = std::min({simulation.t_end(), t0 + elapsed, simulation.time() + 0.2});
      if (until > simulation.time())
        simulation.advance_to(until);
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::lock_guard lock(access_);
    const run::Report& report = simulation.report();
    summary_ = io::summarize(io::label_of(*run_), rows_.is_stopped() ? "interrupted" : run::info_of(report.status).name,
                             report.message, request.command);
  }

  std::shared_ptr<const io::PreparedRun> run_;
  int number_;
  bool is_steered_;
  LiveRows rows_;
  Json scene_;
  mutable std::mutex access_;
  Json summary_;
  std::map<std::string, double> wanted_;
  std::optional<io::RunResult> result_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

Json limit(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json knobs_of(const io::PreparedRun& run) {
  Json parameters = Json::array(), inputs = Json::array();
  if (run.model_info != nullptr)
    for (const ParameterInfo& info : run.model_info->parameters) {
      if (!info.words.empty()) continue;
      double value = info.default_number;
      if (const auto in_use = run.model.parameters.find(info.name); in_use != run.model.parameters.end())
        value = in_use->second;
      for (const io::Setting& setting : run.spec.settings)
        if (setting.name == info.name || setting.name == "model." + info.name)
          if (const auto* number = std::get_if<double>(&setting.value)) value = *number;
      if (!std::isfinite(value)) continue;
      parameters.push_back({{"name", info.name},
                            {"value", value},
                            {"min", limit(info.minimum)},
                            {"max", limit(info.maximum)},
                            {"unit", info.unit},
                            {"meaning", info.meaning}});
    }
  const auto& known = run.model.system->inputs();
  for (std::size_t i = 0; i < known.size(); ++i) {
    const double value = run.model.system->input_at(static_cast<int>(i), run.model.start.t0);
    inputs.push_back({{"name", known[i].name},
                      {"value", std::isfinite(value) ? value : 0.0},
                      {"min", Json()},
                      {"max", Json()},
                      {"unit", known[i].unit},
                      {"meaning", known[i].meaning}});
  }
  return {{"parameters", parameters}, {"inputs", inputs}};
}

Response plain(int status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text), {}}; }

class Watch {
 public:
  Watch(const io::PreparedRun& first, const Watching& request) : request_(request), spec_(request.spec) {
    start(std::make_shared<const io::PreparedRun>(first), {});
  }

  std::optional<io::RunResult> serve() {
    PageServer server(request_.port);
    server.accept_posts({"/set-parameter", "/set-input"});
    fmt::print("{} (Ctrl-C ends)\n", server.address());
    std::fflush(stdout);
    if (request_.opens_browser && has_screen()) open_browser(server.address());
    server.serve([&](const Request& asked) {
      if (!server.is_known(asked)) return plain(403, "missing or wrong token\n");
      if (asked.path == "/") return page();
      if (asked.path == "/live") return news(asked);
      if (asked.path == "/set-parameter") return set_parameter(asked);
      if (asked.path == "/set-input") return set_input(asked);
      return plain(404, "not found\n");
    });
    keep_result();
    return std::move(kept_);
  }

 private:
  void start(std::shared_ptr<const io::PreparedRun> run, std::map<std::string, double> inputs) {
    keep_result();
    live_ = std::make_unique<LiveRun>(std::move(run), request_.result, ++number_, std::move(inputs));
  }
  void keep_result() {
    if (live_ == nullptr) return;
    live_->finish();
    if (std::optional<io::RunResult> done = live_->take_result()) kept_ = std::move(done);
    live_.reset();
  }

  io::ReportData data() const {
    io::ReportData data = live_->data();
    data.live = knobs_of(live_->prepared());
    return data;
  }
  /// Waits for the first points: a page without them has nothing to show.
  Response page() const {
    for (int i = 0; i < 100 && !live_->has_points() && !live_->is_over(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return {200, "text/html; charset=utf-8", io::report_page(data()), {}};
  }
  Response news(const Request& asked) const {
    Json out{{"version", live_->version()}, {"status", live_->status()}, {"t", live_->t()}};
    std::string text = out.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (static_cast<double>(live_->version()) != asked.number("version", -1.0) && live_->has_points()) {
      text.pop_back();
      text += ",\"data\":" + io::report_json(data()) + "}";
    }
    return {200, "application/json", std::move(text), {}};
  }

  static std::pair<std::string, double> setting_in(const Request& asked) {
    const Json json = Json::parse(asked.body, nullptr, false);
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("value") ||
        !json["value"].is_number())
      throw InvalidInput("expected {\"name\": ..., \"value\": a number}");
    return {json["name"].get<std::string>(), json["value"].get<double>()};
  }
  Response set_parameter(const Request& asked) {
    try {
      const auto [name, value] = setting_in(asked);
      io::RunSpec spec = spec_;
      std::erase_if(spec.settings,
                    [&name = name](const io::Setting& s) { return s.name == name || s.name == "model." + name; });
      spec.settings.push_back({"model." + name, value});
      auto run = std::make_shared<const io::PreparedRun>(io::prepare(spec));
      spec_ = std::move(spec);
      start(std::move(run), {});
      return {200, "application/json", "{}", {}};
    } catch (const InvalidInput& problem) {
      return plain(400, problem.what());
    }
  }
  Response set_input(const Request& asked) {
    try {
      const auto [name, value] = setting_in(asked);
      const auto& known = live_->prepared().model.system->inputs();
      if (std::ranges::none_of(known, [&name = name](const auto& info) { return info.name == name; }))
        return plain(400, fmt::format("the model has no input '{}'", name));
      if (live_->is_steered() && !live_->is_over())
        live_->set_input(name, value);
      else
        start(live_->shared(), {{name, value}});
      return {200, "application/json", "{}", {}};
    } catch (const InvalidInput& problem) {
      return plain(400, problem.what());
    }
  }

  Watching request_;
  io::RunSpec spec_;
  int number_ = 0;
  std::unique_ptr<LiveRun> live_;
  std::optional<io::RunResult> kept_;
};

}  // namespace

std::optional<io::RunResult> watch(const io::PreparedRun& first, const Watching& request) {
  return Watch(first, request).serve();
}

}  // namespace kreisel::apps

#include "trajectory_store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/trajectory/curve_file.hpp"

namespace kreisel::study {

void write_trajectories(const Spec& spec, const JournalIndex& journals, const io::Path& folder) {
  std::vector<std::size_t> cases;
  for (std::size_t i = 0; i < spec.size(); ++i)
    if (journals.has(i)) cases.push_back(i);
  std::stable_sort(cases.begin(), cases.end(),
                   [&](std::size_t a, std::size_t b) { return journals.file_of(a) < journals.file_of(b); });
  const Keys keys(spec);
  io::CurveFile index(folder / trajectories_name);
  for (std::size_t k = 0; k < cases.size();) {
    const std::size_t writer = journals.file_of(cases[k]);
    const std::string suffix =
        journals.files()[writer].filename().string().substr(std::string_view(journal_name).size());
    const std::string name = fmt::format("trajectories{}.h5", suffix.empty() ? ".0" : suffix);
    io::CurveFile file(folder / name);
    for (; k < cases.size() && journals.file_of(cases[k]) == writer; ++k) {
      const Row row = journals.row(spec, cases[k]);
      const std::string key = keys.of(spec.outline(cases[k]));
      std::vector<io::CurveFile::Column> columns;
      if (!row.trajectories.empty()) columns.push_back({"t", row.trajectories.front().t});
      for (const Curve& curve : row.trajectories) columns.push_back({curve.name, curve.y});
      file.add(key, columns);
      index.link(fmt::format("{:07}", cases[k]), name, key);
    }
    file.commit();
  }
  index.commit();
}

}  // namespace kreisel::study
